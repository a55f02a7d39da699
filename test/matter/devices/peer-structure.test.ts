import type { ClientNode } from '@matter/main/node';
import { expect, test } from 'vitest';
import { planDevices } from '../../../src/matter/devices/device-composition.ts';
import { snapshotOf } from '../../../src/matter/devices/peer-structure.ts';

type States = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const ROOT: States = { descriptor: { deviceTypeList: [{ deviceType: 22, revision: 1 }], serverList: [29, 40], partsList: [1, 2, 3] } };
const AGGREGATOR: States = { descriptor: { deviceTypeList: [{ deviceType: 14, revision: 1 }], serverList: [29], partsList: [2, 3] } };
const LAMP: States = {
  descriptor: { deviceTypeList: [{ deviceType: 256, revision: 1 }], serverList: [29, 6], partsList: [] },
  bridgedDeviceBasicInformation: { reachable: true, nodeLabel: 'Attic', uniqueId: 'a1' },
};
/** As matter.js makes an endpoint before it has read it. */
const UNREAD: States = { descriptor: {}, bridgedDeviceBasicInformation: {} };

function peer(endpoints: Readonly<Record<number, States>>): ClientNode {
  const made = Object.entries(endpoints).map(([number, states]) => ({
    number: Number(number),
    behaviors: { supported: states },
    maybeStateOf: (behavior: string) => states[behavior],
  }));
  return { ...made[0], endpoints: made } as unknown as ClientNode;
}

const namesOf = (node: ClientNode): readonly string[] =>
  planDevices(snapshotOf(node, '5')).map(({ label, productName }) => label || productName);

test('a device that joins a bridge is announced when its type is known, and not as one without a type before', () => {
  const before = namesOf(peer({ 0: ROOT, 1: AGGREGATOR, 2: LAMP }));
  expect(before).toContain('Attic');
  expect(namesOf(peer({ 0: ROOT, 1: AGGREGATOR, 2: LAMP, 3: UNREAD }))).toEqual(before);
  const typed = { ...UNREAD, descriptor: LAMP.descriptor ?? {} };
  expect(namesOf(peer({ 0: ROOT, 1: AGGREGATOR, 2: LAMP, 3: typed }))).toEqual(before);
  const read = { ...LAMP, bridgedDeviceBasicInformation: { reachable: true, nodeLabel: 'Cellar', uniqueId: 'c1' } };
  expect(namesOf(peer({ 0: ROOT, 1: AGGREGATOR, 2: LAMP, 3: read }))).toEqual([...before, 'Cellar']);
});
