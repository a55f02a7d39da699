/** How well sentences find tools and things, by public rows where they are on this machine, and how long that takes. */
import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import { memoizedAuthorizer } from '../../src/calls/stages/authorization.ts';
import { sha256Hex } from '../../src/codec/hashes.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import type { DeviceId } from '../../src/core/ids.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { mayCallTool } from '../../src/tools/definition/tool-permissions.ts';
import { CONFIDENT_FROM } from '../../src/tools/search/confidence.ts';
import { LexicalEntitySearch } from '../../src/tools/search/entity-search.ts';
import { LexicalToolSearch } from '../../src/tools/search/tool-search.ts';
import { NO_REMOTE_GROUPS } from '../../test/no-device-facts.ts';
import { ToolHarness } from '../../test/profiles/tool-harness.ts';
import type { BenchFigure } from './figure.ts';
import { describeRowDevice, isRelative, kindOf, meansAction, meansOpposite, rowDeviceId } from './search-homes.ts';
import { mansion } from './search-mansion.ts';
import { type ActionRow, type RowDevice, type SearchRows, searchRows } from './search-rows.ts';
import { thingHome } from './search-things.ts';
import { median } from './statistics.ts';

const BARS = { tool: { first: 0.85, ten: 0.98 }, entity: { first: 0.86, ten: 0.98 } };
const TIMED: readonly (readonly [tools: number, barMs: number])[] = [
  [2_000, 1],
  [10_000, 5],
];
const SENTENCES = [
  'turn on the kitchen light 3',
  'dim the lamp in the office to 40%',
  'is the front door locked',
  'close all blinds in the bedroom',
  'set the thermostat in the living room to 21 degrees',
  'it is stuffy in the attic',
  'how warm is it in the cellar',
  'pause the music in the studio',
  'lights off',
  'wohnzimmerlampe an',
  'ktchen ligth on',
];
const WARM_UPS = 5;
const ROUNDS = 25;

const KEPT_SHARE = 0.9;
const PASSING_BAR = 0.03;
const CURVE = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
/** Of 256. */
const UNSERVABLE_SHARE = 64;

/** A home of the rows, ready to be searched. */
interface RowHome {
  readonly devices: readonly RowDevice[];
  readonly search: LexicalToolSearch;
  readonly tools: readonly RegisteredTool[];
}

/** Where the right answer stood, 0 first, -1 not among ten; the half of the rows that nobody looks at is `held`. */
interface Place {
  readonly at: number;
  readonly strictAt: number;
  readonly isHeld: boolean;
}

/** Quality where there are rows, then time. */
export async function run(): Promise<BenchFigure[]> {
  const rows = searchRows();
  if (!rows) console.error('search: no rows on this machine (ATMO_BENCH_DATA); quality skipped');
  const quality = rows ? await rowFigures(rows) : [];
  const times: BenchFigure[] = [];
  for (const [count, barMs] of TIMED) times.push(...(await timeFigures(count, barMs)));
  return [...quality, ...times];
}

async function rowFigures(rows: SearchRows): Promise<BenchFigure[]> {
  const homes = await rowHomes(rows);
  const places = rows.actions.flatMap((row) => {
    const home = homes.get(row.home);
    return home ? [toolPlace(row, home)] : [];
  });
  return [...qualityFigures('tool', places), ...sureFigures(rows, homes), ...qualityFigures('entity', entityPlaces(rows))];
}

/** The homes of the rows with the tools that profiles make of their devices. */
async function rowHomes({ actionHomes }: SearchRows): Promise<ReadonlyMap<string, RowHome>> {
  const homes = new Map<string, RowHome>();
  for (const [name, devices] of Object.entries(actionHomes)) {
    const hub = await new ToolHarness(...devices.map(describeRowDevice)).start();
    const search = new LexicalToolSearch({ names: NO_HOME_NAMES, device: (id) => hub.home.get(id as DeviceId) });
    homes.set(name, { devices, search, tools: hub.registry.all() });
    await hub.sync[Symbol.asyncDispose]();
  }
  return homes;
}

/**
 * Whether the search knows when it does not know: sentences of their own home against sentences of one home in those homes that have
 * nothing of the kind; and whether a tool that does the opposite ever comes first.
 */
function sureFigures({ actions }: SearchRows, homes: ReadonlyMap<string, RowHome>): BenchFigure[] {
  const sureness = (home: RowHome, text: string) => home.search.search({ text }, home.tools).matches[0]?.confidence ?? 0;
  const own = actions.flatMap((row) => {
    const home = homes.get(row.home);
    return home ? [sureness(home, row.utterance)] : [];
  });
  const foreign = unservable(actions, homes).map(([row, home]) => sureness(home, row.utterance));
  const opposites = actions.filter((row) => {
    const home = homes.get(row.home);
    const [first] = home?.search.search({ text: row.utterance }, home.tools).matches ?? [];
    return first !== undefined && meansOpposite(row, first.tool.definition.metadata.title);
  });
  const shareFrom = (values: readonly number[], least: number) => values.filter((one) => one >= least).length / values.length;
  const keeping = own.toSorted((a, b) => a - b)[Math.floor(own.length * (1 - KEPT_SHARE))] ?? 0;
  const [kept, unmet] = [
    { samples: own.length, vs: 'sentences of their own home' },
    { samples: foreign.length, vs: 'sentences of homes that have such a thing, in homes that have none' },
  ];
  const passing = shareFrom(foreign, keeping);
  return [
    atLeast('search.sure.kept', shareFrom(own, CONFIDENT_FROM), { ...kept, bar: KEPT_SHARE }),
    {
      ...reported('search.sure.unservable_passing', shareFrom(foreign, CONFIDENT_FROM), unmet),
      bar: PASSING_BAR,
      ok: shareFrom(foreign, CONFIDENT_FROM) <= PASSING_BAR,
    },
    { ...reported('search.sure.unservable_at_90_kept', passing, unmet), bar: PASSING_BAR, ok: passing <= PASSING_BAR },
    ...CURVE.flatMap((least) => [
      reported(`search.sure.kept_${least}`, shareFrom(own, least), kept),
      reported(`search.sure.unservable_${least}`, shareFrom(foreign, least), unmet),
    ]),
    { ...reported('search.tool.opposite_first', opposites.length, kept), bar: 0, ok: opposites.length === 0 },
  ];
}

/** Each sentence in every home that has nothing of the kind, neither by type nor by name; some of them, always the same. */
function unservable(actions: readonly ActionRow[], homes: ReadonlyMap<string, RowHome>): readonly (readonly [ActionRow, RowHome])[] {
  const sentences = [...new Map(actions.map((row) => [`${row.home} ${row.utterance}`, row])).values()];
  return sentences.flatMap((row) =>
    [...homes].flatMap(([name, home]) => {
      const isLacking = name !== row.home && home.devices.every((device) => kindOf(device) !== kindOf(row) && device.device !== row.device);
      const isChosen = Number.parseInt(sha256Hex(name + row.utterance).slice(0, 2), 16) < UNSERVABLE_SHARE;
      return isLacking && isChosen ? [[row, home] as const] : [];
    }),
  );
}

function toolPlace(row: ActionRow, { search, tools }: RowHome): Place {
  const found = search.search({ text: row.utterance }, tools).matches.map(({ tool }) => tool.definition.metadata);
  const device = rowDeviceId(row);
  const isRight = (title: string) => meansAction(row, title) || (isRelative(row, title) && !/\d/.test(row.utterance));
  return {
    at: found.findIndex((one) => one.device === device && isRight(one.title)),
    strictAt: found.findIndex((one) => one.device === device && meansAction(row, one.title)),
    isHeld: isHeld(row),
  };
}

function entityPlaces({ entities, entityHomes }: SearchRows): readonly Place[] {
  const homes = new Map(Object.entries(entityHomes).map(([name, home]) => [name, thingHome(home)]));
  const searches = new Map([...homes].map(([name, { names }]) => [name, new LexicalEntitySearch(names)]));
  return entities.flatMap((row) => {
    const home = homes.get(row.home);
    const found = home && searches.get(row.home)?.search({ text: row.utterance }, home.home);
    if (!home || !found || row.expect.length === 0) return [];
    const right = new Set(row.expect.map((id) => home.idOf.get(id)));
    const at = found.findIndex(({ id }) => right.has(id));
    return [{ at, strictAt: at, isHeld: isHeld(row) }];
  });
}

/** Half of the rows, by a hash: the words of the search are never chosen by looking at these. */
function isHeld({ home, utterance }: { readonly home: string; readonly utterance: string }): boolean {
  return Number.parseInt(sha256Hex(home + utterance).slice(0, 2), 16) % 2 === 1;
}

function qualityFigures(what: 'tool' | 'entity', places: readonly Place[]): BenchFigure[] {
  const held = places.filter((place) => place.isHeld);
  const seen = places.filter((place) => !place.isHeld);
  const share = (of: readonly Place[], below: number) => of.filter(({ at }) => at >= 0 && at < below).length / of.length;
  const strict = places.filter(({ strictAt }) => strictAt === 0).length / places.length;
  const mrr = places.reduce((sum, { at }) => sum + (at < 0 ? 0 : 1 / (at + 1)), 0) / places.length;
  const all = { samples: places.length, vs: 'public rows' };
  return [
    atLeast(`search.${what}.hit1`, share(places, 1), { ...all, bar: BARS[what].first }),
    atLeast(`search.${what}.hit10`, share(places, 10), { ...all, bar: BARS[what].ten }),
    reported(`search.${what}.hit5`, share(places, 5), all),
    reported(`search.${what}.mrr`, mrr, all),
    reported(`search.${what}.hit1_strict`, strict, { ...all, vs: 'without brighter-or-darker for relative wishes' }),
    reported(`search.${what}.hit1_seen_half`, share(seen, 1), { samples: seen.length, vs: 'the half whose failures were looked at' }),
    reported(`search.${what}.hit1_held_half`, share(held, 1), { samples: held.length, vs: 'the half that nobody looked at' }),
  ];
}

async function timeFigures(count: number, barMs: number): Promise<BenchFigure[]> {
  const { devices, tools } = mansion(count);
  const search = new LexicalToolSearch({ names: NO_HOME_NAMES, device: (id) => devices.get(id) });
  const indexMs = await cpuMs(() => search.search({ text: 'light' }, tools), 1);
  const isVisible = guestOf([...devices.keys()]);
  const open = await queryMs((text) => search.search({ text }, tools));
  const asGuest = await queryMs((text) => search.search({ text }, tools, isVisible));
  const changed = tools.slice(1);
  const changeMs = await cpuMs(() => search.search({ text: 'lights off' }, changed), 1);
  const measured = { unit: 'ms', samples: SENTENCES.length * ROUNDS, vs: `${count} tools, processor time` };
  return [
    { ...reported(`search.query_${count}`, open, measured), bar: barMs, ok: open <= barMs },
    { ...reported(`search.query_${count}_guest`, asGuest, measured), bar: barMs, ok: asGuest <= barMs },
    reported(`search.index_${count}`, indexMs, { ...measured, samples: 1 }),
    reported(`search.after_change_${count}`, changeMs, { ...measured, samples: 1 }),
  ];
}

/** What a token with 30 devices of the home may call. */
function guestOf(devices: readonly string[]): (tool: RegisteredTool) => boolean {
  const grants = devices.filter((_, index) => index % 4 === 0).slice(0, 30);
  const permissions = grants.flatMap((device) => [`device:control:${device}`, `device:read:${device}`]);
  const guest: Principal = { id: 'guest', kind: 'agent', permissions };
  const authorizer = memoizedAuthorizer(
    new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: { isStillValid: () => true } }),
  );
  return (tool) => mayCallTool(tool, guest, authorizer);
}

/** The middle one of the sentences, each measured over its rounds: the processor's clock is too coarse for one query. */
async function queryMs(search: (text: string) => unknown): Promise<number> {
  const times: number[] = [];
  for (const text of SENTENCES) {
    await cpuMs(() => search(text), WARM_UPS);
    times.push(await cpuMs(() => search(text), ROUNDS));
  }
  return median(times);
}

async function cpuMs(work: () => unknown, rounds: number): Promise<number> {
  const before = process.threadCpuUsage();
  for (let round = 0; round < rounds; round++) {
    work();
    // Each query is a turn of its own, as requests are.
    await Promise.resolve();
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000 / rounds;
}

interface Measured {
  readonly samples: number;
  readonly vs: string;
  readonly unit?: string;
}

function atLeast(name: string, value: number, { bar, ...measured }: Measured & { readonly bar: number }): BenchFigure {
  return { ...reported(name, value, measured), bar, isMinimum: true, ok: value >= bar };
}

function reported(name: string, value: number, { unit = '', samples, vs }: Measured): BenchFigure {
  return { name, value, unit, bar: null, ok: true, samples, vs };
}
