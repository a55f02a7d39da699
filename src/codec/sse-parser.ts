/** One message of an event stream. */
export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** Where to go on after a cut; absent where the message names none. */
  readonly id?: string;
}

/** Reads Server-Sent Events (HTML Living Standard §9.2.6) from pieces of text that may be cut anywhere; comments and other fields are skipped. */
export class SseParser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id: string | undefined;

  /** The messages that this piece completes. */
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
    const message = { event: this.#event || 'message', data, ...(this.#id !== undefined && { id: this.#id }) };
    const isEmpty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    this.#id = undefined;
    return isEmpty ? [] : [message];
  }
}
