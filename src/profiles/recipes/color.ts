import { AtmoError } from '../../core/errors.ts';

/** The meaning of a colour word: an RGB colour, or white light of a colour temperature. */
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

/** The words that `parseColor` accepts. */
export const COLOR_NAMES: readonly string[] = [...Object.keys(COLORS), ...Object.keys(WHITES)];

/** Returns the colour of a word or `#rrggbb`. Throws VALIDATION_ERROR with the list of words for any other text. */
export function parseColor(text: string): NamedColor {
  const word = text.trim().toLowerCase().replace(/[_-]+/g, ' ');
  const kelvin = Object.hasOwn(WHITES, word) ? WHITES[word] : undefined;
  if (kelvin !== undefined) return { kelvin };
  const hex = /^#([0-9a-f]{6})$/.exec((Object.hasOwn(COLORS, word) && COLORS[word]) || word)?.[1];
  if (hex !== undefined) return { rgb: rgbOf(Number.parseInt(hex, 16)) };
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The color ${JSON.stringify(text.slice(0, 40))} is not known; give #rrggbb or one of ${COLOR_NAMES.join(', ')}`,
    { allowed: COLOR_NAMES },
  );
}

function rgbOf(value: number): Rgb {
  return { r: value >> 16, g: (value >> 8) & 0xff, b: value & 0xff };
}

/** An sRGB colour; each component is 0 to 255. */
export interface Rgb {
  readonly r: number;
  readonly g: number;
  readonly b: number;
}

/** Hue 0 to 360 degrees and saturation 0 to 100 percent (HSV). */
export interface HueSaturation {
  readonly hue: number;
  readonly saturation: number;
}

/** CIE 1931 chromaticity, 0 to 1. */
export interface Chromaticity {
  readonly x: number;
  readonly y: number;
}

/** Returns the hue and saturation of a colour; grey has hue 0. */
export function rgbToHueSaturation({ r, g, b }: Rgb): HueSaturation {
  const max = Math.max(r, g, b);
  const delta = max - Math.min(r, g, b);
  if (delta === 0) return { hue: 0, saturation: 0 };
  const sector = max === r ? ((g - b) / delta) % 6 : max === g ? (b - r) / delta + 2 : (r - g) / delta + 4;
  return { hue: (sector * 60 + 360) % 360, saturation: (delta / max) * 100 };
}

/** Returns the brightest colour with the given hue and saturation. */
export function hueSaturationToRgb({ hue, saturation }: HueSaturation): Rgb {
  const channel = (offset: number): number => {
    const k = (offset + hue / 60) % 6;
    return Math.round(255 * (1 - (saturation / 100) * Math.max(0, Math.min(k, 4 - k, 1))));
  };
  return { r: channel(5), g: channel(3), b: channel(1) };
}

/** Returns the chromaticity of an sRGB colour (IEC 61966-2-1, D65). Black has no chromaticity and becomes white. */
export function rgbToChromaticity(color: Rgb): Chromaticity {
  const [r, g, b] = [linear(color.r), linear(color.g), linear(color.b)];
  const x = 0.4124 * r + 0.3576 * g + 0.1805 * b;
  const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const z = 0.0193 * r + 0.1192 * g + 0.9505 * b;
  const sum = x + y + z;
  return sum === 0 ? { x: 0.3127, y: 0.329 } : { x: x / sum, y: y / sum };
}

/** Returns the chromaticity of white light on the Planckian locus (Kim et al. 2002). Limits the temperature to 1667 to 25,000 K. */
export function kelvinToChromaticity(kelvin: number): Chromaticity {
  const t = Math.min(Math.max(kelvin, 1667), 25_000);
  const x =
    t <= 4000
      ? -0.2661239e9 / t ** 3 - 0.2343589e6 / t ** 2 + 0.8776956e3 / t + 0.17991
      : -3.0258469e9 / t ** 3 + 2.1070379e6 / t ** 2 + 0.2226347e3 / t + 0.24039;
  const y =
    t <= 2222
      ? -1.1063814 * x ** 3 - 1.3481102 * x ** 2 + 2.18555832 * x - 0.20219683
      : t <= 4000
        ? -0.9549476 * x ** 3 - 1.37418593 * x ** 2 + 2.09137015 * x - 0.16748867
        : 3.081758 * x ** 3 - 5.8733867 * x ** 2 + 3.75112997 * x - 0.37001483;
  return { x, y };
}

/** Returns the brightest sRGB colour with the given chromaticity. Chromaticities outside the sRGB gamut are clipped. */
export function chromaticityToRgb({ x, y }: Chromaticity): Rgb {
  const [bigX, bigZ] = [x / y, (1 - x - y) / y];
  const channels = [
    3.2406 * bigX - 1.5372 - 0.4986 * bigZ,
    -0.9689 * bigX + 1.8758 + 0.0415 * bigZ,
    0.0557 * bigX - 0.204 + 1.057 * bigZ,
  ].map((value) => Math.max(value, 0));
  const highest = Math.max(...channels);
  const [r = 0, g = 0, b = 0] = channels.map((value) => Math.round(255 * gamma(value / highest)));
  return { r, g, b };
}

function linear(channel: number): number {
  const value = channel / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function gamma(value: number): number {
  return value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
}
