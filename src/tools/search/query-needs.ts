/** One of the index terms that can meet a need. */
export interface Alternative {
  /** The index term: a word, a `~meaning`, an `!action` or a `#unit`. */
  readonly term: string;
  /** Weight of the term in the score, from 0 to 1. */
  readonly strength: number;
  /** Degree from 0 to 1 to which the term meets the need. It determines the confidence; default: `strength`. */
  readonly fit?: number;
  /** True for a similar word that was found in place of a misspelt word. */
  readonly isNear?: true;
}

/**
 * The role of a word in a request. `thing`, `place` and `quality` are the roles of the lexicon. `situation` is a word that describes a
 * situation, `weak` is a word with little meaning, and `name` is any other word.
 */
export type NeedRole = 'thing' | 'place' | 'quality' | 'name' | 'situation' | 'weak';

/** One need of a request. If a document meets it by several alternatives, the best one counts. */
export interface Need {
  /** Label for people, such as `kitchen` or `turn off`. */
  readonly label: string;
  readonly alternatives: readonly Alternative[];
  /** Weight of the need in the score. For a word, it is multiplied by the word's rarity. */
  readonly weight: number;
  /** `word`: counts more if the word is rare. `hint`: raises the score if it is met, but does not lower the score if it is not met. */
  readonly kind: 'word' | 'action' | 'hint';
  readonly role?: NeedRole;
  /** The subject of a hint. */
  readonly hint?: 'situation' | 'deed' | 'reading' | 'state' | 'value';
}

/** One request of a sentence. */
export interface QueryRequest {
  readonly text: string;
  readonly needs: readonly Need[];
  /** The actions that the text names. If the text is negated, the opposites of these actions. */
  readonly actions: ReadonlyMap<string, number>;
  /** The actions that the text names. If it names no action, these are the actions that help in the situation. */
  readonly sought: ReadonlyMap<string, number>;
  /** Actions whose tools are excluded: the opposites of requested actions, and negated actions. */
  readonly forbidden: ReadonlySet<string>;
  /** True if the request asks about a state. Tools that act do not match such a request. */
  readonly isQuestion: boolean;
  readonly isNegated: boolean;
  /** True if all devices of a kind are meant: `all the lights`. */
  readonly isForAll: boolean;
}

/** Pattern of a number. It cannot start inside a row of digits: to try each digit of a long row as a start would be slow. */
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
/** Matches an amount without digits, such as `half`. Such an amount is always a target value, never an amount to add. */
const FRACTION = /^\D+$/u;
/** Matches a target value: `to 30`, `auf 30`. A number without such a word can be part of a name. */
const TARGET = new RegExp(`\\b(?:to|at|auf|a|à|op|zu)\\s{1,4}${NUMBER}`, 'iu');
const BARE = new RegExp(`\\b(?:to|at|auf|a|à|op|zu)\\s{1,4}${NUMBER}(?!\\s{0,4}\\p{L})`, 'giu');
const VALUE_WORTH = 1.6;
const ANY_UNIT = 0.6;

/** Returns the index term of tools with a parameter in this unit. */
export function unitTerm(unit: string): string {
  if (unit.startsWith('°')) return '#°';
  return `#${unit}`;
}

/** Index term of tools with any numeric parameter. */
export const NUMBER_TERM = '#';

/** A text and the numbers that it contained. */
export interface ParsedValues {
  /** The text with its numbers removed. */
  readonly rest: string;
  readonly values: readonly Need[];
  /** True if a number is a target value. False for an amount to add, and if there is no number. */
  readonly isTarget: boolean;
}

/** Separates the numbers from a text, and returns them as needs. */
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
