import { present } from '../core/json.ts';

/** Message of a Server-Sent Events stream. */
export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** Value for the header `Last-Event-ID` after a lost connection; absent if the message has no id. */
  readonly id?: string;
}

/** Parses Server-Sent Events (HTML Living Standard §9.2.6) from arbitrary pieces of text; ignores comments and unknown fields. */
export class SseParser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id: string | undefined;

  /** Adds text, and returns the messages that the text completes. */
  push(text: string): readonly SseMessage[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): readonly SseMessage[] {
    if (line === '') return this.#end();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#data.push(value);
    if (field === 'id' && !value.includes('\0')) this.#id = value;
    return [];
  }

  #end(): readonly SseMessage[] {
    const data = this.#data.join('\n');
    const message = present({ event: this.#event || 'message', data, id: this.#id });
    const isEmpty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    this.#id = undefined;
    return isEmpty ? [] : [message];
  }
}
