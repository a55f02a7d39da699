import { terminalText } from '../../core/untrusted-text.ts';
import { type Block, type Colorizer, type RenderTarget, StyledText } from './blocks.ts';
import { cutText, padText, textWidth, wrapText } from './text-width.ts';

const PLAIN: RenderTarget = { columns: undefined, ink: (text) => text };
const GAP = 2;
/** Minimum width of a column. If a terminal is still too narrow, its lines wrap. */
const LEAST_COLUMNS = 6;
const LEAST_WRAP = 20;

/** A block whose `toString` returns the plain form, which has no colours and is never cut. */
interface PlainBlock extends Block {
  toString(): string;
}

/** Returns rows under headings in aligned columns, or `(none)`. On a terminal the widest columns are cut until the lines fit. */
export function textTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): PlainBlock {
  return plainBlock((paper) => (rows.length === 0 ? '(none)\n' : tableText(headings, rows, paper)));
}

/** Returns names and values, one pair per line. Omits pairs with an empty value. On a terminal long values wrap. */
export function textPairs(pairs: Readonly<Record<string, unknown>>): PlainBlock {
  return plainBlock((paper) => pairsText(pairs, paper));
}

function plainBlock(render: Block['render']): PlainBlock {
  return { render, toString: () => render(PLAIN) };
}

/** Returns the text of a table. On a terminal it has no empty columns. */
function tableText(allHeadings: readonly string[], rows: readonly (readonly unknown[])[], { columns, ink }: RenderTarget): string {
  const allCells = rows.map((row) => row.map(cellOf));
  const isShown = (_column: unknown, index: number) => columns === undefined || allCells.some((row) => (row[index]?.text ?? '') !== '');
  const [headings, cells] = [allHeadings.filter(isShown), allCells.map((row) => row.filter(isShown))];
  const natural = headings.map((heading, column) =>
    Math.max(textWidth(heading), ...cells.map((row) => textWidth(row[column]?.text ?? ''))),
  );
  const widths = columns === undefined ? natural : narrowed(natural, columns);
  const line = (row: readonly Cell[]) => row.map((cell, column) => cellIn(cell, widths[column] ?? 0, ink));
  const lines = [line(headings.map((text) => ({ text, tone: 'quiet' }))), ...cells.map(line)];
  return lines.map((shown) => `${joined(shown)}\n`).join('');
}

interface Cell {
  readonly text: string;
  readonly tone: StyledText['tone'];
}

function cellOf(value: unknown): Cell {
  return { text: cellText(value instanceof StyledText ? value.text : value), tone: value instanceof StyledText ? value.tone : 'plain' };
}

/** Cuts the text of a cell to the column's width. Also returns the spaces that fill the rest of the column. */
function cellIn({ text, tone }: Cell, width: number, ink: Colorizer): readonly [text: string, padding: string] {
  const cut = cutText(text, width);
  return [ink(cut, tone), padText('', width - textWidth(cut))];
}

function joined(cells: readonly (readonly [text: string, padding: string])[]): string {
  const last = cells.findLastIndex(([text]) => text !== '');
  return cells
    .slice(0, last + 1)
    .map(([text, padding], index) => (index === last ? text : text + padding))
    .join(' '.repeat(GAP));
}

/** Returns column widths that fit the terminal. The widest columns shrink first. The first column shrinks last, because people copy it. */
function narrowed(natural: readonly number[], columns: number): readonly number[] {
  const space = columns - GAP * (natural.length - 1);
  const [first = 0, ...others] = natural;
  const capped = cappedTo(others, space - first);
  return total(capped) + first <= space ? [first, ...capped] : [Math.max(LEAST_COLUMNS, Math.min(first, space - total(capped))), ...capped];
}

/** Limits all widths to the largest maximum at which their sum fits into `space`. The maximum is never below LEAST_COLUMNS. */
function cappedTo(widths: readonly number[], space: number): readonly number[] {
  if (total(widths) <= space) return widths;
  let bound = Math.max(...widths);
  const under = () => widths.map((width) => Math.min(width, bound));
  while (bound > LEAST_COLUMNS && total(under()) > space) bound--;
  return under();
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0);
}

function pairsText(pairs: Readonly<Record<string, unknown>>, { columns, ink }: RenderTarget): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => textWidth(name)));
  const indent = ' '.repeat(width + GAP);
  return shown
    .map(([name, value]) => {
      const { text, tone } = cellOf(value);
      const lines = columns === undefined ? [text] : wrapText(text, Math.max(LEAST_WRAP, columns - width - GAP));
      const [head = '', ...more] = lines.map((line) => ink(line, tone));
      return [`${ink(padText(terminalText(name), width), 'quiet')}  ${head}\n`, ...more.map((line) => `${indent}${line}\n`)].join('');
    })
    .join('');
}

/** Returns a value as one line of text. Control characters from devices and tools are replaced. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return terminalText(plainText(value).replace(/\p{Cc}+/gu, ' '));
}

function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof StyledText) return value.text;
  const isListOfTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isListOfTexts ? value.join(', ') : JSON.stringify(value);
}

/** Returns an age for people: `12 s`, `5 min`, `3 h`, `2 d`, or `unknown`. */
export function ageText(ageMs: unknown): string {
  if (typeof ageMs !== 'number') return 'unknown';
  const seconds = Math.round(ageMs / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
