/** No instrument says more in a line; noise without line ends must not fill the memory. */
const MAX_LINE = 1024;

/** Makes lines of chunks; what is longer than any line of an instrument is dropped up to its end. */
export class LineSplitter {
  readonly #hear: (line: string) => void;
  #begun = '';
  #isDropping = false;

  constructor(hear: (line: string) => void) {
    this.#hear = hear;
  }

  add(chunk: Buffer): void {
    const parts = chunk.toString('latin1').split(/\r\n|\n|\r/);
    const rest = parts.pop() ?? '';
    for (const part of parts) this.#end(part);
    this.#begun += rest;
    if (this.#begun.length <= MAX_LINE) return;
    this.#begun = '';
    this.#isDropping = true;
  }

  #end(part: string): void {
    const line = Buffer.from(this.#begun + part, 'latin1')
      .toString('utf8')
      .trim();
    const isWhole = !this.#isDropping && line !== '' && line.length <= MAX_LINE;
    this.#begun = '';
    this.#isDropping = false;
    if (isWhole) this.#hear(line);
  }
}
