import { isJsonObject, type Json } from '../../core/json.ts';
import { type ChatAnswer, type TokenCount, tokenCount } from './chat-answer.ts';
import type { NamedModel } from './model-book.ts';
import { unusable } from './model-call.ts';

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
    if (this.#line.length > MAX_LINE) throw unusable(this.#model, 'with a line without end');
    const before = this.#text.length;
    for (const line of lines) if (line.startsWith('data:')) this.#event(line.slice('data:'.length).trim());
    return this.#text.slice(before);
  }

  /** All of it. SERVICE_REFUSED when the stream broke off before its end. */
  answer(): ChatAnswer {
    if (!this.#isDone && this.#finishReason === undefined) throw unusable(this.#model, 'with half a stream');
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
    if (!isJsonObject(chunk)) throw unusable(this.#model, 'with an event that is no object');
    if (isJsonObject(chunk.error)) throw unusable(this.#model, `an error: ${String(chunk.error.message).slice(0, 300)}`);
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
      throw unusable(this.#model, 'with an event that is no JSON');
    }
  }
}
