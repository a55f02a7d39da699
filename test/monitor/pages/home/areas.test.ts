import { expect, test } from 'vitest';
import { NO_HOME, withDevices } from '../../../../src/monitor/api/home-state.ts';
import type { DeviceView } from '../../../../src/monitor/api/hub-types.ts';
import { areasOf } from '../../../../src/monitor/pages/home/areas.ts';
import { deviceView, toolIds } from '../../home.ts';

const device = (id: string, traits: Partial<DeviceView> = {}) => deviceView(id, { tools: toolIds(id, 'turn_on'), ...traits });

test('rooms of one floor stand together, then those without, and last what has no room', () => {
  const state = withDevices(NO_HOME, [
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

test('a bridge that says and does nothing has no tile', () => {
  expect(areasOf(withDevices(NO_HOME, [deviceView('bridge')]))).toEqual([]);
});
