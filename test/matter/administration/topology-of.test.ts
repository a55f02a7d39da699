import { expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { type NetworkReport, topologyOf } from '../../../src/matter/administration/network-topology.ts';

const LAMP = '0011223344556677';
const SENSOR = 'f1f2f3f4f5f6f7f8';
const ROUTER = '8899aabbccddeeff';

const device = (id: string) => ({ id: parseDeviceId(id), name: id, reachability: 'reachable' as const });
const decimal = (hex: string) => BigInt(`0x${hex}`).toString();
const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
const radio = (hex: string, type = 'Thread'): JsonObject => ({
  NetworkInterfaces: [{ name: 'wpan0', isOperational: true, hardwareAddress: base64(hex), type }],
});

const lamp: NetworkReport = {
  device: device('lamp'),
  general: radio(LAMP),
  thread: {
    RoutingRole: 'Router',
    NetworkName: 'Home',
    Channel: 15,
    NeighborTable: [
      { extAddress: decimal(SENSOR), averageRssi: -71, lastRssi: -60, lqi: 2, isChild: true },
      { extAddress: decimal(ROUTER), averageRssi: null, lastRssi: -50, lqi: 3, isChild: false },
    ],
    RouteTable: [{ extAddress: decimal(ROUTER), rloc16: 1, allocated: true }],
  },
};
const sensor: NetworkReport = {
  device: device('sensor'),
  general: radio(SENSOR),
  thread: { RoutingRole: 'SleepyEndDevice', NetworkName: 'Home', Channel: 15, NeighborTable: [] },
};

test('a neighbour is the device with its address, or a node without a device', () => {
  const { nodes, links } = topologyOf([lamp, sensor]);
  expect(links).toEqual([
    { from: 'lamp', to: 'sensor', rssi: -71, lqi: 2, isChild: true },
    { from: 'lamp', to: `thread:${ROUTER}`, rssi: -50, lqi: 3, isChild: false },
  ]);
  expect(nodes).toMatchObject([
    { id: 'lamp', device: 'lamp', kind: 'thread', role: 'Router', network: 'Home', channel: 15 },
    { id: 'sensor', role: 'SleepyEndDevice' },
    { id: `thread:${ROUTER}`, name: `Thread router ${ROUTER}`, role: 'Router' },
  ]);
  expect(nodes[2]).not.toHaveProperty('device');
});

test('an address with zeros in front and one beyond 53 bits are the same as their hardware address', () => {
  expect(topologyOf([lamp, sensor]).nodes).toHaveLength(3);
  const near: NetworkReport = { ...sensor, thread: { NeighborTable: [{ extAddress: Number(BigInt(`0x${LAMP}`)), isChild: false }] } };
  expect(topologyOf([lamp, near]).links.at(-1)?.to).toBe('lamp');
});

test('a device on Wi-Fi has its access point and signal strength', () => {
  const plug = { device: device('plug'), general: {}, wifi: { Bssid: base64('a0b1c2d3e4f5'), ChannelNumber: 6, Rssi: -82 } };
  expect(topologyOf([plug]).nodes).toMatchObject([{ kind: 'wifi', network: 'a0:b1:c2:d3:e4:f5', channel: 6, rssi: -82 }]);
});

test('without a network diagnostics cluster, the operational interface decides the kind of network', () => {
  const kinds = ['Thread', 'WiFi', 'Ethernet', 'Cellular'].map(
    (type) => topologyOf([{ device: device('x'), general: radio(LAMP, type) }]).nodes[0]?.kind,
  );
  expect(kinds).toEqual(['thread', 'wifi', 'ethernet', 'unknown']);
});

test('a node that did not answer is listed with the reason, and invalid values are omitted', () => {
  const silent = { device: device('silent'), general: {}, problem: 'is not reachable' };
  const odd = { device: device('odd'), general: {}, thread: { RoutingRole: 7, NeighborTable: [{ extAddress: 'zz' }, { lqi: 3 }, 4] } };
  const { nodes, links } = topologyOf([silent, odd]);
  expect(nodes).toMatchObject([
    { id: 'silent', problem: 'is not reachable', kind: 'unknown' },
    { id: 'odd', kind: 'thread' },
  ]);
  expect(nodes[1]).not.toHaveProperty('role');
  expect(links).toEqual([]);
});
