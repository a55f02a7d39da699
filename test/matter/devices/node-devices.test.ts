import type { ClientNode } from '@matter/main/node';
import { expect, test } from 'vitest';
import { DeviceStore } from '../../../src/matter/devices/device-store.ts';
import { NodeDevices } from '../../../src/matter/devices/node-devices.ts';
import { MemoryStore } from '../memory-store.ts';

test('a device was last seen when it answered a call or confirmed its values, also after its session has ended', () => {
  const descriptor = { deviceTypeList: [{ deviceType: 22, revision: 1 }], serverList: [29, 40], partsList: [] };
  const root = { number: 0, behaviors: { supported: { descriptor } }, maybeStateOf: () => descriptor };
  const endpoints = Object.assign([root], { has: () => false });
  const peer = { ...root, endpoints, state: { commissioning: {} } } as unknown as ClientNode;
  const node = new NodeDevices({ node: peer, nodeId: '5', store: new DeviceStore(new MemoryStore()), joinedMs: 0 });
  node.refresh();
  const seenMs = () => node.known.map((known) => node.deviceNow(known).lastSeenMs);
  expect(seenMs()).toEqual([0]);
  node.answeredMs = 5_000;
  expect(seenMs()).toEqual([5_000]);
  node.confirmedMs = 9_000;
  expect(seenMs()).toEqual([9_000]);
  node.refresh();
  node.confirmedMs = 0;
  expect(seenMs()).toEqual([9_000]);
});
