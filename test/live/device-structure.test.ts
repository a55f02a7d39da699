import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeviceChange } from '../../src/core/devices/device-directory.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub, until } from '../matter/device-hub.ts';

const NAMES = ['Attic bridge', 'Bath sensor', 'Fridge', 'Party light'];

let dir: string;
let home: VirtualHome;
let hub: DeviceHub;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'device-structure-'));
  home = await VirtualHome.start({ spec: together(homeOf(standardHome(), NAMES)), dir: join(dir, 'home') });
  hub = new DeviceHub(dir);
  await hub.start();
  for (const name of NAMES) await hub.commission(home.device(name));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

const behindBridge = () => hub.devices.list().filter(({ kind }) => kind === 'bridged');

describe('devices of composed and bridging nodes', () => {
  test('a bridge shows itself and each device behind it by its own name', () => {
    const bridged = homeOf(standardHome(), ['Attic bridge']).devices[0]?.bridged ?? [];
    expect(bridged.length).toBeGreaterThan(1);
    expect(
      behindBridge()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(bridged.map(({ name }) => name).sort());
    const parents = new Set(behindBridge().map(({ parent }) => parent));
    expect(hub.devices.get([...parents][0] ?? expect.unreachable('no parent'))).toMatchObject({ kind: 'node' });
    expect(parents.size).toBe(1);
  });

  test('a composed device shows a part for each thing it does', () => {
    const parts = hub.devices.list().filter(({ kind }) => kind === 'part');
    const types = parts.map(({ deviceTypes }) => deviceTypes[0]);
    expect(types).toEqual(expect.arrayContaining(['TemperatureSensor', 'HumiditySensor', 'TemperatureControlledCabinet']));
    expect(new Set(parts.map(({ name }) => name)).size).toBe(parts.length);
    for (const part of parts) expect(hub.devices.describe(part.id)?.endpoints[0]?.clusters.length).toBeGreaterThan(1);
  });

  test('a device added to or removed from the bridge at run time is told, with a working description', async () => {
    const changes: DeviceChange[] = [];
    const stop = hub.devices.onChange((change) => changes.push(change));
    const bridge = home.device('Attic bridge');
    const like = homeOf(standardHome(), ['Attic bridge']).devices[0]?.bridged?.[0] ?? expect.unreachable('the bridge is empty');
    await bridge.addBridged({ ...like, id: 'late', name: 'Late arrival' });
    await until(() => changes.some(({ kind, device }) => kind === 'added' && device.name === 'Late arrival'));
    const added = changes.find(({ kind }) => kind === 'added')?.device ?? expect.unreachable('nothing was added');
    expect(hub.devices.describe(added.id)?.endpoints[0]?.clusters.length).toBeGreaterThan(2);
    await bridge.removeBridged('late');
    await until(() => changes.some(({ kind, device }) => kind === 'removed' && device.id === added.id));
    stop();
    expect(hub.devices.get(added.id)).toBeUndefined();
  });

  test('what the bridge cannot reach is unreachable and gets no command, the bridge itself stays', async () => {
    const victim =
      behindBridge().find(({ deviceTypes }) => deviceTypes.some((type) => /Light|Plug/.test(type))) ?? expect.unreachable('no light');
    const endpoint = hub.devices.describe(victim.id)?.endpoints[0]?.endpoint ?? 0;
    await home.device('Attic bridge').set(endpoint, 'BridgedDeviceBasicInformation', 'reachable', false);
    await until(() => hub.devices.get(victim.id)?.reachability === 'unreachable');
    const before = (await home.device('Attic bridge').commands()).length;
    const path = { device: victim.id, endpoint, cluster: 'OnOff', command: 'On' };
    await expect(hub.devices.invoke(path, {}, { signal: new AbortController().signal })).rejects.toMatchObject({
      code: 'DEVICE_UNREACHABLE',
    });
    expect((await home.device('Attic bridge').commands()).length).toBe(before);
    expect(hub.devices.get(victim.parent ?? victim.id)?.reachability).toBe('reachable');
    await home.device('Attic bridge').set(endpoint, 'BridgedDeviceBasicInformation', 'reachable', true);
    await until(() => hub.devices.get(victim.id)?.reachability === 'reachable');
  });

  test("a manufacturer's cluster without a model is readable by number", () => {
    const light = hub.devices
      .list()
      .find(({ nodeId }) => hub.devices.devicesOfNode(nodeId)[0]?.product.name.toLowerCase().includes('spark'));
    const clusters = hub.devices
      .list()
      .flatMap(
        ({ id }) =>
          hub.devices
            .describe(id)
            ?.endpoints.flatMap((endpoint) => endpoint.clusters.map((cluster) => ({ id, endpoint: endpoint.endpoint, cluster }))) ?? [],
      );
    const unknown =
      clusters.find(({ cluster }) => cluster.name.startsWith('Cluster0x')) ?? expect.unreachable(`no unknown cluster (${light?.id})`);
    expect(unknown.cluster.attributes.length).toBeGreaterThan(0);
    expect(unknown.cluster.commands).toEqual([]);
    for (const { name, writable } of unknown.cluster.attributes) {
      expect(name).toMatch(/^Attr0x[0-9a-f]+$/);
      expect(writable).toBe(false);
      expect(
        hub.devices.cached({ device: unknown.id, endpoint: unknown.endpoint, cluster: unknown.cluster.name, attribute: name }),
      ).toBeDefined();
    }
  });

  test('ids are the same after a restart, at once and before any device answered; who asks after the end is told of none', async () => {
    const before = hub.devices.list().map(({ id, name }) => [id, name]);
    const { store, devices } = hub;
    const [known = expect.unreachable('no device')] = devices.list();
    expect(devices.describe(known.id)).toMatchObject({ device: { id: known.id } });
    await hub[Symbol.asyncDispose]();
    expect(devices.describe(known.id)).toBeUndefined();
    hub = new DeviceHub(dir, { store });
    const startedMs = performance.now();
    await hub.start();
    expect(hub.devices.list().map(({ id, name }) => [id, name])).toEqual(before);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    await until(() => hub.devices.list().every(({ reachability }) => reachability === 'reachable'), 20_000);
  });
});
