import { refuseToken } from './token-refusal.ts';

/** Longest chain in bytes of CBOR; its text then has at most 2,735 characters. */
export const MAX_TOKEN_BYTES = 2048;
const PREFIX = 'at1.';
const MAX_TEXT_LENGTH = PREFIX.length + Math.ceil((MAX_TOKEN_BYTES * 4) / 3);

/** `at1.` and the bytes of a chain in base64url (RFC 4648 §5) without padding. */
export function tokenText(bytes: Uint8Array): string {
  return PREFIX + Buffer.from(bytes).toString('base64url');
}

/** The text without the seal that its bearer's has. */
export function unsealed(text: string): string {
  const dot = text.indexOf('.', PREFIX.length);
  return dot < 0 ? text : text.slice(0, dot);
}

/** The bytes of a token's text, of its seal none. TOKEN_INVALID unless the text is the only one for its bytes. */
export function tokenBytes(given: string): Uint8Array {
  const text = unsealed(given);
  if (!text.startsWith(PREFIX)) refuseToken(`it does not begin with ${PREFIX}`);
  if (text.length > MAX_TEXT_LENGTH) refuseToken(`it is longer than ${MAX_TOKEN_BYTES} bytes`);
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  // Node also decodes padding, `+`, `/`, blanks, and a last character with bits to spare.
  if (tokenText(bytes) !== text) refuseToken('it is not base64url without padding');
  return bytes;
}
