import { describe, expect, test } from 'vitest';
import { EMPTY_HOME, type HomeState, withDevices, withEvent } from '../../../src/web/api/home-store.ts';
import type { AreaInfo, DeviceView } from '../../../src/web/api/hub-types.ts';
import type { HomePreferences } from '../../../src/web/api/page-preferences.ts';
import { areasOf, favouritesOf, floorsOf, homeDevices } from '../../../src/web/pages/home-areas.ts';
import { isDeviceFound } from '../../../src/web/pages/home-search.ts';
import { type Concern, isConcerned, quietWords, summaryOf } from '../../../src/web/pages/home-summary.ts';
import { deviceView, eventView, readingView, toolIds } from '../home-fixture.ts';
import { WHOLE_HOME, wholeHomeDevice } from '../whole-home.ts';

const NO_CHOICES: HomePreferences = { favourites: [], devices: [], rooms: [] };
const device = (id: string, traits: Partial<DeviceView> = {}) => deviceView(id, { tools: toolIds(id, 'turn_on'), ...traits });
const areas = (state: HomeState, own: Partial<HomePreferences> = {}, plan: readonly AreaInfo[] = []) =>
  areasOf(state, { areas: plan, own: { ...NO_CHOICES, ...own } });
const whole = (...changed: readonly DeviceView[]) =>
  withDevices(EMPTY_HOME, [...WHOLE_HOME.filter(({ id }) => !changed.some((one) => one.id === id)), ...changed]);

describe('rooms', () => {
  const state = withDevices(EMPTY_HOME, [
    device('a', { area: null }),
    device('b', { area: 'Attic' }),
    device('c', { area: 'Bath', floor: 'Upstairs' }),
    device('d', { area: 'Kitchen', floor: 'Ground floor' }),
    device('e', { area: 'Bedroom', floor: 'Upstairs', aliases: ['night lamp'] }),
  ]);
  const plan = [
    { area: 'Kitchen', floor: 'Ground floor' },
    { area: 'Bedroom', floor: 'Upstairs' },
    { area: 'Bath', floor: 'Upstairs' },
    { area: 'Attic', floor: null },
  ];
  const names = (own: Partial<HomePreferences> = {}) => areas(state, own, plan).map(({ name }) => name);

  test('stand as the hub orders them, floor by floor; devices without a room come last', () => {
    expect(names()).toEqual(['Kitchen', 'Bedroom', 'Bath', 'Attic', 'No room']);
    expect(areas(state, {}, plan)[1]?.tiles[0]?.aliases).toEqual(['night lamp']);
  });

  test('are told apart by floors only when there are two of them', () => {
    const floors = (...chosen: readonly string[]) => floorsOf(areas(state, {}, plan).filter(({ name }) => chosen.includes(name)));
    expect(floors('Kitchen', 'Bath', 'Attic').map(({ name, areas: rooms }) => [name, rooms.length])).toEqual([
      ['Ground floor', 1],
      ['Upstairs', 1],
      [null, 1],
    ]);
    expect(floors('Bath', 'Bedroom', 'Attic').map(({ name }) => name)).toEqual([undefined]);
  });

  test('of a floor stand in the own order of a person', () => {
    expect(names({ rooms: ['Bath', 'Attic'] })).toEqual(['Kitchen', 'Bath', 'Bedroom', 'Attic', 'No room']);
  });

  test('omit a bridge, which has neither tools nor readings', () => {
    expect(areas(withDevices(EMPTY_HOME, [deviceView('bridge')]))).toEqual([]);
  });

  test('tell their temperature, and how much is on and open', () => {
    const open = wholeHomeDevice('Kitchen window', { is_open: true });
    const lit = wholeHomeDevice('Kitchen ceiling', { is_on: true });
    const facts = (name: string) => areas(whole(open, lit)).find((area) => area.name === name)?.facts;
    expect(facts('Kitchen')).toEqual(['1 light on', '1 open']);
    expect(facts('Bathroom')).toEqual(['21.5 °C', '45.5 %']);
  });

  test('have tiles in the own order of a person; others begin with alarms', () => {
    const ids = (own: Partial<HomePreferences> = {}) =>
      areas(whole(wholeHomeDevice('Leak detector', { is_leaking: true })), own)
        .find(({ name }) => name === 'Cellar')
        ?.tiles.map(({ id }) => id)
        .slice(0, 2);
    expect(ids()).toEqual(['leak-detector', 'boiler']);
    expect(ids({ devices: ['washer', 'water-meter'] })).toEqual(['washer', 'water-meter']);
  });
});

describe('what one tap controls in a room', () => {
  const groups = (name: string, ...changed: readonly DeviceView[]) => areas(whole(...changed)).find((area) => area.name === name)?.groups;

  test('are its lights, covers and climate devices, and nothing that may feed something else', () => {
    expect(groups('Bedroom')).toEqual([
      { kind: 'lights', devices: ['bedroom-lamp'], isActive: false },
      { kind: 'covers', devices: ['bedroom-blind'], isActive: true },
      { kind: 'climate', devices: ['bedroom-fan'], isActive: false },
    ]);
    expect(groups('Living room')?.[0]?.devices).toEqual(['living-room-lamp', 'party-light']);
    expect(groups('Garden')).toEqual([]);
  });

  test('is active while one of them is on or open', () => {
    expect(groups('Bedroom', wholeHomeDevice('Bedroom lamp', { is_on: true }))?.[0]?.isActive).toBe(true);
    expect(groups('Bedroom', wholeHomeDevice('Bedroom blind', { open_percent: 0 }))?.[1]?.isActive).toBe(false);
    expect(groups('Bedroom', wholeHomeDevice('Bedroom fan', { fan_mode: 'low' }))?.[2]?.isActive).toBe(true);
  });

  test('leaves out what the person may not control', () => {
    expect(groups('Bedroom', { ...wholeHomeDevice('Bedroom lamp'), tools: [] })?.map(({ kind }) => kind)).toEqual(['covers', 'climate']);
  });
});

describe('the summary', () => {
  const words = (...changed: readonly DeviceView[]) => summaryOf(homeDevices(whole(...changed))).map((item) => item.words);

  test('tells of what is on, open, unlocked, nearly empty, silent or an alarm, the most urgent first', () => {
    const changed = [
      wholeHomeDevice('Hall light', { is_on: true }),
      wholeHomeDevice('Party light', { is_on: true }),
      wholeHomeDevice('Kitchen window', { is_open: true, battery: 5 }),
      wholeHomeDevice('Front door', { lock_state: 'unlocked' }),
      wholeHomeDevice('Leak detector', { is_leaking: true }),
      { ...wholeHomeDevice('Robot'), reachability: 'unreachable' as const },
    ];
    expect(words(...changed)).toEqual(['1 alarm', '1 not reachable', '1 unlocked', '1 open', '2 lights on', '1 battery low']);
    const concerned = (concern: Concern) =>
      homeDevices(whole(...changed))
        .filter((one) => isConcerned(one, concern))
        .map(({ device: { name } }) => name);
    expect(concerned('lights').sort()).toEqual(['Hall light', 'Party light']);
    expect(concerned('batteries')).toEqual(['Kitchen window']);
  });

  test('is one sentence when there is nothing to tell', () => {
    const quiet = (...devices: readonly DeviceView[]) => quietWords(homeDevices(withDevices(EMPTY_HOME, devices)));
    expect(words()).toEqual([]);
    expect(quiet()).toBe('Nothing is here yet.');
    expect(quiet(device('a'))).toBe('All lights are off, and all is well.');
    expect(quiet(device('a', { device_types: ['Pump'] }))).toBe('One device, and all is well.');
  });
});

describe('the search', () => {
  const found = (words: string) =>
    homeDevices(whole())
      .filter((one) => isDeviceFound(one, words))
      .map(({ device: { name } }) => name);

  test('finds a device by words of its name, other names, room and kind, in any order', () => {
    expect(found('lamp living')).toEqual(['Living room lamp', 'Party light']);
    expect(found('KITCHEN wind')).toEqual(['Kitchen window']);
    expect(found('lights bedroom')).toEqual(['Bedroom lamp']);
    expect(found('nothing of the kind')).toEqual([]);
  });

  test('does not mind accents', () => {
    const [lamp] = homeDevices(withDevices(EMPTY_HOME, [device('k', { name: 'Küchenlampe' })]));
    expect(lamp && isDeviceFound(lamp, 'kuchen')).toBe(true);
  });
});

test('favourites stand in the order of the person, and a device that is gone is left out', () => {
  const tiles = favouritesOf(homeDevices(whole()), ['robot', 'gone', 'hall-light']);
  expect(tiles.map(({ id }) => id)).toEqual(['robot', 'hall-light']);
});

test('an event changes only the tile of its device', () => {
  const devices = Array.from({ length: 200 }, (_none, index) =>
    device(`d${index}`, {
      area: `Room ${index % 20}`,
      readings: [readingView(`d${index}`, 'power', { value: 1, kind: 'power', unit: 'W' })],
    }),
  );
  const before = withDevices(EMPTY_HOME, devices);
  const tilesOf = (state: HomeState) => new Map(areas(state).flatMap(({ tiles }) => tiles.map((tile) => [tile.id, tile] as const)));
  const old = tilesOf(before);
  const fresh = tilesOf(withEvent(before, eventView('sensor.reading', 'd7/power', { value: 40 })));
  expect([...fresh].filter(([id, tile]) => tile !== old.get(id)).map(([id]) => id)).toEqual(['d7']);
  expect(fresh.get('d7')?.state).toBe('40 W');
});
