import { expect, test } from 'vitest';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { deviceChanges, type KnownDevice } from '../../../src/matter/devices/node-devices.ts';

const known = (id: string, signature = 'same', reachability: Device['reachability'] = 'reachable'): KnownDevice =>
  ({ device: { id, reachability }, signature }) as KnownDevice;
const summary = (before: readonly KnownDevice[], now: readonly KnownDevice[]): readonly string[] =>
  deviceChanges(before, now).map(({ kind, device }) => `${kind} ${device.id}`);

test('an unchanged node has no changes', () => {
  expect(summary([known('a'), known('b')], [known('b'), known('a')])).toEqual([]);
});

test('removed devices are emitted before added ones', () => {
  expect(summary([known('a'), known('b')], [known('c'), known('a')])).toEqual(['removed b', 'added c']);
});

test('another structure and another reachability are two changes of one device', () => {
  const before = known('a');
  const now = known('a', 'other', 'unreachable');
  expect(deviceChanges([before], [now])).toEqual([
    { kind: 'changed', device: now.device, before: before.device },
    { kind: 'reachability', device: now.device },
  ]);
});
