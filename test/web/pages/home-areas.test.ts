import { expect, test } from 'vitest';
import { EMPTY_HOME, type HomeState, withDevices, withEvent } from '../../../src/web/api/home-store.ts';
import type { DeviceView } from '../../../src/web/api/hub-types.ts';
import { areasOf, summaryOf } from '../../../src/web/pages/home-areas.ts';
import { deviceView, eventView, readingView, toolIds } from '../home-fixture.ts';

const device = (id: string, traits: Partial<DeviceView> = {}) => deviceView(id, { tools: toolIds(id, 'turn_on'), ...traits });

test('rooms are sorted by floor, then come rooms without a floor, and last devices without a room', () => {
  const state = withDevices(EMPTY_HOME, [
    device('a', { area: null }),
    device('b', { area: 'Attic' }),
    device('c', { area: 'Bath', floor: 'Upstairs' }),
    device('d', { area: 'Kitchen', floor: 'Ground floor' }),
    device('e', { area: 'Bedroom', floor: 'Upstairs', aliases: ['night lamp'] }),
  ]);
  const areas = areasOf(state);
  expect(areas.map(({ name, floor }) => [name, floor])).toEqual([
    ['Kitchen', 'Ground floor'],
    ['Bath', 'Upstairs'],
    ['Bedroom', 'Upstairs'],
    ['Attic', null],
    ['Elsewhere', null],
  ]);
  expect(areas[2]?.tiles[0]?.aliases).toEqual(['night lamp']);
});

test('a bridge without tools and readings has no tile', () => {
  expect(areasOf(withDevices(EMPTY_HOME, [deviceView('bridge')]))).toEqual([]);
});

test('the summary of a home works also without lights and without devices', () => {
  const away = { device_types: ['TemperatureSensor'], reachability: 'unreachable' } as const;
  expect(summaryOf(EMPTY_HOME)).toBe('Nothing is here yet.');
  expect(summaryOf(withDevices(EMPTY_HOME, [deviceView('a')]))).toBe('All lights are off.');
  expect(summaryOf(withDevices(EMPTY_HOME, [deviceView('a', away), deviceView('b', away)]))).toBe('2 devices, 2 devices do not answer.');
});

test('an event changes only the tile of its device', () => {
  const devices = Array.from({ length: 200 }, (_none, index) =>
    device(`d${index}`, {
      area: `Room ${index % 20}`,
      readings: [readingView(`d${index}`, 'power', { value: 1, kind: 'power', unit: 'W' })],
    }),
  );
  const before = withDevices(EMPTY_HOME, devices);
  const tilesOf = (state: HomeState) => new Map(areasOf(state).flatMap(({ tiles }) => tiles.map((tile) => [tile.id, tile] as const)));
  const old = tilesOf(before);
  const fresh = tilesOf(withEvent(before, eventView('sensor.reading', 'd7/power', { value: 40 })));
  expect([...fresh].filter(([id, tile]) => tile !== old.get(id)).map(([id]) => id)).toEqual(['d7']);
  expect(fresh.get('d7')?.state).toBe('40 W');
});
