import { setImmediate as nextTurn } from 'node:timers/promises';
import { AtmoError } from '../../core/errors.ts';

interface Page {
  readonly html: string;
  /** Base URL of the page's links. */
  readonly url: string;
}

/** Receives the tags and texts of a page. */
interface PageHandler {
  onopentag(name: string, attributes: Record<string, string>): void;
  ontext(text: string): void;
  onclosetag(name: string): void;
}

interface ReadingBounds {
  readonly signal: AbortSignal;
  /** Returns true as soon as the rest of the page is not needed. */
  readonly isEnough?: () => boolean;
}

const SLICE_CHARACTERS = 16_384;
/** Maximum nesting of tags. Pages for people stay far below it. With deeper nesting, the parser needs more and more time for each tag. */
const MAX_DEPTH = 1_000;

/** Returns a page as Markdown or text. Stops reading soon after `maxCharacters`. Throws SERVICE_REFUSED if the page is nested too deep. */
export async function pageText(
  { html, url }: Page,
  form: PageFormat,
  { signal, maxCharacters }: { readonly signal: AbortSignal; readonly maxCharacters: number },
): Promise<string> {
  const writer = new PageWriter(url, form);
  await parsePage(html, writer, { signal, isEnough: () => writer.length > maxCharacters });
  return writer.text;
}

/** Parses HTML and passes tags and texts to `handler`. Works in pieces, so that other work can run in between. Rejects like `pageText`. */
export async function parsePage(html: string, handler: PageHandler, { signal, isEnough }: ReadingBounds): Promise<void> {
  const { Parser } = await import('htmlparser2');
  const parser = new Parser(boundedDepth(handler));
  for (let at = 0; at < html.length && !isEnough?.(); at += SLICE_CHARACTERS) {
    signal.throwIfAborted();
    parser.write(html.slice(at, at + SLICE_CHARACTERS));
    await nextTurn();
  }
  parser.end();
}

function boundedDepth(handler: PageHandler): PageHandler {
  let depth = 0;
  return {
    onopentag: (name, attributes) => {
      depth++;
      if (depth > MAX_DEPTH) throw new AtmoError('SERVICE_REFUSED', `The page nests more than ${MAX_DEPTH} tags; it is not for reading`);
      handler.onopentag(name, attributes);
    },
    ontext: (text) => handler.ontext(text),
    onclosetag: (name) => {
      depth--;
      handler.onclosetag(name);
    },
  };
}

/** Form of the result: Markdown with links and emphasis, or plain text. */
export type PageFormat = 'markdown' | 'text';

/** Elements whose content is not text for readers. */
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
/** Maximum number of indents. Deeper elements are indented no further, since otherwise a small page could become a huge text. */
const MAX_INDENTS = 8;
const SAFE_LINK = /^(https?|mailto|tel):/;

type Attributes = Readonly<Record<string, string>>;

/** A handler for htmlparser2 that writes the text of a page. */
class PageWriter {
  readonly #flow = new TextBuilder();
  readonly #baseUrl: string;
  readonly #isMarkdown: boolean;
  /** Targets of the links that are not closed yet. */
  readonly #links: string[] = [];
  readonly #indents: string[] = [];
  /** The next number of each open list; undefined for an unnumbered list. */
  readonly #lists: (number | undefined)[] = [];
  #hidden = 0;
  #preformatted = 0;
  #cells = 0;

  constructor(baseUrl: string, form: PageFormat) {
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
    else if (name === 'img') this.#flow.appendFolded(attributes.alt ?? '');
  }

  ontext(text: string): void {
    if (this.#hidden > 0) return;
    if (this.#preformatted > 0) this.#flow.appendVerbatim(text);
    else this.#flow.appendFolded(text);
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
    if ((name === 'td' || name === 'th') && this.#cells++ > 0) this.#flow.appendFolded(' | ');
    if (name === 'ul') this.#lists.push(undefined);
    if (name === 'ol') this.#lists.push(Number.parseInt(attributes.start ?? '1', 10) || 1);
    if (name === 'li') this.#openItem();
    if (name === 'blockquote') this.#indent(this.#isMarkdown ? '> ' : '');
    if (name === 'pre' && this.#preformatted++ === 0 && this.#isMarkdown) this.#flow.appendVerbatim('```\n');
    if (name === 'hr' && this.#isMarkdown) this.#flow.appendVerbatim('---');
  }

  #openItem(): void {
    const number = this.#lists.at(-1);
    const item = number === undefined ? '- ' : `${number}. `;
    if (number !== undefined) this.#lists[this.#lists.length - 1] = number + 1;
    this.#flow.breakLine(1);
    this.#indent(' '.repeat(item.length));
    if (this.#indents.length <= MAX_INDENTS) this.#flow.item = item;
  }

  #closeStructure(name: string): void {
    if (name === 'ul' || name === 'ol') this.#lists.pop();
    if (name === 'li') this.#flow.item = '';
    if (name === 'li' || name === 'blockquote') this.#outdent();
    if (name === 'pre' && --this.#preformatted === 0 && this.#isMarkdown) this.#flow.appendVerbatim('\n```');
    if (name === 'li') this.#flow.breakLine(1);
  }

  #openMark(name: string, { href, src, alt = '' }: Attributes): void {
    const mark = this.#markOf(name);
    if (mark !== undefined) this.#flow.openMark(mark);
    if (/^h[1-6]$/.test(name)) this.#flow.lead = `${'#'.repeat(Number(name[1]))} `;
    if (name === 'a') {
      const target = this.#absolute(href);
      this.#links.push(target);
      if (target !== '') this.#flow.openMark('[');
    }
    const picture = name === 'img' ? this.#absolute(src) : '';
    if (picture !== '') this.#flow.appendFolded(`![${alt}](${picture})`);
  }

  #closeMark(name: string): void {
    const mark = this.#markOf(name);
    if (mark !== undefined) this.#flow.closeMark(mark);
    if (/^h[1-6]$/.test(name)) this.#flow.lead = '';
    const target = name === 'a' ? (this.#links.pop() ?? '') : '';
    if (target !== '') this.#flow.closeMark(`](${target})`);
  }

  #markOf(name: string): string | undefined {
    if (this.#preformatted > 0) return undefined;
    return Object.hasOwn(MARKS, name) ? MARKS[name] : undefined;
  }

  /** Returns the absolute URL of a link or picture. If the scheme is not http, https, mailto or tel, returns an empty text. */
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

/** Builds a text from pieces. Folds white space as browsers do, and begins each block in a new line. */
class TextBuilder {
  /** Non-empty parts of the text. They are joined only at the end, since each addition to one long text would copy that text. */
  readonly #parts: string[] = [];
  /** The indexes in `#parts` of the marks that are still open. */
  readonly #marks: number[] = [];
  #length = 0;
  /** Prefix of every new line, such as `> `. */
  prefix = '';
  /** List mark of the next line, such as `- `. A mark of two characters replaces the last two characters of the line's prefix. */
  item = '';
  #lead = '';
  #breaks = 0;
  #isSpaceDue = false;
  /** True directly after an opening mark, where no space may follow. */
  #isTight = false;

  get length(): number {
    return this.#length;
  }

  get text(): string {
    return this.#parts.join('').trim();
  }

  /** Sets a text, such as `## `, that follows the next line's prefix. Ignored while a mark such as `**` is open: no line begins there. */
  set lead(lead: string) {
    if (this.#marks.length === 0) this.#lead = lead;
  }

  /** Adds text. White space becomes a single space; at the beginning of a line it is dropped. */
  appendFolded(text: string): void {
    const words = text.replaceAll(/[\s\u00a0]+/g, ' ');
    if (words.startsWith(' ')) this.#space();
    const bare = words.trim();
    if (bare === '') return;
    this.#begin();
    this.#add(bare);
    this.#isTight = false;
    this.#isSpaceDue = words.endsWith(' ');
  }

  /** Adds text without folding white space. Each new line gets the prefix. */
  appendVerbatim(text: string): void {
    this.#begin();
    this.#add(text.replaceAll(/\r?\n/g, `\n${this.prefix}`));
    this.#isTight = false;
  }

  /** Begins a new line before the next text. If `lines` is 2, also adds an empty line. Within marks, adds only a space. */
  breakLine(lines: 1 | 2): void {
    if (this.#length === 0) return;
    if (this.#marks.length > 0) this.#space();
    else this.#breaks = Math.max(this.#breaks, lines);
  }

  /** Adds an opening mark, such as `**`, without a space before the next text. */
  openMark(mark: string): void {
    this.#begin();
    this.#marks.push(this.#parts.length);
    this.#add(mark);
    this.#isTight = true;
  }

  /** Adds the closing mark, or removes the opening mark if there is no text in between. */
  closeMark(mark: string): void {
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

  /** Adds a space. If a mark was just opened, the space is inserted before the mark. */
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
      this.#add(isFirst ? '' : `\n${this.prefix.trimEnd()}`.repeat(this.#breaks - 1).concat('\n'));
      this.#add(this.prefix.slice(0, this.prefix.length - this.item.length) + this.item + this.#lead);
      this.item = '';
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
