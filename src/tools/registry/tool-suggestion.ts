import { compareText, editDistance, isWithinDistance, nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { toolKey } from '../definition/tool-names.ts';
import { type Actions, actionsOfTitle, OPPOSITES, withRelatedActions } from '../search/actions.ts';
import { meaningsIn } from '../search/lexicon.ts';
import { type Word, wordsOf } from '../search/words.ts';

/** Letters that may be wrong: one of three, at most two. */
const NEAR_WORD_DISTANCE = 2;
const LETTERS_FOR_ONE = 3;
const MAX_SUGGESTIONS = 3;
/** Another action that meets a wanted one by less is not nearly it. */
const SAME_ACTION = 0.5;
/** As many different titles, kinds and names of devices as a large home has. */
const MAX_PARSED = 8_192;

/** What the titles of tools say is to be done: a home has thousands of tools and few different titles. */
const titleActions = memoized((title) => actionsOfTitle(wordsOf(title)).actions);
const thingsIn = memoized((text) => thingsOf(wordsOf(text)));

/** What a suggestion reads of a tool: definitions never change, so that each is read once. */
interface ParsedTool {
  /** Of its name. */
  readonly pieces: readonly string[];
  /** What its title says that it does. */
  readonly actions: Actions;
  /** What it is about, by its tags. */
  readonly things: readonly string[];
}

const parsedTool = oncePerObject(({ definition: { name, metadata } }: RegisteredTool): ParsedTool => {
  return { pieces: piecesOf(name), actions: titleActions(metadata.title), things: thingsIn(metadata.tags.join(' ')) };
});

/**
 * TOOL_NOT_FOUND for a name that none of the tools has which the caller may know of, with the nearest ones. `hubs` are those that the
 * caller named. Suggested are bare names where one tool of the list has them, ids for an id: what is not in the list has no say in it.
 */
export function toolNotFound(name: string, listed: readonly RegisteredTool[], hubs?: readonly string[]): AtmoError {
  const keys = new Set(listed.map(toolKey));
  const near = suggestTools(name.split('@')[0] ?? name, listed);
  const isAlone = (key: string) =>
    keys
      .values()
      .filter((other) => bareName(other) === bareName(key))
      .take(2)
      .toArray().length === 1;
  const suggestions = near.map((key) => (!name.includes(':') && isAlone(key) ? bareName(key) : key));
  const hint = suggestions.length === 0 ? 'list the tools to see what there is' : `did you mean ${suggestions.join(' or ')}?`;
  const where = hubs ? ` on ${hubs.join(', ').slice(0, 160)}` : '';
  return new AtmoError('TOOL_NOT_FOUND', `There is no tool ${JSON.stringify(name.slice(0, 160))}${where}; ${hint}`, { suggestions });
}

/**
 * Unversioned names like the wanted one. A name is mostly a device and what it does: tools of the same device come first, then those of
 * things of the same kind that do the same. A name that only looks alike starts another appliance, so letters count for the rest alone.
 */
function suggestTools(wanted: string, listed: readonly RegisteredTool[]): readonly string[] {
  const bare = bareName(wanted).toLowerCase().slice(0, 160);
  const byOwner = Map.groupBy(listed, ({ definition }) => definition.metadata.device !== undefined);
  const ofDevices = byOwner.get(true) ?? [];
  const names = deviceNames(ofDevices);
  const own = ofSameDevice(bare, ofDevices, names);
  const found = own.length > 0 ? own : ofSameKind(bare, ofDevices, names);
  const others = (byOwner.get(false) ?? []).map(toolKey);
  const near = found.length > 0 ? [] : nearNames(wanted, [...new Set(others)]);
  const slips = others.filter((key) => isTypo(bare, bareName(key).slice(0, bare.length + NEAR_WORD_DISTANCE)));
  const all = [...slips, ...found.map(toolKey), ...near];
  const like = all.length > 0 ? all : withNearWord(bare, ofDevices.map(toolKey));
  return new Set(like)
    .values()
    .filter((key) => !isOpposite(bare, bareName(key)))
    .take(MAX_SUGGESTIONS)
    .toArray();
}

/** By the words in which two names differ: a lock is unlocked, and a name that says `lock` alone never means that. */
function isOpposite(wanted: string, name: string): boolean {
  const [asked, own] = [new Set(piecesOf(wanted)), new Set(piecesOf(name))];
  const others = own.difference(asked);
  return [...asked.difference(own)].some((piece) => OPPOSITES[actionOf(piece)]?.some((opposite) => others.has(opposite)));
}

/** The action that a word says, with one letter wrong at most. */
function actionOf(piece: string): string {
  if (piece in OPPOSITES || piece.length < 3) return piece;
  return Object.keys(OPPOSITES).find((action) => action.length > 2 && editDistance(action, piece) <= 1) ?? piece;
}

/** What the names of each device's tools begin with. */
function deviceNames(tools: readonly RegisteredTool[]): ReadonlyMap<string, readonly string[]> {
  const byDevice = Map.groupBy(tools, ({ definition }) => definition.metadata.device ?? '');
  return new Map([...byDevice].map(([device, own]) => [device, commonStart(device, own)]));
}

/** A device with one tool is called by its id. */
function commonStart(device: string, [first, ...others]: readonly RegisteredTool[]): readonly string[] {
  if (!first || others.length === 0) return piecesOf(device);
  const [{ pieces }, ...more] = [parsedTool(first), ...others.map((tool) => parsedTool(tool).pieces)] as const;
  const length = pieces.findIndex((piece, at) => more.some((other) => other[at] !== piece));
  return length < 0 ? pieces : pieces.slice(0, length);
}

function ofSameDevice(
  wanted: string,
  tools: readonly RegisteredTool[],
  names: ReadonlyMap<string, readonly string[]>,
): readonly RegisteredTool[] {
  const pieces = piecesOf(wanted);
  const exact = [...names].filter(([, name]) => isCalled(pieces, name, 0));
  const whole = exact.length > 0 ? exact : [...names].filter(([, name]) => isCalled(pieces, name, NEAR_WORD_DISTANCE));
  const meant = whole.length > 0 ? whole : [...names].filter(([, name]) => isBeginning(pieces, name));
  const longest = Math.max(0, ...meant.map(([, name]) => name.length));
  const devices = new Set(meant.filter(([, name]) => name.length === longest).map(([device]) => device));
  const likeness = (tool: RegisteredTool) => {
    const name = names.get(tool.definition.metadata.device ?? '') ?? [];
    return actionLikeness(pieces.slice(Math.min(name.length, pieces.length - 1)).join(' '), tool, name.length);
  };
  const found = tools
    .filter(({ definition }) => devices.has(definition.metadata.device ?? ''))
    .map((tool) => ({ tool, like: likeness(tool) }))
    .filter(({ like }) => like > 0)
    .toSorted((a, b) => b.like - a.like || compareText(a.tool.id, b.tool.id))
    .map(({ tool }) => tool);
  // What is to be done may be written wrong: then the nearest tells what it is, and its opposite is no guess.
  const [nearest] = found;
  return nearest ? found.filter((tool) => sharedActions(parsedTool(nearest).actions, parsedTool(tool).actions) >= 0) : [];
}

/** `living_room_lamp…`, with at most so many letters wrong. */
function isCalled(pieces: readonly string[], name: readonly string[], most: number): boolean {
  if (name.length === 0 || pieces.length <= name.length) return false;
  const whole = name.join('_');
  return isWithinDistance(pieces.slice(0, name.length).join('_'), whole, Math.min(most, Math.floor(whole.length / 4)));
}

/** The beginning of a name before what is to be done: `robot_start` of `robot_vacuum`. */
function isBeginning(pieces: readonly string[], name: readonly string[]): boolean {
  const shared = pieces.findIndex((piece, at) => name[at] !== piece);
  const rest = pieces.slice(shared);
  return shared > 0 && rest.length > 0 && isOnlyAction(rest);
}

function isOnlyAction(pieces: readonly string[]): boolean {
  const words = wordsOf(pieces.join(' '));
  return actionsOfTitle(words).places.size === words.length;
}

/** How much of what a name says is to be done a tool does: by meaning, then by letters; 0 where it does the opposite. */
function actionLikeness(wanted: string, { definition }: RegisteredTool, nameLength: number): number {
  const own = piecesOf(definition.name).slice(nameLength).join(' ');
  const [asked, done] = [wordsOf(wanted), wordsOf(`${own} ${definition.metadata.title}`)];
  const deed = sharedActions(actionsOfTitle(asked).actions, actionsOfTitle(done).actions);
  if (deed < 0) return 0;
  const concepts = new Set(conceptsOf(done));
  const quality = conceptsOf(asked).filter((concept) => concepts.has(concept)).length;
  const longest = Math.max(own.length, wanted.length, 1);
  return 2 * deed + quality + 1 - editDistance(own, wanted.slice(0, 64)) / longest;
}

/** 0 to 1; -1 where one does the opposite of the other. */
function sharedActions(wanted: Actions, own: Actions): number {
  const best = Math.max(0, ...[...withRelatedActions(wanted)].map(([action, strength]) => strength * (own.get(action) ?? 0)));
  const isOpposite = [...wanted.keys()].some((action) =>
    (OPPOSITES[action] ?? []).some((opposite) => own.has(opposite) && !own.has(action)),
  );
  return isOpposite && best < SAME_ACTION ? -1 : best;
}

/** Things of the kind that the name says, which do what it says. */
function ofSameKind(
  wanted: string,
  tools: readonly RegisteredTool[],
  names: ReadonlyMap<string, readonly string[]>,
): readonly RegisteredTool[] {
  const words = wordsOf(wanted.replaceAll('_', ' '));
  const things = thingsOf(words);
  if (things.length === 0) return [];
  const stems = new Set(words.map(({ stem }) => stem));
  const wish = actionsOfTitle(words).actions;
  const called = new Map([...names].map(([device, name]) => [device, thingsIn(name.join(' '))]));
  const isMeant = (tool: RegisteredTool) => {
    const named = called.get(tool.definition.metadata.device ?? '') ?? [];
    return things.every((thing) => named.includes(thing) || parsedTool(tool).things.includes(thing));
  };
  return tools
    .filter(isMeant)
    .filter((tool) => sharedActions(wish, parsedTool(tool).actions) >= SAME_ACTION)
    .map((tool) => ({ tool, shared: wordsOf(parsedTool(tool).pieces.join(' ')).filter(({ stem }) => stems.has(stem)).length }))
    .toSorted((a, b) => b.shared - a.shared || compareText(a.tool.id, b.tool.id))
    .map(({ tool }) => tool);
}

function thingsOf(words: readonly Word[]): readonly string[] {
  return meaningsIn(words).flatMap(({ meanings }) =>
    meanings.filter(({ role, strength }) => role === 'thing' && strength === 1).map(({ concept }) => concept),
  );
}

function conceptsOf(words: readonly Word[]): readonly string[] {
  return meaningsIn(words).flatMap(({ meanings }) => meanings.filter(({ strength }) => strength === 1).map(({ concept }) => concept));
}

/** Names by their letters: by the whole name, else by the part after the namespace, else by one word of it. */
function nearNames(wanted: string, known: readonly string[]): readonly string[] {
  const whole = wanted.includes(':') ? nearestTexts(wanted, known) : [];
  if (whole.length > 0) return whole;
  const byBareName = new Map(known.map((key) => [bareName(key), key]));
  const near = nearestTexts(bareName(wanted), byBareName.keys());
  return near.length > 0 ? near.map((name) => byBareName.get(name) ?? name) : withNearWord(bareName(wanted), known);
}

/** Names that hold a word almost like the wanted one: `unlok` means `front_door_unlock`. */
function withNearWord(wanted: string, names: readonly string[]): readonly string[] {
  const isNear = (word: string) => word.length > NEAR_WORD_DISTANCE && isTypo(wanted.toLowerCase(), word);
  return names
    .values()
    .filter((name) => piecesOf(bareName(name)).some(isNear))
    .take(MAX_SUGGESTIONS)
    .toArray();
}

/** Of a word of a few letters hardly one can be wrong: two of four make any other word of it. */
function isTypo(wanted: string, word: string): boolean {
  return isWithinDistance(wanted, word, Math.min(NEAR_WORD_DISTANCE, Math.floor(wanted.length / LETTERS_FOR_ONE)));
}

function bareName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function piecesOf(name: string): readonly string[] {
  return name
    .toLowerCase()
    .split(/[_.\s-]+/)
    .filter(Boolean);
}

/** The same answer for the same text, without reading it again. */
function memoized<Read>(read: (text: string) => Read): (text: string) => Read {
  const known = new Map<string, Read>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= MAX_PARSED) known.clear();
    const made = read(text);
    known.set(text, made);
    return made;
  };
}
