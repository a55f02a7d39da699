import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { DeviceSpec } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { MulticastEar } from './multicast-ear.ts';
import { RunningHub } from './running-hub.ts';

// Group frames go to port 5540, so each light has a host to itself.
const LIGHTS = ['Left light', 'Right light'];
const spec: readonly DeviceSpec[] = [
  { name: 'Left light', type: 'on-off-light', area: 'Hall', passcode: 20202021, discriminator: 101, port: 5540 },
  { name: 'Right light', type: 'on-off-light', area: 'Hall', passcode: 20202022, discriminator: 1102, port: 5540 },
  { name: 'Wall switch', type: 'wall-switch', area: 'Hall', passcode: 20202023, discriminator: 2103, port: 5540 },
];

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'administration-groups-'));
  [home, hub] = await Promise.all([
    VirtualHome.start({ spec: { devices: spec }, dir: join(dir, 'home') }),
    RunningHub.start({ stateDir: join(dir, 'state') }),
  ]);
  await Promise.all(
    spec.map(({ name, area }) =>
      hub.result('hub:commission_device', { code: home.device(name).pairing.manualCode, name, area, accept_attestation: true }),
    ),
  );
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

const isOn = (light: string): Promise<unknown> => home.device(light).get('light', 'OnOff', 'OnOff');
const areAll = (on: boolean) => async (): Promise<boolean> => (await Promise.all(LIGHTS.map(isOn))).every((state) => state === on);
const invokeGroup = (group: number, command: string): Promise<JsonObject> =>
  hub.result('hub:invoke_group', { group, cluster: 'OnOff', command });

/** How many commands each light has got since its process started. */
async function commandCounts(): Promise<readonly number[]> {
  const logs = await Promise.all(LIGHTS.map((light) => home.device(light).commands()));
  return logs.map((log) => log.filter(({ cluster }) => cluster === 'OnOff').length);
}

async function refusal(tool: string, params: JsonObject): Promise<JsonObject> {
  const answer = await hub.call(tool, params);
  if (answer.status !== 'error') throw new RangeError(`${tool} succeeded: ${JSON.stringify(answer.result)}`);
  return { ...answer.error };
}

describe('groups', () => {
  test('one frame switches all members, also after a restart and after a crash of the hub', async () => {
    const members = LIGHTS.map((name) => ({ device_id: name, endpoint: 1 }));
    const created = await hub.result('hub:create_group', { name: 'Hall', members });
    const group = Number(created.id);
    expect(created).toMatchObject({
      name: 'Hall',
      members: [
        { device: 'left-light', endpoint: 1 },
        { device: 'right-light', endpoint: 1 },
      ],
    });
    const table = (await home.device('Left light').get(0, 'GroupKeyManagement', 'GroupTable')) as object[];
    expect(table).toEqual([expect.objectContaining({ groupId: group, groupName: 'Hall', endpoints: [1] })]);

    const [fabric] = (await hub.result('hub:list_fabrics', { device_id: 'left-light' })) as unknown as { fabric_id: string }[];
    await using ear = await MulticastEar.listen(fabric?.fabric_id ?? '', group);
    await invokeGroup(group, 'On');
    await until(areAll(true));
    expect(await commandCounts()).toEqual([1, 1]);
    await expect.poll(() => ear.frames).toBe(1);

    await hub.stop();
    hub = await RunningHub.start({ stateDir: join(dir, 'state') });
    await invokeGroup(group, 'Off');
    await until(areAll(false));
    await hub.kill();
    hub = await RunningHub.start({ stateDir: join(dir, 'state') });
    await invokeGroup(group, 'On');
    await until(areAll(true));
    expect(await commandCounts()).toEqual([3, 3]);
    expect(ear.frames).toBe(3);
  });

  test('a member that left no longer obeys, one that came back does', async () => {
    const [group] = (await hub.result('hub:list_groups')) as unknown as { id: number }[];
    const id = group?.id ?? 0;
    const right = { group: id, device_id: 'right-light', endpoint: 1 };
    expect((await hub.result('hub:remove_group_member', right)).members).toEqual([{ device: 'left-light', endpoint: 1 }]);
    expect(await home.device('Right light').get(0, 'GroupKeyManagement', 'GroupTable')).toEqual([]);
    expect(await home.device('Right light').get(0, 'AccessControl', 'Acl')).toHaveLength(1);
    await invokeGroup(id, 'Off');
    await until(async () => (await isOn('Left light')) === false);
    expect(await isOn('Right light')).toBe(true);
    await hub.result('hub:add_group_member', right);
    await hub.result('hub:add_group_member', right);
    await invokeGroup(id, 'Off');
    await until(areAll(false));
  });

  test('what a group cannot take is refused before anything is sent', async () => {
    const [group] = (await hub.result('hub:list_groups')) as unknown as { id: number }[];
    const id = group?.id ?? 0;
    const before = await commandCounts();
    expect(await refusal('hub:invoke_group', { group: 999, cluster: 'OnOff', command: 'On' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await refusal('hub:invoke_group', { group: id, cluster: 'OnOff', command: 'Explode' })).toMatchObject({
      code: 'NOT_SUPPORTED',
      message: expect.stringContaining('Toggle'),
    });
    expect(
      await refusal('hub:invoke_group', { group: id, cluster: 'LevelControl', command: 'MoveToLevel', params: { level: 999 } }),
    ).toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(await refusal('hub:create_group', { name: 'Hall' })).toMatchObject({ code: 'CONFLICT' });
    expect(await commandCounts()).toEqual(before);
  });

  test('a deleted group leaves nothing behind in its members', async () => {
    const [group] = (await hub.result('hub:list_groups')) as unknown as { id: number }[];
    await hub.result('hub:delete_group', { group: group?.id ?? 0 });
    expect(await hub.result('hub:list_groups')).toEqual([]);
    for (const light of LIGHTS) {
      expect(await home.device(light).get(0, 'GroupKeyManagement', 'GroupTable')).toEqual([]);
      expect(await home.device(light).get(0, 'GroupKeyManagement', 'GroupKeyMap')).toEqual([]);
      expect(await home.device(light).get(0, 'AccessControl', 'Acl')).toHaveLength(1);
    }
  });
});

describe('bindings', () => {
  const ends = { device_id: 'wall-switch', endpoint: 1, target_device_id: 'left-light', target_endpoint: 1, cluster: 'OnOff' };
  const throwSwitch = (position: number): Promise<void> => home.device('Wall switch').set('switch', 'Switch', 'currentPosition', position);

  test('a bound switch controls the light by itself, also while the hub is off', async () => {
    await hub.result('hub:bind_devices', ends);
    await hub.result('hub:bind_devices', ends);
    const bindings = await hub.result('hub:get_bindings', { device_id: 'wall-switch', endpoint: 1 });
    expect(bindings).toEqual([expect.objectContaining({ endpoint: 1, cluster: 6 })]);
    expect(await home.device('Wall switch').get('switch', 'Binding', 'Binding')).toHaveLength(1);
    expect(await home.device('Left light').get(0, 'AccessControl', 'Acl')).toHaveLength(2);
    await hub.stop();
    await until(async () => {
      await throwSwitch(0);
      await throwSwitch(1);
      return (await isOn('Left light')) === true;
    });
    hub = await RunningHub.start({ stateDir: join(dir, 'state') });
  });

  test('unbinding takes back the binding and the right', async () => {
    await hub.result('hub:unbind_devices', ends);
    expect(await home.device('Wall switch').get('switch', 'Binding', 'Binding')).toEqual([]);
    expect(await home.device('Left light').get(0, 'AccessControl', 'Acl')).toHaveLength(1);
    expect(await hub.result('hub:get_bindings', { device_id: 'wall-switch', endpoint: 1 })).toEqual([]);
  });

  test('a cluster that the target lacks, and a source that cannot be bound, are refused', async () => {
    expect(await refusal('hub:bind_devices', { ...ends, cluster: 'DoorLock' })).toMatchObject({
      code: 'NOT_SUPPORTED',
      message: expect.stringContaining('OnOff'),
    });
    const wrong = { ...ends, device_id: 'right-light' };
    expect(await refusal('hub:bind_devices', wrong)).toMatchObject({ code: 'NOT_SUPPORTED' });
    expect(await home.device('Left light').get(0, 'AccessControl', 'Acl')).toHaveLength(1);
  });
});

test('a device that leaves the home leaves its groups', async () => {
  await hub.result('hub:create_group', { name: 'Both', members: LIGHTS.map((name) => ({ device_id: name, endpoint: 1 })) });
  await hub.result('hub:remove_device', { device_id: 'right-light' });
  const [group] = (await hub.result('hub:list_groups')) as unknown as { members: object[] }[];
  expect(group?.members).toEqual([{ device: 'left-light', endpoint: 1 }]);
});
