/** Lines of text that grow: white space is folded as browsers do, blocks get lines of their own. */
export class TextFlow {
  /** None is empty. One text would be copied whole by each change of it, and pages may have thousands of those. */
  readonly #parts: string[] = [];
  /** The parts that are open marks, by their place. */
  readonly #marks: number[] = [];
  #length = 0;
  #prefix = '';
  #item = '';
  #lead = '';
  #breaks = 0;
  #isSpaceDue = false;
  /** Behind an opening mark there is no space. */
  #isTight = false;

  get length(): number {
    return this.#length;
  }

  get text(): string {
    return this.#parts.join('').trim();
  }

  /** What every line from now on begins with, such as `> `. */
  set prefix(prefix: string) {
    this.#prefix = prefix;
  }

  /** What the next line has instead of the end of its prefix, such as `- `. */
  set item(item: string) {
    this.#item = item;
  }

  /** What the next line has before its text, such as `## `; inside of marks there are no lines. */
  set lead(lead: string) {
    if (this.#marks.length === 0) this.#lead = lead;
  }

  /** Text in which any white space is one space, and none at the beginning of a line. */
  fold(text: string): void {
    const words = text.replaceAll(/[\s\u00a0]+/g, ' ');
    if (words.startsWith(' ')) this.#space();
    const bare = words.trim();
    if (bare === '') return;
    this.#begin();
    this.#add(bare);
    this.#isTight = false;
    this.#isSpaceDue = words.endsWith(' ');
  }

  /** Text as it is, line by line. */
  exact(text: string): void {
    this.#begin();
    this.#add(text.replaceAll(/\r?\n/g, `\n${this.#prefix}`));
    this.#isTight = false;
  }

  /** Begins a new line before the next text; with 2 an empty one is between. Inside of marks it is a space. */
  breakLine(lines: 1 | 2): void {
    if (this.#length === 0) return;
    if (this.#marks.length > 0) this.#space();
    else this.#breaks = Math.max(this.#breaks, lines);
  }

  /** A mark that stands close to the text behind it, such as `**`. */
  open(mark: string): void {
    this.#begin();
    this.#marks.push(this.#parts.length);
    this.#add(mark);
    this.#isTight = true;
  }

  /** The mark that ends it; both vanish where there is nothing between them. */
  close(mark: string): void {
    const at = this.#marks.pop() ?? 0;
    this.#isTight = false;
    if (this.#parts.length > at + 1) {
      this.#add(mark);
      return;
    }
    this.#drop();
    if (this.#parts.at(-1)?.endsWith(' ') === true) this.#add(this.#drop().slice(0, -1));
    this.#isSpaceDue = true;
  }

  /** A space at the beginning of marked text belongs before the mark. */
  #space(): void {
    const at = this.#marks.at(-1) ?? 0;
    if (!this.#isTight) this.#isSpaceDue = true;
    else if (/\S$/.test(this.#parts[at - 1]?.slice(-1) ?? '')) {
      this.#parts.splice(at, 0, ' ');
      this.#length += 1;
      this.#marks[this.#marks.length - 1] = at + 1;
    }
  }

  #begin(): void {
    const isFirst = this.#length === 0;
    if (isFirst || this.#breaks > 0) {
      this.#add(isFirst ? '' : `\n${this.#prefix.trimEnd()}`.repeat(this.#breaks - 1).concat('\n'));
      this.#add(this.#prefix.slice(0, this.#prefix.length - this.#item.length) + this.#item + this.#lead);
      this.#item = '';
      this.#lead = '';
    } else if (this.#isSpaceDue) this.#add(' ');
    this.#breaks = 0;
    this.#isSpaceDue = false;
  }

  #add(text: string): void {
    if (text === '') return;
    this.#parts.push(text);
    this.#length += text.length;
  }

  #drop(): string {
    const last = this.#parts.pop() ?? '';
    this.#length -= last.length;
    return last;
  }
}
