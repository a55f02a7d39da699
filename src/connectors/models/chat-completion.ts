import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, present, tryParseJson } from '../../core/json.ts';
import { answerOf, type NamedModel, requestModel, unusableAnswer } from './model-client.ts';

const COMPLETIONS_PATH = '/chat/completions';

/** Messages for a model, with the maximum length and the temperature of its response. */
interface ChatRequest {
  readonly messages: readonly JsonObject[];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly signal: AbortSignal;
}

/** Returns the messages of a request: the instructions for the model, if any, and the prompt. */
export function messagesOf(prompt: Json, system?: string): readonly JsonObject[] {
  const user = { role: 'user', content: prompt };
  return system === undefined ? [user] : [{ role: 'system', content: system }, user];
}

/** Sends messages to a model and returns its response. Rejects like `requestModel` and `chatAnswer`. */
export async function chat(model: NamedModel, { signal, ...request }: ChatRequest): Promise<ChatAnswer> {
  const answer = await requestModel(model, { path: COMPLETIONS_PATH, body: bodyOf(model, request), signal });
  return chatAnswer(model, answerOf(model, answer));
}

/** Sends messages to a model. Calls `onText` with each new piece of its text; if the service does not stream, never calls `onText`. */
export async function streamedChat(
  model: NamedModel,
  { signal, ...request }: ChatRequest,
  onText: (text: string) => void,
): Promise<ChatAnswer> {
  const stream = new ChatStream(model);
  const body = { ...bodyOf(model, request), stream: true, stream_options: { include_usage: true } };
  const onPart = (part: Uint8Array) => {
    const text = stream.take(part);
    if (text !== '') onText(text);
  };
  const answer = await requestModel(model, { path: COMPLETIONS_PATH, body, signal, onPart }).catch((error: unknown) => {
    // After the first piece of text, the error must not cause a retry: the retry would pass the beginning of the text to `onText` again.
    const isRepeatable = error instanceof AtmoError && error.code === 'SERVICE_UNAVAILABLE';
    throw stream.hasText && isRepeatable ? unusableAnswer(model, 'half a stream and broke off') : error;
  });
  if (!/^text\/event-stream/i.test(answer.headers.get('content-type') ?? '')) return chatAnswer(model, answerOf(model, answer));
  return stream.answer();
}

function bodyOf({ model }: NamedModel, { messages, maxTokens, temperature }: Omit<ChatRequest, 'signal'>): JsonObject {
  return { model, messages, max_tokens: maxTokens, temperature };
}

/** The response of a model. */
export interface ChatAnswer {
  readonly text: string;
  /** Why the model stopped: `stop` (it was done), `length` (it reached the maximum length), or another value of the service. */
  readonly finishReason?: string;
  readonly tokens?: TokenCount;
}

/** Numbers of tokens in the prompt and in the response, as the service reports them. */
interface TokenCount {
  readonly prompt: number;
  readonly completion: number;
}

/** Parses a response of `/chat/completions` (OpenAI API, chat completion object). Throws SERVICE_REFUSED if it has no message. */
export function chatAnswer(model: NamedModel, answer: JsonObject): ChatAnswer {
  const choice = Array.isArray(answer.choices) ? answer.choices[0] : undefined;
  const message = isJsonObject(choice) ? choice.message : undefined;
  if (!isJsonObject(choice) || !isJsonObject(message)) throw unusableAnswer(model, 'without a message');
  return present({
    text: typeof message.content === 'string' ? message.content : '',
    finishReason: typeof choice.finish_reason === 'string' ? choice.finish_reason : undefined,
    tokens: tokenCount(answer.usage),
  });
}

/** Returns the token counts in the field `usage` of a response; undefined if there are none. */
function tokenCount(usage: Json | undefined): TokenCount | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (!Number.isInteger(prompt)) return undefined;
  return { prompt: Number(prompt), completion: Number.isInteger(completion) ? Number(completion) : 0 };
}

/** Maximum length of a line in an event stream, in characters. Usual lines contain only a few words. */
const MAX_LINE = 1_048_576;

/**
 * Joins the pieces of a streamed response (OpenAI API reference, chat completion chunk object). The pieces arrive as server-sent events
 * (WHATWG HTML 9.2).
 */
export class ChatStream {
  readonly #model: NamedModel;
  readonly #decoder = new TextDecoder();
  #line = '';
  #text = '';
  #finishReason: string | undefined;
  #tokens: TokenCount | undefined;
  #isDone = false;

  constructor(model: NamedModel) {
    this.#model = model;
  }

  get hasText(): boolean {
    return this.#text !== '';
  }

  /** Reads the next bytes of the stream and returns the new text in them. Throws SERVICE_REFUSED if the stream does not follow the API. */
  take(bytes: Uint8Array): string {
    const lines = (this.#line + this.#decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r/);
    this.#line = lines.pop() ?? '';
    if (this.#line.length > MAX_LINE) throw unusableAnswer(this.#model, 'with a line without end');
    const before = this.#text.length;
    for (const line of lines) if (line.startsWith('data:')) this.#event(line.slice('data:'.length).trim());
    return this.#text.slice(before);
  }

  /** Returns the whole response at the end of the stream. Throws SERVICE_REFUSED if the stream ended too early. */
  answer(): ChatAnswer {
    if (!this.#isDone && this.#finishReason === undefined) throw unusableAnswer(this.#model, 'with half a stream');
    return present({ text: this.#text, finishReason: this.#finishReason, tokens: this.#tokens });
  }

  #event(data: string): void {
    if (data === '[DONE]') this.#isDone = true;
    if (data === '[DONE]' || data === '') return;
    const chunk = tryParseJson(data);
    if (!isJsonObject(chunk)) throw unusableAnswer(this.#model, `with an event that is no ${chunk === undefined ? 'JSON' : 'object'}`);
    if (isJsonObject(chunk.error)) throw unusableAnswer(this.#model, `an error: ${String(chunk.error.message).slice(0, 300)}`);
    this.#tokens = tokenCount(chunk.usage) ?? this.#tokens;
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isJsonObject(choice)) return;
    if (isJsonObject(choice.delta) && typeof choice.delta.content === 'string') this.#text += choice.delta.content;
    if (typeof choice.finish_reason === 'string') this.#finishReason = choice.finish_reason;
  }
}
