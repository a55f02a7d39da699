/** The media type of a file, and the file name extension that fits it. */
export interface MediaType {
  readonly kind: 'image' | 'audio';
  /** Media type, such as `image/jpeg`. */
  readonly type: string;
  readonly ending: string;
}

type Signature = MediaType & { readonly at: number; readonly bytes: string };

const image = (ending: string, type: string) => ({ kind: 'image', type: `image/${type}`, ending }) as const;
const audio = (ending: string, type: string) => ({ kind: 'audio', type: `audio/${type}`, ending }) as const;

/** Magic numbers of file types as Latin-1 text, from the WHATWG MIME Sniffing standard (6.1, 6.2) and the formats' specifications. */
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

/** Detects the media type of a file by its content. Returns undefined if the file is no image or recording of a known type. */
export function mediaTypeOf(bytes: Uint8Array): MediaType | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, LONGEST));
  const found = SIGNATURES.find((signature) => head.startsWith(signature.bytes, signature.at));
  return found && { kind: found.kind, type: found.type, ending: found.ending };
}

interface PictureSize {
  readonly type: 'image/jpeg' | 'image/png';
  readonly width: number;
  readonly height: number;
}

const PNG_WIDTH_AT = 16;
const PNG_HEIGHT_AT = 20;
const JPEG_MARKER = 0xff;
/** Returns whether a marker begins a frame header (ITU-T T.81, table B.1): one of SOF0 to SOF15, but not DHT, JPG or DAC. */
const isFrameHeader = (code: number): boolean => code >= 0xc0 && code <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(code);

/** Returns the size of a JPEG (ITU-T T.81 B.2.2) or PNG (ISO/IEC 15948 11.2.2). Returns undefined for other or truncated files. */
export function pictureSize(bytes: Uint8Array): PictureSize | undefined {
  const type = mediaTypeOf(bytes)?.type;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (type === 'image/png' && bytes.length >= PNG_HEIGHT_AT + 4) {
    return { type, width: view.getUint32(PNG_WIDTH_AT), height: view.getUint32(PNG_HEIGHT_AT) };
  }
  if (type !== 'image/jpeg') return undefined;
  // A JPEG is a sequence of segments, each with its length. The frame header is the segment with height and width.
  for (let at = 2; at + 9 < view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== JPEG_MARKER) return undefined;
    if (isFrameHeader(view.getUint8(at + 1))) return { type, height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
  }
  return undefined;
}
