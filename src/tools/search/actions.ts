import { lazy } from '../../core/lifecycle.ts';
import { isHomeWord, isThing, meaningsIn } from './lexicon.ts';
import {
  ACTION_PHRASES,
  PARTICLE_VERBS,
  PARTICLES,
  QUESTION_WORDS,
  RELATED_ACTIONS,
  STATES,
  STOP_WORDS,
  TITLE_PHRASES,
} from './vocabulary.ts';
import { type Word, wordsOf } from './words.ts';

export { KINDS_OF_ACTIONS, OPPOSITES } from './vocabulary.ts';

/** Maps each action, such as `on` or `off`, to its certainty from 0 to 1. */
export type Actions = ReadonlyMap<string, number>;

/** The actions that a text names. `places` has the positions of the words that name the actions. */
export interface ParsedActions {
  readonly actions: Actions;
  readonly places: ReadonlySet<number>;
}

/** First words of a polite request: `Could you lock the door?` is not a question about a state. */
const REQUESTS = 'can could would will please kannst konntest wurdest peux pourriez puedes podrias kun kan zou puoi potresti';

/** Matches a sentence that asks for an action, or how to do something: `how can I …`. It is not a question about a state. */
const ASKS_TO_ACT =
  /^\s*(?:how (?:do|can|could|would|to)\b|what (?:can|could) (?:i|you|we)\b|tell (?!me\b|us\b|whether\b|if\b)|are you able)/i;
/** Matches a question inside a sentence: `I wonder whether the door is locked`. */
const ASKS_INSIDE =
  /^\s*(?:(?:have|had|has) (?:we|i|you|they|the|any\w+|some\w+)\b|i wonder|i(?:'d| would) like to know|(?:can|could|please|would) you (?:please )?(?:tell|check|see|look) (?:me )?(?:if|whether|how|what|which)|do (?:you|we) know|any idea)\b/i;
/** Words that can come before a verb. After them, `lock` is a verb: `please lock the door`. */
const BEFORE_VERBS = new Set(['and', 'then', 'please', 'to', 'now', 'also', 'just', 'und', 'bitte']);

interface ActionPhrase {
  readonly actions: Actions;
  readonly at: readonly number[];
}

const LONGEST_PHRASE = 5;
/** Maximum number of words between a verb and its particle. */
const PARTICLE_REACH = 10;
/** Words that can follow a particle. In `lamp on in the hall`, the word `in` shows that `on` is no preposition. */
const PREDICATE_ENDS = new Set(['in', 'at', 'please', 'now', 'for', 'upstairs', 'downstairs', 'outside', 'im', 'bitte']);
/** Stems of words that mean all devices: `alles aus im Flur`. */
const EVERYTHING = new Set(['all', 'everyth']);
/** Actions that do not count if the sentence also names a more precise action. */
const VAGUE = new Set(['play', 'set']);
const SPECIFIC = new Set(['next', 'previous', 'pause', 'stop', 'mute', 'unmute', 'on', 'off', 'open', 'close', 'lock', 'unlock', 'dock']);

/** Tables by word stem. They are built by the first search, so that a hub without searches starts faster and needs less memory. */
const tables = lazy(() => ({
  phrases: readLines(ACTION_PHRASES),
  titlePhrases: readLines([...ACTION_PHRASES, ...TITLE_PHRASES]),
  particles: readLines(PARTICLES),
  particleVerbs: new Set(wordsOf(PARTICLE_VERBS).map((word) => word.stem)),
  questionWords: textsOf(QUESTION_WORDS),
  requests: textsOf(REQUESTS),
}));

/** Returns the index term for an action. */
export function actionTerm(action: string): string {
  return `!${action}`;
}

/** Index term of sensors, and of tools that read the home and change nothing. */
export const READ_TERM = actionTerm('read');
/** Index term of every tool that changes something. */
export const ACTING_TERM = actionTerm('acts');
/** Index term of every tool that belongs to one device. */
export const OF_DEVICE_TERM = actionTerm('device');
/** Index term of every tool that gets its device from the parameter `device_id`. */
export const FOR_KIND_TERM = actionTerm('kind');

/** Returns the actions in a sentence. If several words name the same action, the highest certainty counts. */
export function actionsIn(words: readonly Word[]): ParsedActions {
  const said = withoutNouns(words, phrasesIn(words, tables().phrases));
  const all = [...said, ...particlesIn(words, placesOf(said))];
  return { actions: withoutVague(strongestActions(all)), places: placesOf(all) };
}

/** Removes the actions of nouns. If no other word is a verb, `lock` at the start of a sentence (or after `please`) counts as a verb. */
function withoutNouns(words: readonly Word[], said: readonly ActionPhrase[]): readonly ActionPhrase[] {
  const isNoun = ({ at: [place = 0, ...more] }: ActionPhrase) => more.length === 0 && isThing(words[place]?.stem ?? '');
  if (!said.some(isNoun)) return said;
  const isVerbSaid = said.some((one) => !isNoun(one)) || particlesIn(words, placesOf(said)).length > 0;
  const spans = meaningsIn(words);
  const isPartOfName = (place: number) => spans.some(({ start, length }) => length > 1 && start <= place && place < start + length);
  const isVerb = ({ at: [place = 0] }: ActionPhrase) =>
    !isVerbSaid && !isPartOfName(place) && words.slice(0, place).every(({ text }) => STOP_WORDS.has(text) || BEFORE_VERBS.has(text));
  const verb = said.find((one) => isNoun(one) && isVerb(one));
  return said.filter((one) => !isNoun(one) || one === verb);
}

/** Returns the actions that a tool's title names. */
export function actionsOfTitle(words: readonly Word[]): ParsedActions {
  const said = phrasesIn(words, tables().titlePhrases);
  return { actions: strongestActions(said), places: placesOf(said) };
}

/** Returns whether a verb has no meaning without a particle. */
export function isParticleVerb(stem: string): boolean {
  return tables().particleVerbs.has(stem);
}

/** Returns the kinds of readings that show the result of the actions, such as `contact` for `open`, each with its strength. */
export function statesOf(actions: Actions): ReadonlyMap<string, number> {
  return strongest(related(actions, STATES));
}

/** Returns the actions, and further actions that would also fulfil the request. */
export function withRelatedActions(actions: Actions): Actions {
  return strongest([...actions, ...related(actions, RELATED_ACTIONS)]);
}

/** Returns the names that the table has for the actions. Each name's strength is the action's strength times the table's factor. */
function related(
  actions: Actions,
  table: Readonly<Record<string, Readonly<Record<string, number>>>>,
): readonly (readonly [string, number])[] {
  return [...actions].flatMap(([action, strength]) =>
    Object.entries(table[action] ?? {}).map(([name, share]) => [name, strength * share] as const),
  );
}

/** Returns each name with its highest strength. */
function strongest(all: Iterable<readonly [string, number]>): ReadonlyMap<string, number> {
  const best = new Map<string, number>();
  for (const [name, strength] of all) best.set(name, Math.max(best.get(name) ?? 0, strength));
  return best;
}

/** Returns whether a text asks about a state, and requests no action. */
export function isQuestion(text: string, words: readonly Word[]): boolean {
  const first = words[0]?.text ?? '';
  const { questionWords, requests } = tables();
  if (ASKS_TO_ACT.test(text)) return false;
  return questionWords.has(first) || ASKS_INSIDE.test(text) || (/[?？]\s*$/.test(text) && !requests.has(first));
}

function phrasesIn(words: readonly Word[], table: ReadonlyMap<string, Actions>): readonly ActionPhrase[] {
  const said: ActionPhrase[] = [];
  for (let start = 0; start < words.length; ) {
    const length = phraseLength(words, start, table);
    const actions = table.get(keyOf(words, start, length));
    if (actions && length > 0) said.push({ actions, at: range(start, length) });
    start += Math.max(1, length);
  }
  return said;
}

function phraseLength(words: readonly Word[], start: number, table: ReadonlyMap<string, Actions>): number {
  for (let length = Math.min(LONGEST_PHRASE, words.length - start); length > 0; length--)
    if (table.has(keyOf(words, start, length))) return length;
  return 0;
}

function particlesIn(words: readonly Word[], taken: ReadonlySet<number>): readonly ActionPhrase[] {
  const { particles, particleVerbs } = tables();
  return words.flatMap((word, place) => {
    const actions = taken.has(place) ? undefined : particles.get(word.stem);
    if (!actions) return [];
    const from = Math.max(0, place - PARTICLE_REACH);
    const verb = words.slice(from, place).findLastIndex((before) => particleVerbs.has(before.stem));
    if (verb >= 0) return [{ actions, at: [place, from + verb] }];
    return isPredicate(words, place) ? [{ actions, at: [place] }] : [];
  });
}

/** Returns whether a particle is a request without a verb: `light off`, `lamp on in the hall`. */
function isPredicate(words: readonly Word[], place: number): boolean {
  const before = words[place - 1];
  const after = words[place + 1];
  if (words[place]?.text === 'off') return true;
  const isSubject = before !== undefined && (isHomeWord(before.stem) || EVERYTHING.has(before.stem));
  return before !== undefined && (after === undefined || (isSubject && PREDICATE_ENDS.has(after.text)));
}

function strongestActions(all: readonly ActionPhrase[]): Actions {
  return strongest(all.flatMap(({ actions }) => [...actions]));
}

/** If `stop` is named, removes `start`. If a precise action is named, removes vague actions: `play` in `play the next song`. */
function withoutVague(all: Actions): Actions {
  const actions = all.has('stop') ? new Map([...all].filter(([action]) => action !== 'start')) : all;
  const isSpecific = [...actions.keys()].some((action) => SPECIFIC.has(action));
  return isSpecific ? new Map([...actions].filter(([action]) => !VAGUE.has(action))) : actions;
}

function placesOf(all: readonly ActionPhrase[]): ReadonlySet<number> {
  return new Set(all.flatMap(({ at }) => at));
}

function readLines(lines: readonly string[]): ReadonlyMap<string, Actions> {
  const table = new Map<string, Actions>();
  for (const line of lines) readLine(line, table);
  return table;
}

function readLine(line: string, into: Map<string, Actions>): void {
  const [head = '', rest = ''] = line.split(': ');
  const actions = new Map(
    head.split(' ').map((part) => {
      const [name = '', strength = '1'] = part.split('=');
      return [name, Number(strength)];
    }),
  );
  for (const phrase of rest.split(/[\s|]+/).filter(Boolean)) {
    const words = wordsOf(phrase.replaceAll('_', ' '));
    const key = keyOf(words, 0, words.length);
    into.set(key, new Map([...(into.get(key) ?? []), ...actions]));
  }
}

/** Returns the words of a list without stemming, which would turn the Spanish `dime` into `dim`. */
function textsOf(list: string): ReadonlySet<string> {
  return new Set(wordsOf(list).map((word) => word.text));
}

function keyOf(words: readonly Word[], start: number, length: number): string {
  let key = words[start]?.stem ?? '';
  for (let index = start + 1; index < start + length; index++) key += ` ${words[index]?.stem ?? ''}`;
  return key;
}

function range(start: number, length: number): readonly number[] {
  return Array.from({ length }, (_, index) => start + index);
}
