import { TextFlow } from './text-flow.ts';

/** What becomes of a page: Markdown with links and marks, or its words alone. */
export type PageForm = 'markdown' | 'text';

/** Never for readers. */
const HIDDEN = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'canvas',
  'head',
  'title',
  'select',
  'textarea',
]);
const BLOCKS = new Set(
  'address article aside blockquote dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section summary table ul'.split(
    ' ',
  ),
);
const MARKS: Readonly<Record<string, string>> = { b: '**', strong: '**', i: '*', em: '*', code: '`' };
/** Deeper ones stand as those around them: otherwise a small page could become an endless text. */
const MAX_INDENTS = 8;
const SAFE_LINK = /^(https?|mailto|tel):/;

type Attributes = Readonly<Record<string, string>>;

/** Writes a page down while a parser of HTML reads it: a handler for htmlparser2. */
export class PageWriter {
  readonly #flow = new TextFlow();
  readonly #baseUrl: string;
  readonly #isMarkdown: boolean;
  /** Targets of the links that are open. */
  readonly #links: string[] = [];
  readonly #indents: string[] = [];
  /** The next number of each list that is open; undefined where it has none. */
  readonly #lists: (number | undefined)[] = [];
  #hidden = 0;
  #preformatted = 0;
  #cells = 0;

  constructor(baseUrl: string, form: PageForm) {
    this.#baseUrl = baseUrl;
    this.#isMarkdown = form === 'markdown';
  }

  get length(): number {
    return this.#flow.length;
  }

  get text(): string {
    return this.#flow.text;
  }

  onopentag(name: string, attributes: Attributes): void {
    if (HIDDEN.has(name)) this.#hidden++;
    if (this.#hidden > 0) return;
    if (BLOCKS.has(name)) this.#flow.breakLine(2);
    this.#openStructure(name, attributes);
    if (this.#isMarkdown) this.#openMark(name, attributes);
    else if (name === 'img') this.#flow.fold(attributes.alt ?? '');
  }

  ontext(text: string): void {
    if (this.#hidden > 0) return;
    if (this.#preformatted > 0) this.#flow.exact(text);
    else this.#flow.fold(text);
  }

  onclosetag(name: string): void {
    const wasHidden = this.#hidden > 0;
    if (HIDDEN.has(name)) this.#hidden = Math.max(0, this.#hidden - 1);
    if (wasHidden) return;
    if (this.#isMarkdown) this.#closeMark(name);
    this.#closeStructure(name);
    if (BLOCKS.has(name)) this.#flow.breakLine(2);
  }

  #openStructure(name: string, attributes: Attributes): void {
    if (name === 'br' || name === 'tr') this.#flow.breakLine(1);
    if (name === 'tr') this.#cells = 0;
    if ((name === 'td' || name === 'th') && this.#cells++ > 0) this.#flow.fold(' | ');
    if (name === 'ul') this.#lists.push(undefined);
    if (name === 'ol') this.#lists.push(Number.parseInt(attributes.start ?? '1', 10) || 1);
    if (name === 'li') this.#openItem();
    if (name === 'blockquote') this.#indent(this.#isMarkdown ? '> ' : '');
    if (name === 'pre') this.#openPreformatted();
    if (name === 'hr' && this.#isMarkdown) this.#flow.exact('---');
  }

  #openItem(): void {
    const number = this.#lists.at(-1);
    const item = number === undefined ? '- ' : `${number}. `;
    if (number !== undefined) this.#lists[this.#lists.length - 1] = number + 1;
    this.#flow.breakLine(1);
    this.#indent(' '.repeat(item.length));
    if (this.#indents.length <= MAX_INDENTS) this.#flow.item = item;
  }

  #openPreformatted(): void {
    if (this.#preformatted++ === 0 && this.#isMarkdown) this.#flow.exact('```\n');
  }

  #closeStructure(name: string): void {
    if (name === 'ul' || name === 'ol') this.#lists.pop();
    if (name === 'li') this.#flow.item = '';
    if (name === 'li' || name === 'blockquote') this.#outdent();
    if (name === 'pre' && --this.#preformatted === 0 && this.#isMarkdown) this.#flow.exact('\n```');
    if (name === 'li') this.#flow.breakLine(1);
  }

  #openMark(name: string, { href, src, alt = '' }: Attributes): void {
    const mark = this.#markOf(name);
    if (mark !== undefined) this.#flow.open(mark);
    if (/^h[1-6]$/.test(name)) this.#flow.lead = `${'#'.repeat(Number(name[1]))} `;
    if (name === 'a') this.#openLink(this.#absolute(href));
    const picture = name === 'img' ? this.#absolute(src) : '';
    if (picture !== '') this.#flow.fold(`![${alt}](${picture})`);
  }

  #openLink(target: string): void {
    this.#links.push(target);
    if (target !== '') this.#flow.open('[');
  }

  #closeMark(name: string): void {
    const mark = this.#markOf(name);
    if (mark !== undefined) this.#flow.close(mark);
    if (/^h[1-6]$/.test(name)) this.#flow.lead = '';
    const target = name === 'a' ? (this.#links.pop() ?? '') : '';
    if (target !== '') this.#flow.close(`](${target})`);
  }

  #markOf(name: string): string | undefined {
    if (this.#preformatted > 0) return undefined;
    return Object.hasOwn(MARKS, name) ? MARKS[name] : undefined;
  }

  /** Empty for what leads nowhere, such as `javascript:`. */
  #absolute(reference: string | undefined): string {
    const url = reference === undefined ? null : URL.parse(reference, this.#baseUrl);
    if (!url || !SAFE_LINK.test(url.href)) return '';
    return url.href.replaceAll('(', '%28').replaceAll(')', '%29');
  }

  #indent(indent: string): void {
    this.#indents.push(indent);
    this.#applyIndent();
  }

  #outdent(): void {
    this.#indents.pop();
    this.#applyIndent();
  }

  #applyIndent(): void {
    this.#flow.prefix = this.#indents.slice(0, MAX_INDENTS).join('');
  }
}
