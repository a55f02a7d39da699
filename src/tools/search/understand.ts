import { type Actions, actionsIn, actionTerm, isParticleVerb, isQuestion, READ_TERM, withKin } from './actions.ts';
import { INTENTS, type Intent } from './intents.ts';
import type { Alternative, Need } from './need.ts';
import { compoundParts } from './words/compound.ts';
import { plainlySaid } from './words/idioms.ts';
import { concept, isHomeWord, type Meaning, meaningsIn } from './words/lexicon.ts';
import { STOP_WORDS } from './words/stop-words.ts';
import { NUMBER_TERM, valuesIn } from './words/values.ts';
import { folded, type Word, wordsOf } from './words/words.ts';

/** More than anybody needs to say what they want. */
const MAX_CHARS = 1_000;
const MAX_WORDS = 40;
const MEANING = 0.7;
/** A number alone is rather part of a name. */
const BARE_NUMBER = 0.3;
const PART = 0.8;
const ACTION_WORTH = 2.2;
const INTENT_WORTH = 1.6;
const DEED_WORTH = 0.8;
const READ_WORTH = 2;
const STATE_WORTH = 0.3;
/** What a word counts that says an action and a thing at once. */
const SAID_TWICE = 0.5;
/** How much is left of going up or down where a goal is told. */
const RELATIVE_TO_TARGET = 0.4;
/** Words that hardly tell anything, beside those that tell nothing. */
const WEAK_WORDS = new Set(['room', 'all', 'every', 'everyth', 'whol', 'hous', 'hom', 'smart', 'devic']);
const WEAK = 0.35;

/** What a sentence asks for; what is beyond its first 1,000 characters is not read. */
export function needsOf(sentence: string): readonly Need[] {
  const text = plainlySaid(sentence.slice(0, MAX_CHARS));
  const { rest, values, isTarget } = valuesIn(text);
  const words = wordsOf(rest).slice(0, MAX_WORDS);
  const said = actionsIn(words);
  const isAsking = isQuestion(text, words);
  const plain = folded(text.toLowerCase().replace(/['’]/g, ''));
  const intents = INTENTS.filter(({ pattern }) => pattern.test(plain));
  const actions = isTarget ? reaching(said.actions) : said.actions;
  return [
    ...wordNeeds(words, said.places),
    ...(isAsking ? askingNeeds(actions) : actionNeeds(actions, words, said.places)),
    ...intents.flatMap((intent) => intentNeeds(intent, actions.size > 0)),
    ...values,
  ];
}

function wordNeeds(words: readonly Word[], taken: ReadonlySet<number>): readonly Need[] {
  const meanings = meaningsByPlace(words);
  // `lock the door`, `make it brighter`: words of actions that are things or qualities too count as both.
  const isFree = (word: Word, place: number) => !taken.has(place) || (isHomeWord(word.stem) && !isParticleVerb(word.stem));
  const open = words.map((word, place) => ({ word, place })).filter(({ word, place }) => isFree(word, place));
  const telling = open.filter(({ word }) => !STOP_WORDS.has(word.text));
  // A name may consist of nothing but such words.
  const chosen = telling.length > 0 || taken.size > 0 ? telling : open;
  return merged(
    chosen.map(({ word, place }) => {
      const need = wordNeed(word, meanings.get(place) ?? []);
      return taken.has(place) ? { ...need, weight: need.weight * SAID_TWICE } : need;
    }),
  );
}

function wordNeed(word: Word, meanings: readonly Meaning[]): Need {
  const parts = compoundParts(word);
  const partMeanings = meaningsIn(parts).flatMap((span) => span.meanings);
  return {
    kind: 'word',
    label: word.text,
    weight: WEAK_WORDS.has(word.stem) ? WEAK : 1,
    alternatives: [
      { term: word.stem, strength: 1 },
      ...(word.variant === undefined ? [] : [{ term: word.variant, strength: 1 }]),
      ...meanings.map(({ concept: term, strength }) => ({ term, strength: strength * MEANING })),
      ...parts.map((part) => ({ term: part.stem, strength: PART })),
      ...(/^\d+$/.test(word.text) ? [{ term: NUMBER_TERM, strength: BARE_NUMBER }] : []),
      ...partMeanings.map(({ concept: term, strength }) => ({ term, strength: strength * PART * MEANING })),
    ],
  };
}

function meaningsByPlace(words: readonly Word[]): ReadonlyMap<number, readonly Meaning[]> {
  const byPlace = new Map<number, readonly Meaning[]>();
  for (const { start, length, meanings } of meaningsIn(words)) {
    for (let place = start; place < start + length; place++) byPlace.set(place, meanings);
  }
  return byPlace;
}

function actionNeeds(actions: ReadonlyMap<string, number>, words: readonly Word[], places: ReadonlySet<number>): readonly Need[] {
  if (actions.size === 0) return [];
  const label = [...places].sort((a, b) => a - b).map((place) => words[place]?.text ?? '');
  const alternatives = [...withKin(actions)].map(([action, strength]) => ({ term: actionTerm(action), strength }));
  return [{ kind: 'action', label: label.join(' '), weight: ACTION_WORTH, alternatives }];
}

/** `turn it up to 80 %` is set rather than raised. */
function reaching(actions: Actions): Actions {
  const relative = ['raise', 'lower'].flatMap((action) => {
    const strength = actions.get(action);
    return strength === undefined ? [] : [[action, strength * RELATIVE_TO_TARGET] as const];
  });
  return relative.length > 0 || actions.size === 0 ? new Map([...actions, ['set', 1], ...relative]) : actions;
}

/** What helps, and what it should do where the sentence does not say so itself. */
function intentNeeds({ label, concepts, actions }: Intent, hasAction: boolean): readonly Need[] {
  const things = concepts.map((name, index): Alternative => ({ term: concept(name), strength: 1 - index * 0.12 }));
  const deeds = actions.map((action, index): Alternative => ({ term: actionTerm(action), strength: 1 - index * 0.12 }));
  const thing: Need = { kind: 'hint', label, weight: INTENT_WORTH, alternatives: things };
  return hasAction ? [thing] : [thing, { kind: 'hint', label, weight: DEED_WORTH, alternatives: deeds }];
}

/** `is the door locked` asks for what can be read; the action tells a state. */
function askingNeeds(actions: Actions): readonly Need[] {
  const reading: Need = { kind: 'hint', label: 'question', weight: READ_WORTH, alternatives: [{ term: READ_TERM, strength: 1 }] };
  const kinds = [...actions].map(([action, strength]) => ({ term: actionTerm(action), strength }));
  return kinds.length === 0 ? [reading] : [reading, { kind: 'hint', label: 'question', weight: STATE_WORTH, alternatives: kinds }];
}

/** A word that is said twice is asked for once. */
function merged(needs: readonly Need[]): readonly Need[] {
  return [...new Map(needs.map((need) => [need.alternatives[0]?.term, need])).values()];
}
