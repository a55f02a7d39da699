import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { answerOf, type NamedModel, requestModel, unusableAnswer } from './model-client.ts';

const COMPLETIONS_PATH = '/chat/completions';

/** What is said to a model, and how long and how freely it may answer. */
export interface ChatRequest {
  readonly messages: readonly JsonObject[];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly signal: AbortSignal;
}

/** A request with the words that a person or program says, and those that the model is told before. */
export function messagesOf(prompt: Json, system?: string): readonly JsonObject[] {
  const user = { role: 'user', content: prompt };
  return system === undefined ? [user] : [{ role: 'system', content: system }, user];
}

/** Has a model write; errors as those of `askModel`. */
export async function chat(model: NamedModel, { signal, ...request }: ChatRequest): Promise<ChatAnswer> {
  const answer = await requestModel(model, { path: COMPLETIONS_PATH, body: bodyOf(model, request), signal });
  return chatAnswer(model, answerOf(model, answer));
}

/** The same while it is being written: `onText` hears each piece. A service that cannot stream answers all at once. */
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
    throw stream.hasText ? brokenOff(model, error) : error;
  });
  if (!/^text\/event-stream/i.test(answer.headers.get('content-type') ?? '')) return chatAnswer(model, answerOf(model, answer));
  return stream.answer();
}

/** Tried again, it would tell its beginning twice. */
function brokenOff(model: NamedModel, error: unknown): unknown {
  return error instanceof AtmoError && error.code === 'SERVICE_UNAVAILABLE' ? unusableAnswer(model, 'half a stream and broke off') : error;
}

function bodyOf({ model }: NamedModel, { messages, maxTokens, temperature }: Omit<ChatRequest, 'signal'>): JsonObject {
  return { model, messages, max_tokens: maxTokens, temperature };
}

/** What a model wrote. */
export interface ChatAnswer {
  readonly text: string;
  /** `stop`, `length`, or another word of the service's. */
  readonly finishReason?: string;
  readonly tokens?: TokenCount;
}

/** Absent where the service does not count. */
interface TokenCount {
  readonly prompt: number;
  readonly completion: number;
}

/** The answer to `/chat/completions` (OpenAI API reference, chat completion object). SERVICE_REFUSED when it is none. */
export function chatAnswer(model: NamedModel, answer: JsonObject): ChatAnswer {
  const choice = Array.isArray(answer.choices) ? answer.choices[0] : undefined;
  const message = isJsonObject(choice) ? choice.message : undefined;
  if (!isJsonObject(choice) || !isJsonObject(message)) throw unusableAnswer(model, 'without a message');
  const tokens = tokenCount(answer.usage);
  return {
    text: typeof message.content === 'string' ? message.content : '',
    ...(typeof choice.finish_reason === 'string' && { finishReason: choice.finish_reason }),
    ...(tokens && { tokens }),
  };
}

/** The member `usage` of an answer. */
function tokenCount(usage: Json | undefined): TokenCount | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (!Number.isInteger(prompt)) return undefined;
  return { prompt: Number(prompt), completion: Number.isInteger(completion) ? Number(completion) : 0 };
}

/** Longest line of a stream, in characters; a piece of text is some words. */
const MAX_LINE = 1_048_576;

/**
 * Puts an answer together that arrives word by word (OpenAI API reference, chat completion chunk object; the lines are those of
 * WHATWG HTML 9.2, server-sent events).
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

  /** Takes the next bytes; answers the text that they brought. SERVICE_REFUSED for what is no such stream. */
  take(bytes: Uint8Array): string {
    const lines = (this.#line + this.#decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r/);
    this.#line = lines.pop() ?? '';
    if (this.#line.length > MAX_LINE) throw unusableAnswer(this.#model, 'with a line without end');
    const before = this.#text.length;
    for (const line of lines) if (line.startsWith('data:')) this.#event(line.slice('data:'.length).trim());
    return this.#text.slice(before);
  }

  /** All of it. SERVICE_REFUSED when the stream broke off before its end. */
  answer(): ChatAnswer {
    if (!this.#isDone && this.#finishReason === undefined) throw unusableAnswer(this.#model, 'with half a stream');
    return {
      text: this.#text,
      ...(this.#finishReason !== undefined && { finishReason: this.#finishReason }),
      ...(this.#tokens && { tokens: this.#tokens }),
    };
  }

  #event(data: string): void {
    if (data === '[DONE]') this.#isDone = true;
    if (data === '[DONE]' || data === '') return;
    const chunk = this.#parsed(data);
    if (!isJsonObject(chunk)) throw unusableAnswer(this.#model, 'with an event that is no object');
    if (isJsonObject(chunk.error)) throw unusableAnswer(this.#model, `an error: ${String(chunk.error.message).slice(0, 300)}`);
    this.#tokens = tokenCount(chunk.usage) ?? this.#tokens;
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isJsonObject(choice)) return;
    if (isJsonObject(choice.delta) && typeof choice.delta.content === 'string') this.#text += choice.delta.content;
    if (typeof choice.finish_reason === 'string') this.#finishReason = choice.finish_reason;
  }

  #parsed(data: string): Json {
    try {
      return JSON.parse(data) as Json;
    } catch {
      throw unusableAnswer(this.#model, 'with an event that is no JSON');
    }
  }
}
