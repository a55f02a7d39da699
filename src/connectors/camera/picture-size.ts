import { mediaTypeOf } from '../models/media-type.ts';

/** What a picture says of itself. */
export interface PictureSize {
  readonly type: 'image/jpeg' | 'image/png';
  readonly width: number;
  readonly height: number;
}

const PNG_WIDTH_AT = 16;
const PNG_HEIGHT_AT = 20;
const JPEG_MARKER = 0xff;
/** SOF0 to SOF15 without DHT, JPG and DAC, which lie among them (ITU-T T.81, table B.1). */
const isFrameHeader = (code: number): boolean => code >= 0xc0 && code <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(code);

/** Width and height of a JPEG (ITU-T T.81 B.2.2) or PNG (ISO/IEC 15948 11.2.2); undefined for anything else, and where it is cut off. */
export function pictureSize(bytes: Uint8Array): PictureSize | undefined {
  const type = mediaTypeOf(bytes)?.type;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (type === 'image/png' && bytes.length >= PNG_HEIGHT_AT + 4) {
    return { type, width: view.getUint32(PNG_WIDTH_AT), height: view.getUint32(PNG_HEIGHT_AT) };
  }
  if (type !== 'image/jpeg') return undefined;
  const size = jpegSize(view);
  return size && { type, ...size };
}

/** Segments follow each other, each with its length, until the one that holds the size. */
function jpegSize(view: DataView): { readonly width: number; readonly height: number } | undefined {
  for (let at = 2; at + 9 < view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== JPEG_MARKER) return undefined;
    if (isFrameHeader(view.getUint8(at + 1))) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
  }
  return undefined;
}
