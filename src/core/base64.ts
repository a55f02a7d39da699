/** One character that does not belong is looked for: a pattern of the whole text takes memory by its length, and fails above some megabytes. */
const FOREIGN = /[^A-Za-z0-9+/]/;

/** Base64 with padding (RFC 4648 §4), however long it is. */
export function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return text.length % 4 === 0 && !FOREIGN.test(padding === 0 ? text : text.slice(0, -padding));
}

/** Base64 that its bytes give back as it is: padded, and no bit is set that belongs to no byte (RFC 4648 §3.5). */
export function isCanonicalBase64(text: string): boolean {
  const end = text.slice(-4);
  return isBase64(text) && Buffer.from(end, 'base64').toString('base64') === end;
}
