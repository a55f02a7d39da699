/** The active dataset of a Thread network that exists only in tests, network name ProbeThread. */
export const THREAD_DATASET =
  '0e080000000000010000000300000f35060004001fffe0020811111111222222220708fdad70bfe5aa15dd051000112233445566778899aabbccddeeff' +
  '030b50726f6265546872656164010212340410445f2b5ca6f2a93a55ce570a70efeecb0c0402a0f7f8';
