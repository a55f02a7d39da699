import { expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { NodeBounds } from '../../../src/profiles/home/node-bounds.ts';
import { described } from '../device-fixtures.ts';
import { FakeHome } from '../fake-home.ts';
import { ToolHarness } from '../tool-harness.ts';

const [lamp, lock] = [described('OnOffLight'), described('DoorLock')];

test('endpoints belong to the device that describes them, also where several share a node', () => {
  const moved = { ...lock, endpoints: lock.endpoints.map((endpoint) => ({ ...endpoint, endpoint: endpoint.endpoint + 10 })) };
  const node = { nodeId: '7' };
  const home = new FakeHome({ ...lamp, device: { ...lamp.device, ...node } }, { ...moved, device: { ...lock.device, ...node } });
  const bounds = new NodeBounds(home, { get: () => undefined });
  expect(bounds.nodeOf(lamp.device.id)).toEqual([lamp.device.id, lock.device.id]);
  expect(bounds.ownerOf(lamp.device.id, 1)).toBe(lamp.device.id);
  expect(bounds.ownerOf(lamp.device.id, 11)).toBe(lock.device.id);
  expect(bounds.ownerOf(lamp.device.id, 99)).toBeUndefined();
  expect(bounds.nodeOf(parseDeviceId('gone'))).toEqual(['gone']);
});

test('the whole of what is behind a bridge, or a part of it, is the bridge', () => {
  const bridge = described('OnOffLight', { device: { id: parseDeviceId('bridge') } });
  const bridged = { ...lamp, device: { ...lamp.device, parent: bridge.device.id } };
  const part = { ...lock, device: { ...lock.device, parent: bridged.device.id } };
  const bounds = new NodeBounds(new FakeHome(bridge, bridged, part), { get: () => undefined });
  for (const { device } of [bridge, bridged, part]) expect(bounds.wholeOf(device.id)).toBe('bridge');
});

test('the risk of an endpoint is that of the most dangerous thing it does', async () => {
  const { home, sync } = await new ToolHarness(lamp, lock).start();
  const bounds = new NodeBounds(home, sync);
  expect(bounds.riskOn(lock.device.id, 1)).toBe('dangerous');
  expect(bounds.riskOn(lamp.device.id, 1)).toBe('medium');
  expect(bounds.riskOn(parseDeviceId('gone'), 1)).toBe('dangerous');
});

test('the risk of a command is what the tools of this very device say', async () => {
  const { home, sync } = await new ToolHarness(lamp, lock).start();
  const bounds = new NodeBounds(home, sync);
  const on = { endpoint: 1, cluster: 'OnOff', command: 'On' };
  const usual = bounds.riskOfCommand({ device: lamp.device.id, ...on });
  const raised = {
    get: (id: typeof lamp.device.id) => {
      const compiled = sync.get(id);
      return compiled && { ...compiled, tools: compiled.tools.map((tool) => ({ ...tool, risk: 'dangerous' as const })) };
    },
  };
  expect([usual, new NodeBounds(home, raised).riskOfCommand({ device: lamp.device.id, ...on })]).toEqual(['low', 'dangerous']);
  expect(bounds.riskOfCommand({ device: lock.device.id, endpoint: 1, cluster: 'DoorLock', command: 'UnlockDoor' })).toBe('dangerous');
  expect(bounds.riskOfCommand({ device: lock.device.id, ...on })).toBe('none');
  expect(bounds.riskOfCommand({ device: parseDeviceId('gone'), ...on })).toBe('dangerous');
});

test('each cluster of a device is listed with the source of its tools', async () => {
  const { home, sync } = await new ToolHarness(lamp, lock).start();
  const served = new NodeBounds(home, sync).servedClusters(lamp.device.id);
  const clusters = lamp.endpoints.flatMap((endpoint) => endpoint.clusters.map((cluster) => `${endpoint.endpoint} ${cluster.name}`));
  expect(served.map(({ endpoint, cluster }) => `${endpoint} ${cluster}`).sort()).toEqual(clusters.sort());
  expect(served).toContainEqual({ endpoint: 1, cluster: 'OnOff', served_by: 'profile' });
  expect(new NodeBounds(home, sync).servedClusters(parseDeviceId('gone'))).toEqual([]);
});
