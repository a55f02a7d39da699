import { OF_DEVICE_TERM } from './actions.ts';
import { type Alternative, type Need, type NeedRole, type QueryRequest, unitTerm } from './query-needs.ts';
import type { Ranked } from './ranking.ts';
import type { Field, TermIndex } from './term-index.ts';

/** An answer below this confidence is a guess: where none reaches it, the search says that it is unsure. */
export const CONFIDENT_FROM = 0.6;
/** What is below this confidence is no answer at all. */
export const LISTED_FROM = 0.3;

/** What each kind of word asks for, beside the others: a thing and a place are nearly all of a wish. */
const WORTH: Readonly<Record<NeedRole, number>> = { thing: 1, place: 1, name: 1, quality: 0.6, situation: 0.6, weak: 0 };
/** A word in a description is rather mentioned than meant, above all where there is a device that has a name. */
const FIELD_FIT: Readonly<Partial<Record<Field, number>>> = { description: 0.6, namespace: 0.1, parameter: 0.7 };
const DESCRIBED_DEVICE = 0.1;
/** The most that is sure of a word that was written wrong, and of what was said not to be done. */
const GUESS = CONFIDENT_FROM - 0.01;
/** What is left where the thing that a wish is about is not there, where the place is not, and where a tool does something else. */
const OTHER_THING = 0.35;
const OTHER_PLACE = 0.5;
/** A place that is met by less is another one. */
const SAME_PLACE = 0.5;
const OTHER_ACTION = 0.35;
/** A thing may well know more than its kind tells. */
const OTHER_ACTION_OF_THING = 0.7;
/** What the name of a thing alone is worth, and an action alone that many things know, and one that few know. */
const NO_ACTION = 0.85;
const BARE_ACTION = 0.4;
const TELLING = 0.75;
/** What is left where a number has a unit that a tool does not take: a lamp has no degrees. */
const OTHER_UNIT = 0.5;
const DEGREES = unitTerm('°C');

/** A need as one document meets it, 0 to 1. */
interface Fit {
  readonly need: Need;
  readonly fit: number;
  readonly isNear: boolean;
}

/** How a document meets a wish, need by need. */
interface NeedsMet {
  readonly wish: QueryRequest;
  readonly fits: readonly Fit[];
  /** Of the words that tell something. */
  readonly words: readonly Fit[];
  /** How well a hint of this kind is met. */
  readonly hint: (of: Need['hint']) => number;
}

/**
 * How sure it is that a document is what a wish means, 0 to 1: the share of its words that the document meets, less where the thing,
 * the place or the action is another one. Comparable between queries, unlike a score.
 */
export function confidenceOf<Item extends object>(
  index: TermIndex<Item>,
  one: Ranked,
  { wish, needs, isThing = false }: { readonly wish: QueryRequest; readonly needs: readonly Need[]; readonly isThing?: boolean },
): number {
  const fits = needs.map((need, place) => fitOf(index, need, { document: one.document, metBy: one.metBy[place] ?? -1 }));
  const hint = (of: Need['hint']) => Math.max(0, ...fits.filter(({ need }) => need.hint === of).map(({ fit }) => fit));
  const words = fits
    .filter(({ need }) => need.kind === 'word' && need.role !== 'weak')
    .map((word) => (word.need.role === 'situation' ? { ...word, fit: Math.max(word.fit, hint('situation')) } : word));
  const meeting = { wish, fits, words, hint };
  const sure =
    coverage(meeting) *
    actionFactor(meeting, isThing ? OTHER_ACTION_OF_THING : OTHER_ACTION) *
    missingFactor(meeting) *
    unitFactor(meeting);
  const isGuess = words.length > 0 && words.every(({ fit, isNear }) => fit === 0 || isNear) && hint('situation') === 0;
  return Math.round(100 * (isGuess || wish.isNegated ? Math.min(sure, GUESS) : sure)) / 100;
}

function fitOf<Item extends object>(
  index: TermIndex<Item>,
  need: Need,
  { document, metBy }: { readonly document: number; readonly metBy: number },
): Fit {
  const alternative = need.alternatives[metBy];
  const posting = alternative && index.posting(alternative.term, document);
  if (!posting) return { need, fit: 0, isNear: false };
  const { fit = alternative.strength, isNear = false } = alternative;
  if (need.hint === 'situation' && (posting.field === 'area' || posting.field === 'floor')) return { need, fit: 0, isNear };
  const isOfDevice = posting.field === 'description' && index.posting(OF_DEVICE_TERM, document) !== undefined;
  const fieldFit = isOfDevice ? DESCRIBED_DEVICE : (FIELD_FIT[posting.field] ?? 1);
  const whole = need.kind === 'action' ? Math.min(1, fit * posting.weight) : fit * fieldFit;
  return { need, fit: whole, isNear };
}

/** The share of a wish's words that is met; where there is none, what its action or situation says by itself. */
function coverage({ words, wish: { isQuestion }, hint, fits }: NeedsMet): number {
  const asked = words.reduce((sum, { need }) => sum + needWeight(need), 0);
  if (asked > 0) return words.reduce((sum, { need, fit }) => sum + needWeight(need) * fit, 0) / asked;
  const isOfUnit = fits.some(({ need, fit }) => isDegrees(need) && fit === 1);
  return Math.max(BARE_ACTION, TELLING * hint('situation'), isQuestion ? TELLING * hint('state') : 0, isOfUnit ? TELLING : 0);
}

function needWeight({ role = 'name' }: Need): number {
  return WORTH[role];
}

function actionFactor({ fits, wish: { actions, isQuestion }, hint }: NeedsMet, other: number): number {
  if (isQuestion) return hint('reading') > 0 ? 1 : other;
  const action = fits.find(({ need }) => need.kind === 'action');
  if (action) return other + (1 - other) * action.fit;
  return actions.size > 0 || hint('situation') > 0 ? 1 : NO_ACTION;
}

function missingFactor({ words, fits }: NeedsMet): number {
  const situation = words.some(({ need, fit }) => need.role === 'situation' && fit > 0)
    ? undefined
    : fits.find(({ need }) => need.hint === 'situation');
  const head = words.findLast(({ need }) => need.role === 'thing') ?? situation;
  const isElsewhere = words.some(({ need, fit }) => need.role === 'place' && fit < SAME_PLACE);
  return (head?.fit === 0 ? OTHER_THING : 1) * (isElsewhere ? OTHER_PLACE : 1);
}

function unitFactor({ fits }: NeedsMet): number {
  return fits.some(({ need, fit }) => isDegrees(need) && fit < 1) ? OTHER_UNIT : 1;
}

function isDegrees({ hint, alternatives: [first] }: Need): boolean {
  return hint === 'value' && first?.term === DEGREES;
}

/** How much of a score rests on how sure it is. */
const CONFIDENCE_SHARE = 0.5;

/** A score that what is surely meant does not lose to what merely shares rare words with a sentence. */
export function weightedByConfidence(score: number, confidence: number): number {
  return Math.round(1000 * score * (1 - CONFIDENCE_SHARE + CONFIDENCE_SHARE * confidence)) / 1000;
}

/** Best first; what is as good stays in its order. */
export function sortedByScore<Match extends { readonly score: number }>(matches: readonly Match[]): readonly Match[] {
  return matches.toSorted((a, b) => b.score - a.score);
}

/** A need that was met, by what, and where it stands. */
interface MetNeed {
  readonly need: Need;
  readonly alternative: Alternative;
  readonly field: Field;
}

/** Why something was found, for people and models: `area: kitchen`, `type: lamp (light)`, `action: turn off`. */
export function reasonsOf(met: readonly MetNeed[]): readonly string[] {
  return [...new Set(met.map(reason))];
}

function reason({ need, alternative, field }: MetNeed): string {
  const { term } = alternative;
  const mark = term.slice(0, 1);
  if (mark === '!') return `action: ${need.label}${alternative.strength < 1 && need.kind === 'action' ? ` (${term.slice(1)})` : ''}`;
  if (mark === '#') return `value: ${need.label}`;
  if (mark === '~') return `${field}: ${need.label} (${term.slice(1).replaceAll('_', ' ')})`;
  return `${field}: ${need.label}${need.alternatives.indexOf(alternative) > 0 ? ` (${term})` : ''}`;
}

/** The needs that a document meets, with what meets them. */
export function metNeeds<Item extends object>(
  index: TermIndex<Item>,
  { document, metBy }: Ranked,
  needs: readonly Need[],
): readonly MetNeed[] {
  return needs.flatMap((need, place) => {
    const alternative = need.alternatives[metBy[place] ?? -1];
    const posting = alternative && index.posting(alternative.term, document);
    return alternative && posting ? [{ need, alternative, field: posting.field }] : [];
  });
}
