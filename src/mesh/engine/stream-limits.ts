/** Bytes of unheard frames from which on a sender should wait. */
export const SEND_WINDOW_BYTES = 262_144;
/** A sender that goes on in spite of it loses the stream at so many bytes. */
export const MAX_SEND_QUEUE_BYTES = 4_194_304;
/** Streams of one protocol that one peer may have opened at a time. */
export const MAX_INBOUND_STREAMS = 16;
/** How long `openStream` waits for the peer to accept, milliseconds. */
export const OPEN_STREAM_TIMEOUT_MS = 5_000;
