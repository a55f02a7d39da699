import { AtmoError } from '../core/errors.ts';
import { present } from '../core/json.ts';

/** Maximum length of a message in characters, so that a stream without an end of line does not fill the memory. */
const MAX_MESSAGE_CHARS = 16 * 1024 * 1024;
/** Each line of data counts as this many characters more, for the memory of an empty one. */
const LINE_COST = 32;

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
  /** Characters that `#data` counts as. */
  #length = 0;

  /** Adds text, and returns the messages that the text completes. Throws RESULT_INVALID if a message is too long. */
  push(text: string): readonly SseMessage[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    const messages = lines.flatMap((line) => this.#line(line));
    if (this.#rest.length + this.#length <= MAX_MESSAGE_CHARS) return messages;
    throw new AtmoError('RESULT_INVALID', `The stream has a message of more than ${MAX_MESSAGE_CHARS} characters, as no hub sends`);
  }

  #line(line: string): readonly SseMessage[] {
    if (line === '') return this.#end();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#keep(value);
    if (field === 'id' && !value.includes('\0')) this.#id = value;
    return [];
  }

  #keep(value: string): void {
    this.#data.push(value);
    this.#length += value.length + LINE_COST;
  }

  #end(): readonly SseMessage[] {
    const data = this.#data.join('\n');
    const message = present({ event: this.#event || 'message', data, id: this.#id });
    const isEmpty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    this.#length = 0;
    this.#id = undefined;
    return isEmpty ? [] : [message];
  }
}
