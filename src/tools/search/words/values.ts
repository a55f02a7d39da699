import type { Need } from '../need.ts';

/** A number with its unit, or a word that stands for one. Bounded, and begun at its first digit alone: a long row of digits is read once. */
const NUMBER = '(?<!\\d)[-+]?\\d{1,9}(?:[.,]\\d{1,9})?';
const UNITS: readonly (readonly [unit: string, pattern: RegExp])[] = [
  [
    '%',
    new RegExp(
      `${NUMBER}\\s{0,4}(?:%|％|percent\\b|pct\\b|prozent\\b|pour ?cent\\b|por ciento\\b|procent\\b|per cento\\b)|\\b(?:half(?:way)?(?! an? | past| hour)|(?:a |one )(?:third|quarter)|zur halfte|zur hälfte|halb|a moitie|à moitié|a la mitad|a meta|a metà)\\b`,
      'giu',
    ),
  ],
  [
    '°',
    new RegExp(
      `${NUMBER}\\s{0,4}(?:°\\s{0,4}[cf]?\\b|°|degrees?(?:\\s{1,4}(?:celsius|fahrenheit|c|f))?\\b|celsius\\b|fahrenheit\\b|grad\\b|degres?\\b|degrés?\\b|grados?\\b|graden\\b|gradi\\b|[cf]\\b)`,
      'giu',
    ),
  ],
  ['K', new RegExp(`${NUMBER}\\s{0,4}(?:k|kelvin)\\b`, 'giu')],
  [
    's',
    new RegExp(
      `(?:${NUMBER}|\\b(?:an?|one|half an|eine?|une?)\\s)\\s{0,4}(?:s|secs?|seconds?|mins?|minutes?|hours?|hrs?|h|sekunden?|minuten?|stunden?|secondes?|heures?|segundos?|minutos?|horas?)\\b`,
      'giu',
    ),
  ],
];
/** A part that is to be reached: `half` is no amount to be added. */
const FRACTION = /^\D+$/u;
/** A number that is to be reached: `to 30`, `auf 30`; elsewhere it may be part of a name. */
const TARGET = new RegExp(`\\b(?:to|at|auf|a|à|op|zu)\\s{1,4}${NUMBER}`, 'iu');
const BARE = new RegExp(`\\b(?:to|at|auf|a|à|op|zu)\\s{1,4}${NUMBER}(?!\\s{0,4}\\p{L})`, 'giu');
const WORTH = 1.6;
const ANY_UNIT = 0.6;

/** The term under which a tool is kept that takes a number of this unit. */
export function unitTerm(unit: string): string {
  if (unit.startsWith('°')) return '#°';
  return `#${unit}`;
}

/** Any tool that takes a number. */
export const NUMBER_TERM = '#';

/** Numbers of a text. */
export interface SaidValues {
  /** The text without them. */
  readonly rest: string;
  readonly values: readonly Need[];
  /** One of them is to be reached, not to be added. */
  readonly isTarget: boolean;
}

/** Numbers that a text wants something set to, as needs, and the text without them. */
export function valuesIn(text: string): SaidValues {
  let rest = text;
  let isFraction = false;
  const values: Need[] = [];
  for (const [unit, pattern] of UNITS) {
    const found = rest.match(pattern);
    if (!found) continue;
    rest = rest.replace(pattern, ' ');
    isFraction ||= unit === '%' && FRACTION.test(found[0]);
    values.push(valueNeed(found[0].trim(), unitTerm(unit)));
  }
  const bare = values.length === 0 ? rest.match(BARE) : null;
  if (!bare) return { rest, values, isTarget: values.length > 0 && (isFraction || TARGET.test(text)) };
  return { rest: rest.replace(BARE, ' '), values: [valueNeed(bare[0].trim(), NUMBER_TERM)], isTarget: true };
}

function valueNeed(label: string, term: string): Need {
  const any = term === NUMBER_TERM ? [] : [{ term: NUMBER_TERM, strength: ANY_UNIT }];
  return { kind: 'hint', hint: 'value', label, weight: WORTH, alternatives: [{ term, strength: 1 }, ...any] };
}
