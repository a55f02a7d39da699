/** What the first bytes of a file say that it is, with the ending that services know it by. */
export interface MediaType {
  readonly kind: 'image' | 'audio';
  /** Such as `image/jpeg`. */
  readonly type: string;
  readonly ending: string;
}

type Signature = MediaType & { readonly at: number; readonly bytes: string };

const image = (ending: string, type: string) => ({ kind: 'image', type: `image/${type}`, ending }) as const;
const audio = (ending: string, type: string) => ({ kind: 'audio', type: `audio/${type}`, ending }) as const;

/** Magic numbers in Latin-1, as the WHATWG MIME Sniffing standard (6.1, 6.2) and the formats themselves have them. */
const SIGNATURES: readonly Signature[] = [
  { ...image('jpg', 'jpeg'), at: 0, bytes: '\xff\xd8\xff' },
  { ...image('png', 'png'), at: 0, bytes: '\x89PNG\r\n\x1a\n' },
  { ...image('gif', 'gif'), at: 0, bytes: 'GIF8' },
  { ...image('webp', 'webp'), at: 8, bytes: 'WEBP' },
  { ...audio('wav', 'wav'), at: 8, bytes: 'WAVE' },
  { ...audio('flac', 'flac'), at: 0, bytes: 'fLaC' },
  { ...audio('ogg', 'ogg'), at: 0, bytes: 'OggS' },
  { ...audio('mp3', 'mpeg'), at: 0, bytes: 'ID3' },
  { ...audio('mp3', 'mpeg'), at: 0, bytes: '\xff\xfb' },
  { ...audio('mp3', 'mpeg'), at: 0, bytes: '\xff\xf3' },
  { ...audio('m4a', 'mp4'), at: 4, bytes: 'ftyp' },
  { ...audio('webm', 'webm'), at: 0, bytes: '\x1aE\xdf\xa3' },
];
const LONGEST = 16;

/** The type of a file by its content; undefined where it is neither a picture nor sound that services take. */
export function mediaTypeOf(bytes: Uint8Array): MediaType | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, LONGEST));
  const found = SIGNATURES.find((signature) => head.startsWith(signature.bytes, signature.at));
  return found && { kind: found.kind, type: found.type, ending: found.ending };
}
