import { AtmoError } from '../core/errors.ts';
import { present } from '../core/json.ts';

/** Maximum length of a message in characters, so that a stream without an end of line does not fill the memory. */
const MAX_MESSAGE_CHARS = 16 * 1024 * 1024;
/** Each line of data, and each piece of a line, counts as this many characters more, for the memory of an empty one. */
const PART_COST = 32;

/** Message of a Server-Sent Events stream. */
export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** Value for the header `Last-Event-ID` after a lost connection; absent if the message has no id. */
  readonly id?: string;
}

/** Parses Server-Sent Events (HTML Living Standard §9.2.6) from arbitrary pieces of text; ignores comments and unknown fields. */
export class SseParser {
  /** The pieces of the line that has not ended. They are joined once, at its end: joining each time would take ever longer. */
  #begun: string[] = [];
  #endsWithReturn = false;
  #event = '';
  #data: string[] = [];
  #id: string | undefined;
  /** Characters that `#begun` and `#data` count as. */
  #begunLength = 0;
  #dataLength = 0;

  /** Adds text, and returns the messages that the text completes. Throws RESULT_INVALID if a message is too long. */
  push(text: string): readonly SseMessage[] {
    const [first = '', ...others] = this.#withoutHalfEnd(text).split(/\r\n|\n|\r/);
    this.#begin(first);
    return others.flatMap((next) => {
      const messages = this.#line(this.#begun.join(''));
      this.#begun = [];
      this.#begunLength = 0;
      this.#begin(next);
      return messages;
    });
  }

  /** A line feed after a carriage return that ended the piece before is the end of the same line. */
  #withoutHalfEnd(text: string): string {
    if (text === '') return '';
    const isHalf = this.#endsWithReturn && text.startsWith('\n');
    this.#endsWithReturn = text.endsWith('\r');
    return isHalf ? text.slice(1) : text;
  }

  #begin(piece: string): void {
    if (piece === '') return;
    this.#begunLength += piece.length + PART_COST;
    if (this.#begunLength + this.#dataLength > MAX_MESSAGE_CHARS)
      throw new AtmoError('RESULT_INVALID', `The stream has a message of more than ${MAX_MESSAGE_CHARS} characters, as no hub sends`);
    this.#begun.push(piece);
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
    this.#dataLength += value.length + PART_COST;
  }

  #end(): readonly SseMessage[] {
    const data = this.#data.join('\n');
    const message = present({ event: this.#event || 'message', data, id: this.#id });
    const isEmpty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    this.#dataLength = 0;
    this.#id = undefined;
    return isEmpty ? [] : [message];
  }
}
