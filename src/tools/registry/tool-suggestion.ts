import { compareText, editDistance, isWithinDistance, nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { oncePerObject, oncePerText } from '../../core/lifecycle.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { toolKey } from '../definition/tool-names.ts';
import { type Actions, actionsOfTitle, OPPOSITES, withRelatedActions } from '../search/actions.ts';
import { meaningsIn } from '../search/lexicon.ts';
import { type Word, wordsOf } from '../search/words.ts';

/** Maximum number of wrong letters in a word: one for every three letters of the word, but never more than two. */
const NEAR_WORD_DISTANCE = 2;
const LETTERS_FOR_ONE = 3;
const MAX_SUGGESTIONS = 3;
/** Minimum similarity of two actions, from 0 to 1, at which they count as similar. */
const SAME_ACTION = 0.5;
/** Maximum number of cached texts, enough for the titles, kinds and device names of a large home. */
const MAX_PARSED = 8_192;

/** Returns the actions in a title. The results are cached, because a home has thousands of tools but few different titles. */
const titleActions = oncePerText((title) => actionsOfTitle(wordsOf(title)).actions, { maxKept: MAX_PARSED });
const thingsIn = oncePerText((text) => thingsOf(wordsOf(text)), { maxKept: MAX_PARSED });

/** The parsed words of a tool. They are cached, since definitions never change. */
interface ParsedTool {
  /** The words of the tool's name. */
  readonly pieces: readonly string[];
  /** The actions in the tool's title. */
  readonly actions: Actions;
  /** The kinds of things in the tool's tags. */
  readonly things: readonly string[];
}

const parsedTool = oncePerObject(({ definition: { name, metadata } }: RegisteredTool): ParsedTool => {
  return { pieces: piecesOf(name), actions: titleActions(metadata.title), things: thingsIn(metadata.tags.join(' ')) };
});

/**
 * Returns the error TOOL_NOT_FOUND. It suggests the most similar names of `listed`, the tools that the caller may see. `hubs` are the hubs
 * that the request names. A suggestion has no namespace if `name` has none and the bare name is unique.
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
 * Returns similar tool names without versions. Compares device tools by the device in the name, or else by action and kind of device. If no
 * tool is found, compares letters of device tools' names. This comes last, because a tool with a similar name may start another appliance.
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

/** Returns whether two names differ by opposite words, such as `lock` and `unlock`. */
function isOpposite(wanted: string, name: string): boolean {
  const [asked, own] = [new Set(piecesOf(wanted)), new Set(piecesOf(name))];
  const others = own.difference(asked);
  return [...asked.difference(own)].some((piece) => OPPOSITES[actionOf(piece)]?.some((opposite) => others.has(opposite)));
}

/** Returns the action that a word names, even if the word has one wrong letter. Returns a word that names no action unchanged. */
function actionOf(piece: string): string {
  if (piece in OPPOSITES || piece.length < 3) return piece;
  return Object.keys(OPPOSITES).find((action) => action.length > 2 && editDistance(action, piece) <= 1) ?? piece;
}

/** Returns a name for each device: the words with which the names of all its tools begin. */
function deviceNames(tools: readonly RegisteredTool[]): ReadonlyMap<string, readonly string[]> {
  const byDevice = Map.groupBy(tools, ({ definition }) => definition.metadata.device ?? '');
  return new Map([...byDevice].map(([device, own]) => [device, commonStart(device, own)]));
}

/** Returns the words with which all tool names begin. If there is only one tool, returns the words of the device's id. */
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
  // The action of the most similar tool counts as the wanted action, which may be misspelt. Tools with the opposite action are omitted.
  const [nearest] = found;
  return nearest ? found.filter((tool) => sharedActions(parsedTool(nearest).actions, parsedTool(tool).actions) >= 0) : [];
}

/** Returns whether a name begins with a device's name. At most `most` letters may be wrong, and at most a quarter of the device's name. */
function isCalled(pieces: readonly string[], name: readonly string[], most: number): boolean {
  if (name.length === 0 || pieces.length <= name.length) return false;
  const whole = name.join('_');
  return isWithinDistance(pieces.slice(0, name.length).join('_'), whole, Math.min(most, Math.floor(whole.length / 4)));
}

/** Returns whether a name consists of the beginning of a device name and an action: `robot_start` for `robot_vacuum`. */
function isBeginning(pieces: readonly string[], name: readonly string[]): boolean {
  const shared = pieces.findIndex((piece, at) => name[at] !== piece);
  const rest = pieces.slice(shared);
  return shared > 0 && rest.length > 0 && isOnlyAction(rest);
}

function isOnlyAction(pieces: readonly string[]): boolean {
  const words = wordsOf(pieces.join(' '));
  return actionsOfTitle(words).places.size === words.length;
}

/** Returns how similar a tool's action is to the wanted action, by meaning more than by letters. Returns 0 for opposite actions. */
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

/** Returns the similarity of two sets of actions, from 0 to 1, or -1 for opposites. */
function sharedActions(wanted: Actions, own: Actions): number {
  const best = Math.max(0, ...[...withRelatedActions(wanted)].map(([action, strength]) => strength * (own.get(action) ?? 0)));
  const isOpposite = [...wanted.keys()].some((action) =>
    (OPPOSITES[action] ?? []).some((opposite) => own.has(opposite) && !own.has(action)),
  );
  return isOpposite && best < SAME_ACTION ? -1 : best;
}

/** Returns the tools that belong to a device of the wanted kind and have a similar action. */
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

/** Returns names with similar letters. Compares with namespace, then without, then word by word, until names are found. */
function nearNames(wanted: string, known: readonly string[]): readonly string[] {
  const whole = wanted.includes(':') ? nearestTexts(wanted, known) : [];
  if (whole.length > 0) return whole;
  const byBareName = new Map(known.map((key) => [bareName(key), key]));
  const near = nearestTexts(bareName(wanted), byBareName.keys());
  return near.length > 0 ? near.map((name) => byBareName.get(name) ?? name) : withNearWord(bareName(wanted), known);
}

/** Returns names with a word similar to the wanted word: `unlok` finds `front_door_unlock`. */
function withNearWord(wanted: string, names: readonly string[]): readonly string[] {
  const isNear = (word: string) => word.length > NEAR_WORD_DISTANCE && isTypo(wanted.toLowerCase(), word);
  return names
    .values()
    .filter((name) => piecesOf(bareName(name)).some(isNear))
    .take(MAX_SUGGESTIONS)
    .toArray();
}

/** Returns whether two words differ only by a typo. Short words may have fewer wrong letters: two of four would make another word. */
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
