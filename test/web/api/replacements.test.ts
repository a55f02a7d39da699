import { expect, test } from 'vitest';
import { replacementsFor } from '../../../src/web/api/home-store.ts';
import type { DeviceView } from '../../../src/web/api/hub-types.ts';

function device(id: string, extra: Partial<DeviceView>): DeviceView {
  return {
    id,
    name: id,
    area: null,
    kind: 'node',
    matter_node_id: id,
    vendor: { id: 1, name: '' },
    product: { id: 1, name: '' },
    device_types: ['OnOffLight'],
    reachability: 'reachable',
    last_seen: null,
    age_ms: null,
    is_sleepy: false,
    tools: [],
    readings: [],
    ...extra,
  };
}

test('whole devices of other nodes may take the place of a device, first those of its type', () => {
  const lamp = device('lamp', {});
  const home = [
    lamp,
    device('lock', { device_types: ['DoorLock'] }),
    device('bulb', {}),
    device('part', { kind: 'part', matter_node_id: 'lamp' }),
    device('behind-a-bridge', { kind: 'bridged' }),
    device('line', { kind: 'board', matter_node_id: '' }),
  ];
  expect(replacementsFor(lamp, home).map(({ id }) => id)).toEqual(['bulb', 'lock']);
});
