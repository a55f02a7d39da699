/** One way to meet a need. */
export interface Alternative {
  /** A word, `~meaning`, `!action` or `#unit`. */
  readonly term: string;
  /** 0 to 1. */
  readonly strength: number;
  /** How well the need is met by it, 0 to 1, where that is not the strength: a meaning stands for its word nearly in full. */
  readonly fit?: number;
  /** Only nearly the word that was written. */
  readonly isNear?: true;
}

/**
 * What a word is in its sentence: a `thing`, a `place` or a `quality` of the lexicon, any other word (`name`), a part of how it is at
 * home (`situation`), or one that hardly tells anything (`weak`).
 */
export type NeedRole = 'thing' | 'place' | 'quality' | 'name' | 'situation' | 'weak';

/** One thing that a query asks for; a document meets it by the best of its alternatives. */
export interface Need {
  /** For people, such as `kitchen` or `turn off`. */
  readonly label: string;
  readonly alternatives: readonly Alternative[];
  /** What meeting it counts: a factor on the rarity for words, the worth itself for all else. */
  readonly weight: number;
  /** `word`: rare ones count more; `hint`: met or not, and never missed. */
  readonly kind: 'word' | 'action' | 'hint';
  /** Of a word. */
  readonly role?: NeedRole;
  /** Of a hint: what it says of the wish. */
  readonly hint?: 'situation' | 'deed' | 'reading' | 'state' | 'value';
}

/** One wish of a sentence. */
export interface QueryRequest {
  /** As it was said. */
  readonly text: string;
  readonly needs: readonly Need[];
  /** The actions that were said, or the opposite of those that were said not to be done. */
  readonly actions: ReadonlyMap<string, number>;
  /** The same, or what the situation asks for that the sentence tells. */
  readonly sought: ReadonlyMap<string, number>;
  /** Actions whose tools are no answer: the opposite of what was said, and what was said not to be done. */
  readonly forbidden: ReadonlySet<string>;
  /** A question about how things are: an answer reads and never acts. */
  readonly isQuestion: boolean;
  /** Something was said not to be done. */
  readonly isNegated: boolean;
  /** Several things are meant: `all the lights`. */
  readonly isForAll: boolean;
}

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
const VALUE_WORTH = 1.6;
const ANY_UNIT = 0.6;

/** The term under which a tool is kept that takes a number of this unit. */
export function unitTerm(unit: string): string {
  if (unit.startsWith('°')) return '#°';
  return `#${unit}`;
}

/** Any tool that takes a number. */
export const NUMBER_TERM = '#';

/** Numbers of a text. */
export interface ParsedValues {
  /** The text without them. */
  readonly rest: string;
  readonly values: readonly Need[];
  /** One of them is to be reached, not to be added. */
  readonly isTarget: boolean;
}

/** Numbers that a text wants something set to, as needs, and the text without them. */
export function parseValues(text: string): ParsedValues {
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
  return { kind: 'hint', hint: 'value', label, weight: VALUE_WORTH, alternatives: [{ term, strength: 1 }, ...any] };
}
