import { expect, test } from 'vitest';
import { type NetworkNode, networkGroups, signalQuality } from '../../../src/web/pages/network-topology.ts';

const thread = (id: string, role: string): NetworkNode => ({
  id,
  device: id,
  name: id,
  kind: 'thread',
  role,
  network: 'Home',
  channel: 15,
});

test('nodes are grouped by network, Thread first, routers at the top', () => {
  const nodes: readonly NetworkNode[] = [
    { id: 'silent', device: 'silent', name: 'silent', kind: 'unknown', problem: 'is not reachable' },
    { id: 'plug', device: 'plug', name: 'plug', kind: 'wifi', network: 'a1:a1', rssi: -50 },
    thread('sensor', 'SleepyEndDevice'),
    thread('lamp', 'Router'),
    thread('boss', 'Leader'),
    { id: 'thread:88', name: 'Thread router 88', kind: 'thread', role: 'Router' },
  ];
  const groups = networkGroups({ nodes, links: [] });
  expect(groups.map(({ title, nodes: own }) => [title, own.map(({ node }) => node.id)])).toEqual([
    ['Thread Home, channel 15', ['boss', 'lamp', 'sensor']],
    ['Thread neighbours that are not of this hub', ['thread:88']],
    ['Wi-Fi a1:a1', ['plug']],
    ['Not told', ['silent']],
  ]);
});

test('the neighbours of a node have names, strongest first', () => {
  const links = [
    { from: 'lamp', to: 'sensor', rssi: -85, is_child: true },
    { from: 'lamp', to: 'boss', rssi: -60, is_child: false },
    { from: 'lamp', to: 'thread:77', is_child: false },
  ];
  const [group] = networkGroups({ nodes: [thread('lamp', 'Router'), thread('boss', 'Leader'), thread('sensor', 'EndDevice')], links });
  const hears = group?.nodes.find(({ node }) => node.id === 'lamp')?.hears;
  expect(hears?.map(({ name, hearing: { word } }) => `${name} ${word}`)).toEqual(['boss strong', 'sensor weak', 'thread:77 unknown']);
});

test.each([
  [-50, 'strong', false],
  [-67, 'strong', false],
  [-68, 'fair', false],
  [-80, 'fair', false],
  [-81, 'weak', true],
  [undefined, 'unknown', false],
])('%s dBm is %s', (rssi, word, isWeak) => {
  expect(signalQuality(rssi)).toEqual({ word, isWeak });
});
