import { terminalText } from '../../core/foreign-text.ts';
import type { Ink, Tone } from './ink.ts';
import { wrapText } from './text-width.ts';

/** Where text for people is shown. */
export interface Paper {
  /** Columns of the terminal; undefined where a program reads, which gets lines in full. */
  readonly columns: number | undefined;
  readonly ink: Ink;
}

/** Text that is laid out for the paper it is shown on, and that cannot steer a terminal. */
export interface Block {
  render(paper: Paper): string;
}

/** An answer for people: text, blocks, or both one after the other. */
export type Printable = string | Block | readonly (string | Block)[];

/** Lays out an answer. Text that is no block is made harmless here. */
export function rendered(printable: Printable, paper: Paper): string {
  if (typeof printable === 'string') return terminalText(printable);
  if ('render' in printable) return printable.render(paper);
  return printable.map((part) => rendered(part, paper)).join('');
}

/** A piece of text with a tone. */
export class Toned implements Block {
  readonly text: string;
  readonly tone: Tone;

  constructor(text: string, tone: Tone) {
    this.text = text;
    this.tone = tone;
  }

  toString(): string {
    return this.text;
  }

  render({ ink }: Paper): string {
    return ink(terminalText(this.text), this.tone);
  }
}

/** A title above what follows. */
export function heading(text: string): Block {
  return { render: ({ ink }) => `\n${ink(terminalText(text), 'strong')}\n` };
}

/** Sentences, wrapped at the width of the terminal and indented by `indent` columns. */
export function paragraph(text: string, { indent = 0, tone = 'plain' }: { readonly indent?: number; readonly tone?: Tone } = {}): Block {
  return {
    render({ columns, ink }) {
      const lines = columns === undefined ? [text] : wrapText(text, Math.max(20, columns - indent));
      return lines.map((line) => `${' '.repeat(indent)}${ink(terminalText(line), tone)}\n`).join('');
    },
  };
}
