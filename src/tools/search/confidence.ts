import { OF_DEVICE_TERM } from './actions.ts';
import { type Alternative, type Need, type NeedRole, type QueryRequest, unitTerm } from './query-needs.ts';
import type { Ranked } from './ranking.ts';
import type { Field, TermIndex } from './term-index.ts';

/** Minimum confidence at which a match counts as sure. If no match reaches it, the search reports that it is unsure. */
export const CONFIDENT_FROM = 0.6;
/** Minimum confidence of a match that is listed. */
export const LISTED_FROM = 0.3;

/** Weight of a word by its role. The kind of device, the place and names matter most in a request. */
const WORTH: Readonly<Record<NeedRole, number>> = { thing: 1, place: 1, name: 1, quality: 0.6, situation: 0.6, weak: 0 };
/** Factor for a word that is found in a field; default: 1. For the description of a device's tool, the factor is DESCRIBED_DEVICE. */
const FIELD_FIT: Readonly<Partial<Record<Field, number>>> = { description: 0.6, namespace: 0.1, parameter: 0.7 };
const DESCRIBED_DEVICE = 0.1;
/** Maximum confidence of a match if the request is negated, or if the match relies only on words that may be misspelt. */
const GUESS = CONFIDENT_FROM - 0.01;
/** Factors for a match with another kind of device, another place or another action than requested. */
const OTHER_THING = 0.35;
const OTHER_PLACE = 0.5;
/** Minimum fit at which a place counts as the requested place. */
const SAME_PLACE = 0.5;
const OTHER_ACTION = 0.35;
/** Like OTHER_ACTION, but for devices instead of tools. It is higher, because a device can have actions that its kind lacks. */
const OTHER_ACTION_OF_THING = 0.7;
/** Factor for a request without an action. */
const NO_ACTION = 0.85;
/** Coverage for a request with only an action. */
const BARE_ACTION = 0.4;
/** Coverage for a request with only a situation, a state or a unit, if the document meets it. */
const TELLING = 0.75;
/** Factor for a match without a value in degrees, such as a lamp, if the request names degrees. */
const OTHER_UNIT = 0.5;
const DEGREES = unitTerm('°C');

/** A need of a request. `fit` is the degree from 0 to 1 to which a document meets it. */
interface Fit {
  readonly need: Need;
  readonly fit: number;
  readonly isNear: boolean;
}

/** The needs of a request with the degrees to which a document meets them. */
interface NeedsMet {
  readonly wish: QueryRequest;
  readonly fits: readonly Fit[];
  /** The needs of words, except words with little meaning. */
  readonly words: readonly Fit[];
  /** Returns the highest degree to which the document meets a hint of this kind; 0 without such a hint. */
  readonly hint: (of: Need['hint']) => number;
}

/**
 * Returns the probability from 0 to 1 that a request means a document. It is the share of the request's words that the document meets,
 * reduced if the document is for another device, place or action. Unlike a score, it can be compared between queries.
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

/** Returns the share of the request's words that the document meets, or a fixed value: see BARE_ACTION and TELLING. */
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

const CONFIDENCE_SHARE = 0.5;

/** Reduces the score if the confidence is low, so that a document with rare words does not rank above the intended one. */
export function weightedByConfidence(score: number, confidence: number): number {
  return Math.round(1000 * score * (1 - CONFIDENCE_SHARE + CONFIDENCE_SHARE * confidence)) / 1000;
}

/** Returns the matches with the highest score first. Matches with equal scores keep their order. */
export function sortedByScore<Match extends { readonly score: number }>(matches: readonly Match[]): readonly Match[] {
  return matches.toSorted((a, b) => b.score - a.score);
}

interface MetNeed {
  readonly need: Need;
  readonly alternative: Alternative;
  readonly field: Field;
}

/** Returns why a document matches, for people and models: `area: kitchen`, `type: lamp (light)`, `action: turn off`. */
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

/** Returns the needs that a document meets, each with the term that meets it. */
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
