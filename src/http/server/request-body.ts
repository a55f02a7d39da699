import { createHash } from 'node:crypto';
import { type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { availableMemory } from '../../core/available-memory.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { type Answer, httpErrors, problem } from './answer.ts';

/** Default limit of a request body in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;
/** Maximum nesting depth of arrays and objects, so that later code can use recursion. */
const MAX_DEPTH = 32;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const JSON_TYPE = /^application\/json\s*(?:;\s*charset=("?)utf-8\1\s*)?$/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;\s*charset=("?)utf-8\1\s*)?$/i;

/** A parsed body. If it is a list, the list is in `list`, and `body` is empty. */
interface JsonBody {
  readonly body: JsonObject;
  readonly list?: readonly Json[];
}

/** The parsed body, or the response that refuses it. */
export type BodyOrRefusal = JsonBody | { readonly refusal: Answer; readonly fault?: BodyFault };

/** Fault of a body that was read completely: `no-json` if it is not JSON, `no-message` for any other fault. */
export type BodyFault = 'no-json' | 'no-message';

interface BodyOptions {
  readonly requestId: string;
  readonly takes: 'object' | 'object-or-list' | 'form';
  /** Required SHA-256 of the raw bytes, in hex. */
  readonly contentSha256?: string | undefined;
  /** Returns the limit for a body of more than `MAX_BODY_BYTES`. Throws RESOURCE_EXCEEDED if no large body can be read now. */
  readonly largeBound?: () => number;
}

/**
 * Reads a JSON body or form; an empty body means `{}`. Refuses any other media type (415), a body above the limit (413), and a body that is
 * not valid (400). Throws TOKEN_INVALID if the body's digest differs from the one in the caller's proof of possession.
 */
export async function readBody(request: Request, options: BodyOptions): Promise<BodyOrRefusal> {
  const { requestId, contentSha256, takes } = options;
  const type = request.headers.get('content-type');
  const refuseType = (given: string) => ({ refusal: problem(httpErrors.mediaType(given, takes), { requestId, status: 415 }) });
  if (type !== null && !(takes === 'form' ? FORM_TYPE : JSON_TYPE).test(type)) return refuseType(type);
  const bound = new BodyBound(options.largeBound);
  let text: string;
  try {
    const declared = request.headers.get('content-length');
    if (declared !== null) bound.admit(Number(declared));
    // If the body's length is known, the Node.js adaptor reads it faster as text than as a stream.
    const isShort = declared !== null && contentSha256 === undefined;
    text = isShort ? await request.text() : await readBounded(request, bound, contentSha256);
  } catch (error) {
    if (!(error instanceof AtmoError)) throw new AtmoError('CANCELLED', 'The client went away before its request had come whole');
    if (error.code !== 'TOKEN_INVALID') return { refusal: unreadBodyAnswer(error, requestId) };
    throw error;
  }
  if (text === '') return { body: {} };
  if (type === null) return refuseType('nothing');
  return takes === 'form' ? parseForm(text, requestId) : parse(text, options);
}

/** Checks the size of one body. Only a body above the default limit reserves a slot, and gets the higher limit. */
class BodyBound {
  readonly #largeBound: (() => number) | undefined;
  #maxBytes: number | undefined;

  constructor(largeBound: (() => number) | undefined) {
    this.#largeBound = largeBound;
  }

  /** Throws PAYLOAD_TOO_LARGE if the body has more bytes than the limit. */
  admit(bytes: number): void {
    if (bytes <= MAX_BODY_BYTES) return;
    this.#maxBytes ??= this.#largeBound?.() ?? MAX_BODY_BYTES;
    if (bytes > this.#maxBytes) throw tooLarge(this.#maxBytes);
  }
}

/** Throws TOKEN_INVALID if the bytes do not have the digest that the proof of possession contains. */
export function requireContent(bytes: Uint8Array, contentSha256: string | undefined): void {
  if (contentSha256 === undefined || createHash('sha256').update(bytes).digest('hex') === contentSha256) return;
  throw new AtmoError(
    'TOKEN_INVALID',
    'The proof of possession is about another body than the one that came; sign the bytes that are sent',
  );
}

/** Reads a streamed body. If `bound.admit` refuses the body's size with an error, cancels the stream and throws the same error. */
async function readBounded(request: Request, bound: BodyBound, contentSha256: string | undefined): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
    size += chunk.value.byteLength;
    try {
      bound.admit(size);
    } catch (error) {
      await reader?.cancel();
      throw error;
    }
    chunks.push(chunk.value);
  }
  const bytes = Buffer.concat(chunks);
  requireContent(bytes, contentSha256);
  return new TextDecoder().decode(bytes);
}

/** Parses a form. A parameter that is there twice is refused (RFC 6749 §3.2). */
function parseForm(text: string, requestId: string): BodyOrRefusal {
  const form = new URLSearchParams(text);
  const repeated = [...new Set(form.keys())].find((name) => form.getAll(name).length > 1);
  if (repeated === undefined) return { body: Object.fromEntries(form) };
  const error = new AtmoError('VALIDATION_ERROR', `The form has ${JSON.stringify(repeated.slice(0, 64))} more than once`);
  return { refusal: problem(error, { requestId }), fault: 'no-message' };
}

function parse(text: string, { requestId, takes }: BodyOptions): BodyOrRefusal {
  const invalid = (message: string, fault: BodyFault = 'no-message') => ({
    refusal: problem(new AtmoError('VALIDATION_ERROR', message), { requestId }),
    fault,
  });
  if (depthOf(text) > MAX_DEPTH) return invalid(`The body nests deeper than ${MAX_DEPTH} levels; send flatter parameters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid('The body is not JSON; send an object such as {"name": "value"}', 'no-json');
  }
  if (isJsonObject(value)) return { body: value };
  if (takes === 'object-or-list' && Array.isArray(value)) return { body: {}, list: value };
  return invalid('The body has to be a JSON object such as {"name": "value"}');
}

/** Returns an upper bound of the nesting depth, by counting brackets outside of strings. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfText(text, index);
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
}

/** Returns the index of the closing quote of the string that begins at `start`. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}

function tooLarge(maxBytes: number): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `A body may have at most ${maxBytes} bytes here`, { max_bytes: maxBytes });
}

/** Returns an error response that closes the connection, because the rest of the body is not read. */
function unreadBodyAnswer(error: AtmoError, requestId: string): Answer {
  const answer = problem(error, { requestId });
  return { ...answer, headers: { ...answer.headers, connection: 'close' } };
}

/** Maximum number of large bodies (above the default limit) in memory at once. Each account can have only one of them. */
const MAX_AT_ONCE = 2;
/** Number of copies of a body that are in memory during a call: its bytes, text, parsed values and the forwarded message. */
const COPIES = 4;
const RETRY_MS = 2_000;

/** Limits how many large bodies (above the default limit) are in memory at once, so that a small board does not run out of memory. */
export class LargeBodySlots {
  readonly #availableMemory: () => number;
  readonly #accounts = new Set<string>();

  constructor(available: () => number = availableMemory) {
    this.#availableMemory = available;
  }

  /**
   * Takes a slot until its disposal. Throws RESOURCE_EXCEEDED with `retry_after_ms` if the account already has a slot, if all slots are
   * taken, or if memory is low.
   */
  acquire(principal: Principal, bytes: number): Disposable {
    const account = rootAgentOf(principalKey(principal));
    if (this.#accounts.has(account)) throw busy('Your last request with a large body is not answered yet');
    if (this.#accounts.size >= MAX_AT_ONCE) throw busy(`The hub takes ${MAX_AT_ONCE} large bodies at once, and they are here`);
    if (this.#availableMemory() < COPIES * bytes) throw busy(`The hub has too little memory for a body of ${bytes} bytes at the moment`);
    this.#accounts.add(account);
    return { [Symbol.dispose]: () => void this.#accounts.delete(account) };
  }
}

function busy(why: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `${why}; send it again later`, { retry_after_ms: RETRY_MS });
}
