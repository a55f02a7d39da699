import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Answer } from './answer.ts';

/** Shorter ones are not worth it. */
const MIN_COMPRESSED_BYTES = 1_400;
const CACHING = { 'cache-control': 'private, no-cache', vary: 'Authorization, Accept-Encoding' };
const compressors = {
  br: (text: string) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (text: string) => promisify(gzip)(text, { level: 6 }),
};

/**
 * A list or document as the caller wants it: not again when he has it (RFC 9110 §13.1.2), and compressed. Only for answers
 * without secrets: their size tells something of what is in them, and callers may keep them.
 */
export async function documentAnswer(answer: Answer, headers: Pick<Headers, 'get'>): Promise<Answer> {
  if (answer.status !== 200 || typeof answer.body !== 'string') return answer;
  const etag = `W/"${hash('sha1', answer.body, 'base64url')}"`;
  const kept = { ...answer.headers, ...CACHING, etag };
  if (isKnown(headers.get('if-none-match'), etag)) return { status: 304, headers: { ...CACHING, etag }, body: '' };
  const coding = codingFor(headers.get('accept-encoding'));
  if (coding === undefined || answer.body.length < MIN_COMPRESSED_BYTES) return { ...answer, headers: kept };
  const bytes = await compressors[coding](answer.body);
  return { status: 200, headers: { ...kept, 'content-encoding': coding, 'content-length': String(bytes.length) }, body: bytes };
}

/** Weak comparison (§8.8.3.2): our own tags are all weak. */
function isKnown(header: string | null, etag: string): boolean {
  if (header === null) return false;
  const opaque = etag.slice(2);
  return header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque);
}

function codingFor(header: string | null): keyof typeof compressors | undefined {
  const codings = (header ?? '').split(',').map((text) => text.trim().toLowerCase());
  const isWanted = (name: string) => codings.some((coding) => coding.split(';')[0]?.trim() === name && !/;\s*q=0(\.0*)?\s*$/.test(coding));
  if (isWanted('br')) return 'br';
  return isWanted('gzip') ? 'gzip' : undefined;
}
