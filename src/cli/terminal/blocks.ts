import { terminalText } from '../../core/untrusted-text.ts';
import type { CliIo } from '../cli-io.ts';
import type { TextSink } from './spinner.ts';
import { wrapText } from './text-width.ts';

/** The terminal or stream for which a text is rendered. */
export interface RenderTarget {
  /** Width of the terminal in columns. Undefined if a program reads the output; then lines are never cut. */
  readonly columns: number | undefined;
  readonly ink: Colorizer;
}

/** Text that can be rendered for a target. The rendered text has no control characters except line breaks and colours. */
export interface Block {
  render(paper: RenderTarget): string;
}

/** An answer for people: a text, a block, or several of them. */
export type Printable = string | Block | readonly (string | Block)[];

/** Renders an answer. Control characters in plain text are replaced. */
export function renderText(printable: Printable, paper: RenderTarget): string {
  if (typeof printable === 'string') return terminalText(printable);
  if ('render' in printable) return printable.render(paper);
  return printable.map((part) => renderText(part, paper)).join('');
}

/** A piece of text with a tone, which a terminal shows as a colour. */
export class StyledText implements Block {
  readonly text: string;
  readonly tone: Tone;

  constructor(text: string, tone: Tone) {
    this.text = text;
    this.tone = tone;
  }

  toString(): string {
    return this.text;
  }

  render({ ink }: RenderTarget): string {
    return ink(terminalText(this.text), this.tone);
  }
}

/** Returns a title with an empty line before it. */
export function heading(text: string): Block {
  return { render: ({ ink }) => `\n${ink(terminalText(text), 'strong')}\n` };
}

/** Returns sentences that are wrapped at the width of the terminal and indented by `indent` columns. */
export function paragraph(text: string, { indent = 0, tone = 'plain' }: { readonly indent?: number; readonly tone?: Tone } = {}): Block {
  return {
    render({ columns, ink }) {
      const lines = columns === undefined ? [text] : wrapText(text, Math.max(20, columns - indent));
      return lines.map((line) => `${' '.repeat(indent)}${ink(terminalText(line), tone)}\n`).join('');
    },
  };
}

/** The tone of a text, which a terminal shows as a colour. */
export type Tone = 'plain' | 'good' | 'warning' | 'bad' | 'quiet' | 'strong';

/** Adds the colour of a tone to a text, which must have no control characters. If colours are off, returns the text unchanged. */
export type Colorizer = (text: string, tone: Tone) => string;

/** The codes that switch each tone on and off (SGR, ECMA-48 §8.3.117). */
const SGR: Readonly<Record<Exclude<Tone, 'plain'>, readonly [on: number, off: number]>> = {
  good: [32, 39],
  warning: [33, 39],
  bad: [31, 39],
  quiet: [2, 22],
  strong: [1, 22],
};

const uncolored: Colorizer = (text) => text;

const colored: Colorizer = (text, tone) =>
  tone === 'plain' || text === '' ? text : `\u001b[${SGR[tone][0]}m${text}\u001b[${SGR[tone][1]}m`;

/** Returns the colorizer for a stream. NO_COLOR (no-color.org) switches colours off; FORCE_COLOR switches them on, even in a pipe. */
export function colorizerFor(sink: TextSink, env: CliIo['env']): Colorizer {
  return wantsColours(sink, env) ? colored : uncolored;
}

function wantsColours({ isTTY = false }: TextSink, { NO_COLOR, FORCE_COLOR, TERM }: CliIo['env']): boolean {
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return isTTY && TERM !== 'dumb';
}

/** Returns a QR code, or on a narrow terminal a text with the necessary width. Imports the package `qr` only when needed. */
export async function qrBlock(text: string): Promise<Block> {
  const { default: encodeQR } = await import('qr');
  const picture = encodeQR(text, 'ascii', { border: 2, ecc: 'low' });
  const width = picture.indexOf('\n');
  const advice = `The QR code needs ${width} columns: make the terminal wider, or its letters smaller, and run this again.\n`;
  return { render: ({ columns = width }) => (columns < width ? advice : picture) };
}
