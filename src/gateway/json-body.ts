import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import { type Answer, httpErrors, problem } from './answer.ts';

/** Largest request body, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;
/** Deepest nesting of arrays and objects; what comes after parsing may recurse safely. */
const MAX_DEPTH = 32;
const JSON_TYPE = /^application\/json\s*(?:;\s*charset=("?)utf-8\1\s*)?$/i;

/** The parsed body, or the answer to send instead. */
export type BodyOrRefusal = { readonly body: JsonObject } | { readonly refusal: Answer };

/** Reads a JSON object from a request; an empty body is `{}`. Refuses other types (415), too much (413) and what does not parse (400). */
export async function readJsonBody(request: Request, requestId: string): Promise<BodyOrRefusal> {
  const declared = request.headers.get('content-length');
  if (declared !== null && Number(declared) > MAX_BODY_BYTES) return { refusal: tooLarge(requestId) };
  const type = request.headers.get('content-type');
  if (type !== null && !JSON_TYPE.test(type)) return { refusal: problem(httpErrors.mediaType(type), { requestId, status: 415 }) };

  const text = declared === null ? await readBounded(request) : await request.text();
  if (text === undefined) return { refusal: tooLarge(requestId) };
  if (text === '') return { body: {} };
  if (type === null) return { refusal: problem(httpErrors.mediaType('nothing'), { requestId, status: 415 }) };
  return parse(text, requestId);
}

/** A body without a declared length is counted while it streams; undefined when it grows too large. */
async function readBounded(request: Request): Promise<string | undefined> {
  if (request.body === null) return '';
  const decoder = new TextDecoder();
  const reader = request.body.getReader();
  let text = '';
  let bytes = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    bytes += chunk.value.byteLength;
    if (bytes > MAX_BODY_BYTES) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(chunk.value, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text: string, requestId: string): BodyOrRefusal {
  const invalid = (message: string) => ({ refusal: problem(new AtmoError('VALIDATION_ERROR', message), { requestId }) });
  if (depthOf(text) > MAX_DEPTH) return invalid(`The body nests deeper than ${MAX_DEPTH} levels; send flatter parameters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid('The body is not JSON; send an object such as {"name": "value"}');
  }
  return isJsonObject(value) ? { body: value } : invalid('The body has to be a JSON object such as {"name": "value"}');
}

/** Upper bound of the nesting, from the brackets alone: brackets inside strings count too, which only refuses what nobody sends. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
}

function tooLarge(requestId: string): Answer {
  const error = new AtmoError('PAYLOAD_TOO_LARGE', `A body may have at most ${MAX_BODY_BYTES} bytes`, { max_bytes: MAX_BODY_BYTES });
  const answer = problem(error, { requestId });
  // The rest of the body is not worth reading.
  return { ...answer, headers: { ...answer.headers, connection: 'close' } };
}
