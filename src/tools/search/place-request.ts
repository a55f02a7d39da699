import type { JsonObject } from '../../core/json.ts';
import { actionsIn } from './actions.ts';
import type { SearchedDevice } from './home-search.ts';
import { type MeaningSpan, meaningsIn } from './lexicon.ts';
import { parseQuery, WEAK_WORDS } from './query.ts';
import { STOP_WORDS } from './vocabulary.ts';
import { type Word, wordsOf } from './words.ts';

interface KindRule {
  readonly what: string;
  readonly words: readonly string[];
  readonly types: RegExp;
  /** The actions of `control_area`, each with the actions of a sentence that mean it. */
  readonly actions: Readonly<Record<string, readonly string[]>>;
}

/**
 * The kinds of devices that a sentence about a place may mean, with the words and the device types of each. Plugs are left out, since one may
 * feed a freezer; so are media, which people name by what they play.
 */
const KINDS: readonly KindRule[] = [
  { what: 'lights', words: ['~light', '~strip'], types: /Light$/, actions: { on: ['on'], off: ['off'] } },
  { what: 'covers', words: ['~cover'], types: /Covering/, actions: { open: ['open', 'raise'], close: ['close', 'lower'] } },
  {
    what: 'climate',
    words: ['~thermostat', '~heating', '~cooling'],
    types: /^(?:Thermostat|RoomAirConditioner|Fan|AirPurifier)$/,
    actions: { on: ['on'], off: ['off'] },
  },
];
/** What `everything` means. Covers are neither on nor off. */
const EVERYTHING = ['lights', 'climate'];
const CERTAIN = 0.9;
const HOUSE_WORDS: ReadonlySet<string> = new Set(['hous', 'hom', 'haus', 'everywher', 'ueberall', 'uberall']);
/** Words of requests that mean nothing here and are not among the stop words. */
const FILLERS: ReadonlySet<string> = new Set([
  'mach',
  'mache',
  'schalt',
  'schalte',
  'fahr',
  'fahre',
  'alle',
  'alles',
  'allen',
  'im',
  'ganzen',
  'ganz',
  'bitte',
  'down',
  'now',
]);

/** The devices of a home, and the floors of their areas. */
export interface PlacedHome {
  readonly devices: readonly SearchedDevice[];
  readonly floorOf: (area: string) => string | undefined;
}

/** A call of `control_area` that a sentence asks for. */
export interface PlaceRequest {
  readonly params: JsonObject;
  /** Number of devices that it is about. */
  readonly members: number;
  /** True if the sentence means all of them by a word such as `all`. */
  readonly isForAll: boolean;
}

/**
 * Returns the calls of `control_area` that a sentence asks for, such as one for `close the blinds in the bedroom`: one for each place, and
 * for `everything` one for each kind. Returns none if the sentence has a word that is neither a kind of device, a place nor an action.
 */
export function placeRequestsOf(text: string, home: PlacedHome): readonly PlaceRequest[] {
  const wishes = parseQuery(text);
  const [wish] = wishes;
  if (!wish || wishes.length > 1 || wish.isQuestion || wish.isNegated) return [];
  const words = wordsOf(text);
  const { actions, places: taken } = actionsIn(words);
  const spans = meaningsIn(words).filter(({ start }) => !taken.has(start));
  const { isForAll } = wish;
  const found = placesIn(words, spans, home);
  const kinds = kindsIn(spans, isForAll);
  if (!kinds || !isWholeSentence(words, { taken, spans, named: found.flatMap(({ at }) => at) })) return [];
  const isHouse = isForAll || words.some(({ stem }) => HOUSE_WORDS.has(stem));
  const house: readonly NamedPlace[] = isHouse ? [{ kind: 'house', name: 'house', at: [] }] : [];
  return (found.length > 0 ? found : house).flatMap((place) =>
    kinds.flatMap((kind) => {
      const action = Object.entries(kind.actions).find(([, meant]) => meant.some((one) => (actions.get(one) ?? 0) >= CERTAIN))?.[0];
      const members = home.devices.filter(
        (device) => isIn(device, place, home) && device.deviceTypes.some((type) => kind.types.test(type)),
      );
      if (action === undefined || members.length === 0) return [];
      return [{ params: { area: place.name, scope: place.kind, what: kind.what, action }, members: members.length, isForAll }];
    }),
  );
}

/** Returns the kinds that the things of a sentence are. Returns undefined if one of the things is of no kind, or nothing is named. */
function kindsIn(spans: readonly MeaningSpan[], isForAll: boolean): readonly KindRule[] | undefined {
  const things = spans
    .map(({ meanings }) => meanings.filter(({ role, strength }) => role === 'thing' && strength === 1))
    .filter(({ length }) => length > 0);
  if (things.length === 0) return isForAll ? KINDS.filter(({ what }) => EVERYTHING.includes(what)) : undefined;
  const kinds = things.map((meanings) => KINDS.find(({ words }) => words.some((word) => meanings.some(({ concept }) => concept === word))));
  return kinds.every((kind) => kind !== undefined) ? [...new Set(kinds)] : undefined;
}

interface NamedPlace {
  readonly kind: 'area' | 'floor' | 'house';
  readonly name: string;
  /** Places of its words in the sentence. */
  readonly at: readonly number[];
}

/** Returns the areas and floors that a sentence names, by their own words or by others with the same meaning. */
function placesIn(words: readonly Word[], spans: readonly MeaningSpan[], { devices, floorOf }: PlacedHome): readonly NamedPlace[] {
  const areas = [...new Set(devices.flatMap(({ area, node }) => (area === undefined || node !== undefined ? [] : [area])))];
  const floors = [...new Set(areas.flatMap((area) => floorOf(area) ?? []))];
  const named =
    (kind: 'area' | 'floor') =>
    (name: string): readonly NamedPlace[] => {
      const at = placeOfName(name, words, spans);
      return at.length === 0 ? [] : [{ kind, name, at }];
    };
  const all = [...areas.flatMap(named('area')), ...floors.flatMap(named('floor'))];
  // `guest bathroom` is not the bathroom, although it contains its name.
  return all.filter(({ at }) => !all.some((other) => other.at.length > at.length && at.every((place) => other.at.includes(place))));
}

function placeOfName(name: string, words: readonly Word[], spans: readonly MeaningSpan[]): readonly number[] {
  const parts = wordsOf(name);
  const start = words.findIndex((_word, place) => parts.every(({ stem }, index) => words[place + index]?.stem === stem));
  if (start >= 0) return range(start, parts.length);
  const meant = new Set(placeConcepts(meaningsIn(parts)));
  const span = spans.find((one) => placeConcepts([one]).some((concept) => meant.has(concept)));
  return span ? range(span.start, span.length) : [];
}

function placeConcepts(spans: readonly MeaningSpan[]): readonly string[] {
  return spans.flatMap(({ meanings }) =>
    meanings.flatMap(({ role, strength, concept }) => (role === 'place' && strength === 1 ? [concept] : [])),
  );
}

interface Understood {
  readonly taken: ReadonlySet<number>;
  readonly spans: readonly MeaningSpan[];
  readonly named: readonly number[];
}

/** Returns whether every word is understood. A word that is not may name a device or a place that this home does not have. */
function isWholeSentence(words: readonly Word[], { taken, spans, named }: Understood): boolean {
  const things = spans.filter(({ meanings }) => meanings.some(({ role, strength }) => role === 'thing' && strength === 1));
  const known = new Set([...taken, ...named, ...things.flatMap(({ start, length }) => range(start, length))]);
  const isFiller = ({ text, stem }: Word) => STOP_WORDS.has(text) || WEAK_WORDS.has(stem) || FILLERS.has(text) || HOUSE_WORDS.has(stem);
  return words.every((word, place) => known.has(place) || isFiller(word));
}

function isIn({ area, node }: SearchedDevice, { kind, name }: NamedPlace, { floorOf }: PlacedHome): boolean {
  if (node !== undefined) return false;
  if (kind === 'house') return true;
  return area !== undefined && (kind === 'area' ? area === name : floorOf(area) === name);
}

function range(start: number, length: number): readonly number[] {
  return Array.from({ length }, (_, index) => start + index);
}
