import {
  type Actions,
  actionsIn,
  actionTerm,
  isParticleVerb,
  isQuestion,
  KINDS_OF_ACTIONS,
  OPPOSITES,
  READ_TERM,
  statesOf,
  withRelatedActions,
} from './actions.ts';
import { compoundParts, concept, isHomeWord, isThing, type Meaning, meaningsIn, neighbourOf, type Role } from './lexicon.ts';
import { expandIdioms, INTENTS, type Intent } from './phrases.ts';
import { type Alternative, type Need, type NeedRole, NUMBER_TERM, parseValues, type QueryRequest } from './query-needs.ts';
import { STOP_WORDS } from './vocabulary.ts';
import { type Word, withoutMarks, wordsOf } from './words.ts';

/** Maximum length of a sentence in characters. The rest is ignored. */
const MAX_CHARS = 1_000;
const MAX_WORDS = 40;
const MAX_REQUESTS = 3;
/** Strength of the second-best action for a situation. */
const SECOND_ACTION = 0.8;
const MEANING = 0.7;
/** Degree to which another word with the same meaning meets a need: a bulb is a light. */
const MEANT = 0.95;
/** Degree to which a thing with almost the same meaning meets a need: a thermostat is almost a heating. */
const NEIGHBOUR_FIT = 0.65;
const NEXT_ROOM_FIT = 0.3;
/** Factor for the strength of a word with almost the same meaning. */
const NEXT_TO = 0.5;
/** Factor for the strength of a related kind of device: a radio is nearly a player. */
const NEARLY = 0.9;
/** Strength of a number without a unit as a parameter value. It is low, because the number is probably part of a name. */
const BARE_NUMBER = 0.3;
const ACTION_WORTH = 2.2;
const INTENT_WORTH = 1.6;
const IMPLIED_ACTION_WORTH = 0.8;
const READ_WORTH = 2;
const STATE_WORTH = 1.6;
/** Factor for the weight of a word that is both an action and a noun, such as `lock`. */
const SAID_TWICE = 0.5;
/** Factor for the actions `raise` and `lower` if the sentence has a target value. */
const RELATIVE_TO_TARGET = 0.4;
/** Stems of words with little meaning, in addition to the stop words. */
export const WEAK_WORDS: ReadonlySet<string> = new Set([
  'room',
  'all',
  'every',
  'everyth',
  'anyth',
  'someth',
  'read',
  'show',
  'check',
  'tell',
  'statu',
  'whol',
  'hous',
  'hom',
  'smart',
  'devic',
  'system',
  'both',
]);
const WEAK = 0.35;
const FOR_ALL = /\b(?:all|every(?:thing|where)?|each|both|alle[sn]?|ueberall|tous|toutes|tout|todos?|todas?|tutt[eio]|alles)\b/;
/** Matches commas and conjunctions that can separate two requests. */
const JOINTS =
  /(?:\s*[,;]\s*(?:and |then |und |dann |et |y |en |e )?|\s+(?:and then|and also|and|then|und dann|und|dann|et|puis|y|en|e|poi)\s+)/giu;

/** Returns the requests in a sentence, usually one. Only the first 1,000 characters are read. */
export function parseQuery(sentence: string): readonly QueryRequest[] {
  return partsOf(withoutReasons(expandIdioms(sentence.slice(0, MAX_CHARS)))).map(parseRequest);
}

/** Matches a clause with a verb such as `is` or `has`. Such a clause is often a mere reason for the request. */
const STATES_A_FACT =
  /\b(?:is|are|am|was|were|has|have|had|can|can['’]?t|cannot|could|want|wants|need|needs|ist|sind|hat|haben|kann|will)\b|['’](?:s|re|m)\b/iu;
const CLAUSES = /\s*[,;.!]\s+(?:so\s+)?|\s+(?:because|weil|denn)\s+/iu;

/** Returns the text without clauses that only give a reason: `pause the robot, the baby is sleeping` becomes `pause the robot`. */
function withoutReasons(text: string): string {
  const clauses = text.split(CLAUSES);
  if (clauses.length < 2) return text;
  const wishes = clauses.filter((clause) => !isReason(clause));
  return wishes.some(isRequest) && wishes.length < clauses.length ? wishes.join(', ') : text;
}

function isReason(clause: string): boolean {
  if (!STATES_A_FACT.test(clause) || intentsIn(clause).length > 0) return false;
  const words = wordsOf(clause);
  return actionsIn(words).actions.size === 0 && !isQuestion(clause, words) && !words.some(({ stem }) => isHomeWord(stem));
}

/** Returns the requests in a text: `dim the lights and close the blinds` has two, `the kitchen and hall lights` has one. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let rest = 0;
  for (const { index, 0: joint } of text.matchAll(JOINTS)) {
    const [before, after] = [text.slice(rest, index), text.slice(index + joint.length)];
    if (parts.length + 1 >= MAX_REQUESTS || !isRequest(before) || !isRequest(after)) continue;
    parts.push(before);
    rest = index + joint.length;
  }
  return [...parts, text.slice(rest)];
}

/** Returns whether a part of a sentence could be a complete request or statement by itself. */
function isRequest(text: string): boolean {
  if (intentsIn(text).length > 0) return true;
  const words = wordsOf(text).slice(0, MAX_WORDS);
  const { actions, places } = actionsIn(words);
  return actions.size > 0 && words.some(({ text: word }, place) => !places.has(place) && !STOP_WORDS.has(word));
}

function parseRequest(text: string): QueryRequest {
  const { rest, values, isTarget } = parseValues(text);
  const words = wordsOf(rest).slice(0, MAX_WORDS);
  const said = actionsIn(words);
  const asks = isQuestion(text, words);
  const isNegated = !asks && hasNegation(text);
  const intents = intentsIn(text).filter(({ label, actions }) => !asks || actions.includes('read') || label.startsWith('too '));
  const meant = isTarget ? reaching(said.actions) : said.actions;
  const unwanted = isNegated ? [...meant.keys(), ...(meant.size > 0 ? [] : intents.flatMap(({ actions }) => actions))] : [];
  const actions = isNegated ? oppositesOf(unwanted) : meant;
  const wordsAsked =
    values.length > 0 && words.every(({ text: word }) => STOP_WORDS.has(word)) ? [] : wordNeeds(words, said.places, intents);
  // A statement without an action, such as `it is dark`, requests the actions that help in this situation.
  const sought = actions.size > 0 || asks ? actions : actionsOfIntents(intents);
  const isBare = intents.length === 0 && wordsAsked.every(({ role }) => role === 'weak');
  return {
    text: text.trim(),
    needs: [
      ...wordsAsked,
      ...(isBare ? impliedNeeds(actions) : []),
      ...(asks ? questionNeeds(actions) : actionNeeds(actions, words, said.places)),
      ...intents.flatMap((intent) => intentNeeds(intent, actions.size > 0)),
      ...values,
    ],
    actions,
    sought,
    forbidden: new Set([...unwanted, ...[...oppositesOf(certainActions(sought)).keys()].filter((action) => !sought.has(action))]),
    isQuestion: asks,
    isNegated,
    isForAll: FOR_ALL.test(text.toLowerCase()),
  };
}

function actionsOfIntents(intents: readonly Intent[]): Actions {
  return new Map(intents.flatMap(({ actions }) => actions.map((action, index) => [action, index === 0 ? 1 : SECOND_ACTION] as const)));
}

function certainActions(actions: Actions): readonly string[] {
  return [...actions].filter(([, strength]) => strength >= 0.9).map(([action]) => action);
}

function oppositesOf(actions: readonly string[]): Actions {
  return new Map(actions.flatMap((action) => (OPPOSITES[action] ?? []).map((opposite) => [opposite, 1] as const)));
}

interface FoundIntent extends Intent {
  readonly words: ReadonlySet<string>;
}

function intentsIn(text: string): readonly FoundIntent[] {
  const plain = withoutMarks(text.toLowerCase().replace(/['’]/g, ''));
  return INTENTS.flatMap((intent) => {
    const found = intent.pattern.exec(plain)?.[0];
    return found === undefined ? [] : [{ ...intent, words: new Set(wordsOf(found).map(({ text: word }) => word)) }];
  });
}

function wordNeeds(words: readonly Word[], taken: ReadonlySet<number>, intents: readonly FoundIntent[]): readonly Need[] {
  const meanings = meaningsByPlace(words);
  // The word of an action can also be a noun or quality: `lock` in `lock the door`, `brighter` in `make it brighter`.
  const isFree = (word: Word, place: number) => !taken.has(place) || (isHomeWord(word.stem) && !isParticleVerb(word.stem));
  const open = words.map((word, place) => ({ word, place })).filter(({ word, place }) => isFree(word, place));
  const telling = open.filter(({ word }) => !STOP_WORDS.has(word.text));
  // Stop words count only if the request has nothing else, since a name can consist of them.
  const chosen = telling.length > 0 || taken.size > 0 || intents.length > 0 ? telling : open;
  return merged(
    chosen.flatMap(({ word, place }) => {
      const isSituation = intents.some((intent) => intent.words.has(word.text));
      const isAmount = /^\d+$/.test(word.text) && (meanings.get(place - 1) ?? []).some(({ role }) => role === 'quality');
      return partNeeds(word, meanings.get(place) ?? []).map((need) => {
        if (isAmount) return { ...need, role: 'weak' } as const;
        if (taken.has(place))
          return { ...need, weight: need.weight * SAID_TWICE, role: isThing(word.stem) ? 'thing' : (need.role ?? 'weak') } as const;
        return isSituation && need.role !== 'place' ? ({ ...need, role: 'situation' } as const) : need;
      });
    }),
  );
}

/** Returns one need for a plain word, or one for each part of a compound. A document with the whole compound meets all of them. */
function partNeeds(word: Word, meanings: readonly Meaning[]): readonly Need[] {
  const parts = compoundParts(word);
  if (parts.length === 0) return [wordNeed(word, meanings)];
  const whole: Alternative = { term: word.stem, strength: 1 };
  return parts.map((part) => {
    const need = wordNeed(
      part,
      meaningsIn([part]).flatMap((span) => span.meanings),
    );
    return { ...need, alternatives: [...need.alternatives, whole] };
  });
}

function wordNeed(word: Word, meanings: readonly Meaning[]): Need {
  return {
    kind: 'word',
    label: word.text,
    weight: WEAK_WORDS.has(word.stem) ? WEAK : 1,
    role: roleOf(word, meanings),
    alternatives: [
      { term: word.stem, strength: 1 },
      ...(word.variant === undefined ? [] : [{ term: word.variant, strength: 1 }]),
      ...meanings.map(({ concept: term, strength, role }) => ({ term, strength: strength * MEANING, fit: fitOf(strength, role) })),
      ...meanings
        .filter(({ strength }) => strength === 1)
        .map(({ concept: term }) => ({ term: neighbourOf(term), strength: NEXT_TO * MEANING })),
      ...(/^\d+$/.test(word.text) ? [{ term: NUMBER_TERM, strength: BARE_NUMBER }] : []),
    ],
  };
}

/** Returns the `fit` of a meaning. If `strength` is below 1, the meaning is only related and fits less, and least if `role` is `place`. */
function fitOf(strength: number, role: Role): number {
  if (strength === 1) return MEANT;
  return role === 'place' ? NEXT_ROOM_FIT : NEIGHBOUR_FIT;
}

/** Returns the role of a word. If it can mean both a device and a room, such as `laundry`, its role is `thing`. */
function roleOf(word: Word, meanings: readonly Meaning[]): NeedRole {
  if (WEAK_WORDS.has(word.stem)) return 'weak';
  const roles = meanings.filter(({ strength }) => strength === 1).map(({ role }) => role);
  return (['thing', 'place', 'quality'] as const).find((role) => roles.includes(role)) ?? 'name';
}

/** Returns the meanings by word position. In a phrase such as `garage door`, only the last word has the related meanings (here: door). */
function meaningsByPlace(words: readonly Word[]): ReadonlyMap<number, readonly Meaning[]> {
  const byPlace = new Map<number, readonly Meaning[]>();
  for (const { start, length, meanings } of meaningsIn(words)) {
    const last = start + length - 1;
    for (let place = start; place < last; place++)
      byPlace.set(
        place,
        meanings.filter(({ strength }) => strength === 1),
      );
    byPlace.set(last, meanings);
  }
  return byPlace;
}

function actionNeeds(actions: Actions, words: readonly Word[], places: ReadonlySet<number>): readonly Need[] {
  if (actions.size === 0) return [];
  const said = [...places].sort((a, b) => a - b).map((place) => words[place]?.text ?? '');
  const label = said.length > 0 ? said : ['the opposite'];
  const alternatives = [...withRelatedActions(actions)].map(([action, strength]) => ({ term: actionTerm(action), strength }));
  return [{ kind: 'action', label: label.join(' '), weight: ACTION_WORTH, alternatives }];
}

/** For a request with a target value, adds the action `set` and weakens `raise` and `lower`: `turn it up to 80 %`. */
function reaching(actions: Actions): Actions {
  const relative = ['raise', 'lower'].flatMap((action) => {
    const strength = actions.get(action);
    return strength === undefined ? [] : [[action, strength * RELATIVE_TO_TARGET] as const];
  });
  const isSet = relative.length > 0 || actions.size === 0 || actions.has('open') || actions.has('close');
  return isSet ? new Map([...actions, ['set', 1], ...relative]) : actions;
}

/** Returns a need for the devices that help in a situation. If no action is named, adds a need for the actions that help. */
function intentNeeds({ label, concepts, actions }: Intent, hasAction: boolean): readonly Need[] {
  const things = concepts.flatMap((name, index) => kindOf(name, 1 - index * 0.12));
  const deeds = actions.map((action, index): Alternative => ({ term: actionTerm(action), strength: 1 - index * 0.12 }));
  const thing: Need = { kind: 'hint', hint: 'situation', label, weight: INTENT_WORTH, alternatives: things };
  return hasAction ? [thing] : [thing, { kind: 'hint', hint: 'deed', label, weight: IMPLIED_ACTION_WORTH, alternatives: deeds }];
}

/** Returns a need for the kind of device that the actions imply, if the request has no object: `next` implies a media player. */
function impliedNeeds(actions: Actions): readonly Need[] {
  const kinds = new Set([...actions.keys()].flatMap((action) => KINDS_OF_ACTIONS[action] ?? []));
  const alternatives = [...kinds].flatMap((name) => kindOf(name, 1));
  return alternatives.length === 0
    ? []
    : [{ kind: 'hint', hint: 'situation', label: [...kinds].join(' or '), weight: INTENT_WORTH, alternatives }];
}

/** Returns alternatives for a kind of device and its related kinds. */
function kindOf(name: string, strength: number): readonly Alternative[] {
  return [
    { term: concept(name), strength },
    { term: neighbourOf(concept(name)), strength: strength * NEARLY },
  ];
}

/** Returns the needs of a question: a reading and, if the question names an action, the readings that show the action's result. */
function questionNeeds(actions: Actions): readonly Need[] {
  const reading: Need = {
    kind: 'hint',
    hint: 'reading',
    label: 'question',
    weight: READ_WORTH,
    alternatives: [{ term: READ_TERM, strength: 1 }],
  };
  const states = [...statesOf(actions)].map(([name, strength]): Alternative => ({ term: concept(name), strength }));
  return states.length === 0
    ? [reading]
    : [reading, { kind: 'hint', hint: 'state', label: 'state', weight: STATE_WORTH, alternatives: states }];
}

function merged(needs: readonly Need[]): readonly Need[] {
  return [...new Map(needs.map((need) => [need.alternatives[0]?.term, need])).values()];
}

/** Matches negations in English, German, French, Spanish, Dutch and Italian. */
const NEGATIONS =
  /\b(?:do not|dont|not to|never|no longer|must not|mustnt|shouldnt|should not|wont|avoid|nicht|nie|niemals|keine?[nmrs]?|ne \w+ (?:pas|jamais|plus)|n[ae]? ?\w+ pas|pas|no|nunca|niet|nooit|geen|non|mai)\b/;
/** Matches phrases with a negation that do not negate the request, such as `do not forget`. */
const HARMLESS =
  /\b(?:why (?:dont|not|do not)|(?:dont|do not) (?:forget|hesitate|mind|worry)|whether or not|or not|not only|no matter|no problem|no idea|nicht vergessen|vergiss nicht|noublie pas|no olvides|niet vergeten|non dimenticare)\b/g;

function hasNegation(text: string): boolean {
  const plain = withoutMarks(text.toLowerCase().replace(/['’]/g, ''));
  return NEGATIONS.test(plain.replace(HARMLESS, ' '));
}
