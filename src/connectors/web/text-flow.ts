/** Lines of text that grow: white space is folded as browsers do, blocks get lines of their own. */
export class TextFlow {
  /** Where the marks that are open began. */
  readonly #marks: number[] = [];
  #prefix = '';
  #item = '';
  #lead = '';
  #text = '';
  #breaks = 0;
  #isSpaceDue = false;
  /** Behind an opening mark there is no space. */
  #isTight = false;

  get length(): number {
    return this.#text.length;
  }

  get text(): string {
    return this.#text.trim();
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
    this.#text += bare;
    this.#isTight = false;
    this.#isSpaceDue = words.endsWith(' ');
  }

  /** Text as it is, line by line. */
  exact(text: string): void {
    this.#begin();
    this.#text += text.replaceAll(/\r?\n/g, `\n${this.#prefix}`);
    this.#isTight = false;
  }

  /** Begins a new line before the next text; with 2 an empty one is between. Inside of marks it is a space. */
  breakLine(lines: 1 | 2): void {
    if (this.#text === '') return;
    if (this.#marks.length > 0) this.#space();
    else this.#breaks = Math.max(this.#breaks, lines);
  }

  /** A mark that stands close to the text behind it, such as `**`. */
  open(mark: string): void {
    this.#begin();
    this.#marks.push(this.#text.length);
    this.#text += mark;
    this.#isTight = true;
  }

  /** The mark that ends it; both vanish where there is nothing between them. */
  close(mark: string, opened: string): void {
    const at = this.#marks.pop() ?? 0;
    this.#isTight = false;
    if (this.#text.length > at + opened.length) {
      this.#text += mark;
      return;
    }
    this.#text = this.#text.slice(0, at).replace(/ $/, '');
    this.#isSpaceDue = true;
  }

  /** A space at the beginning of marked text belongs before the mark. */
  #space(): void {
    const at = this.#marks.at(-1) ?? 0;
    if (!this.#isTight) this.#isSpaceDue = true;
    else if (/\S/.test(this.#text.charAt(at - 1))) {
      this.#text = `${this.#text.slice(0, at)} ${this.#text.slice(at)}`;
      this.#marks[this.#marks.length - 1] = at + 1;
    }
  }

  #begin(): void {
    const isFirst = this.#text === '';
    if (isFirst || this.#breaks > 0) {
      this.#text += isFirst ? '' : `\n${this.#prefix.trimEnd()}`.repeat(this.#breaks - 1).concat('\n');
      this.#text += this.#prefix.slice(0, this.#prefix.length - this.#item.length) + this.#item + this.#lead;
      this.#item = '';
      this.#lead = '';
    } else if (this.#isSpaceDue) this.#text += ' ';
    this.#breaks = 0;
    this.#isSpaceDue = false;
  }
}
