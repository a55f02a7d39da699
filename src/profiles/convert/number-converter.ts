import type { JsonSchema } from '../../core/json.ts';
import { type ConversionContext, type Converter, numberOf, rawBounds } from './converter.ts';

interface Scale {
  readonly unit?: string;
  /** Decimals that the human value keeps; 0 makes it an integer. */
  readonly decimals: number;
  /** Limits that people know, where the type allows more: a percentage ends at 100. */
  readonly min?: number;
  readonly max?: number;
  human(raw: number): number;
  raw(human: number): number;
}

/** A converter between numbers; bounds are those human values whose raw form is within the raw bounds. */
export function numberConverter(scale: Scale): Converter {
  const round = (value: number): number => Number(value.toFixed(scale.decimals));
  return {
    ...(scale.unit !== undefined && { unit: scale.unit }),
    takes: ['integer', 'number'],
    toHuman: (raw) => round(scale.human(numberOf(raw))),
    toRaw: (human) => Math.round(scale.raw(human as number)),
    schema: (context) => ({ type: scale.decimals === 0 ? 'integer' : 'number', ...humanBounds(scale, context) }),
  };
}

/** A converter that divides, such as 2150 hundredths to 21.5. */
export function dividing(divisor: number, unit?: string): Converter {
  return numberConverter({
    ...(unit !== undefined && { unit }),
    decimals: Math.ceil(Math.log10(divisor)),
    human: (raw) => raw / divisor,
    raw: (human) => human * divisor,
  });
}

function humanBounds(scale: Scale, context: ConversionContext): JsonSchema {
  const raw = rawBounds(context);
  const ends = [scale.human(raw.min), scale.human(raw.max)].sort((a, b) => a - b);
  const [low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY] = ends;
  const minimum = inward(Math.max(low, scale.min ?? low), 1, { scale, raw });
  const maximum = inward(Math.min(high, scale.max ?? high), -1, { scale, raw });
  return { ...(isSafe(minimum) && { minimum }), ...(isSafe(maximum) && { maximum }) };
}

/** The first representable human value from `bound` on in the direction whose raw form is allowed. */
function inward(bound: number, direction: 1 | -1, limits: { scale: Scale; raw: { min: number; max: number } }): number {
  if (!Number.isFinite(bound)) return bound;
  const { scale, raw } = limits;
  const step = 10 ** -scale.decimals;
  const start = direction === 1 ? Math.ceil(bound / step - 1e-6) : Math.floor(bound / step + 1e-6);
  for (let tries = 0; tries < 3; tries++) {
    const human = Number(((start + direction * tries) * step).toFixed(scale.decimals));
    const back = Math.round(scale.raw(human));
    if (back >= raw.min && back <= raw.max) return human;
  }
  return Number(bound.toFixed(scale.decimals));
}

function isSafe(bound: number): boolean {
  return Number.isFinite(bound) && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
}
