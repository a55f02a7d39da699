import { AtmoError } from '../../core/errors.ts';
import type { Rgb } from './color-space.ts';

/** What a colour word means: a colour, or white light of a temperature. */
export type NamedColor = { readonly rgb: Rgb } | { readonly kelvin: number };

const COLORS: Readonly<Record<string, string>> = {
  red: '#ff0000',
  orange: '#ffa500',
  amber: '#ffbf00',
  yellow: '#ffff00',
  lime: '#bfff00',
  green: '#00ff00',
  mint: '#98ff98',
  teal: '#008080',
  turquoise: '#40e0d0',
  cyan: '#00ffff',
  'sky blue': '#87ceeb',
  blue: '#0000ff',
  navy: '#000080',
  indigo: '#4b0082',
  violet: '#8f00ff',
  purple: '#800080',
  magenta: '#ff00ff',
  pink: '#ffc0cb',
  rose: '#ff007f',
  coral: '#ff7f50',
  salmon: '#fa8072',
  gold: '#ffd700',
  lavender: '#e6e6fa',
  brown: '#a52a2a',
};

const WHITES: Readonly<Record<string, number>> = {
  candle: 1900,
  'warm white': 2700,
  'soft white': 3000,
  white: 4000,
  'neutral white': 4000,
  'cool white': 5000,
  daylight: 6500,
};

/** The words that `parseColor` knows. */
export const COLOR_NAMES: readonly string[] = [...Object.keys(COLORS), ...Object.keys(WHITES)];

/** A colour from a word or `#rrggbb`; VALIDATION_ERROR lists the words. */
export function parseColor(text: string): NamedColor {
  const word = text.trim().toLowerCase().replace(/[_-]+/g, ' ');
  const kelvin = Object.hasOwn(WHITES, word) ? WHITES[word] : undefined;
  if (kelvin !== undefined) return { kelvin };
  const hex = /^#([0-9a-f]{6})$/.exec((Object.hasOwn(COLORS, word) && COLORS[word]) || word)?.[1];
  if (hex !== undefined) return { rgb: rgbOf(Number.parseInt(hex, 16)) };
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The color ${JSON.stringify(text.slice(0, 40))} is not known; give #rrggbb or one of ${COLOR_NAMES.join(', ')}`,
    {
      allowed: COLOR_NAMES,
    },
  );
}

function rgbOf(value: number): Rgb {
  return { r: value >> 16, g: (value >> 8) & 0xff, b: value & 0xff };
}
