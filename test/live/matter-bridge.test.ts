import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientNode } from '@matter/main/node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { BareController } from '../home/bare-controller.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import type { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { SysfsTree } from '../sensors/sysfs-tree.ts';
import { approve, BridgeLab, isOn } from './bridge-lab.ts';
import { SeenThing, statusOf, switched } from './seen-thing.ts';

const LAMP = 'Living room lamp';
const LOCK = 'Front door';
const PROBE = 'devices/w1_bus_master1/28-000005e2fdc3/w1_slave';

const tree = SysfsTree.of('pi5');
const lab = new BridgeLab({
  sysfs: tree.root,
  poll_seconds: 1,
  devices: { pond: { source: 'w1:28-000005e2fdc3', title: 'Pond', area: 'Garden' } },
  gpio: {
    backend: 'sim',
    outputs: { pump: { line: 'GPIO27', title: 'Pump' }, siren: { line: 'GPIO22', title: 'Siren', risk: 'dangerous' } },
  },
});
const { first, second } = lab;
const RULES = `rules:
  - name: no pump
    effect: deny
    reason: the pump stays on
    when: { agent: ecosystem-1 }
`;
let home: VirtualHome;
let controller: BareController;
let peer: ClientNode;

beforeAll(async () => {
  ({ home, controller } = await lab.start(homeOf(standardHome(), [LAMP, LOCK])));
}, 120_000);

afterAll(async () => {
  await lab[Symbol.asyncDispose]();
  tree[Symbol.dispose]();
});

const seen = (label: string) => new SeenThing(peer, label);
const lamp = () => home.device(LAMP);

describe('a bare controller', () => {
  test('commissions the bridge with things of the board and of the other hub', async () => {
    expect(await first.result('hub:bridge_device', { thing: 'pond' })).toMatchObject({
      things: [{ kind: 'temperature_sensor', bridge: 1 }],
    });
    await first.result('hub:bridge_device', { thing: 'pump' });
    expect(await first.result('hub:bridge_device', { thing: LAMP })).toMatchObject({
      things: [{ kind: 'dimmable_light', hub: second.id }],
    });
    peer = await lab.commission(controller);
    await until(() => seen('Pump').isThere && seen(LAMP).isThere);
    expect(await first.result('hub:list_ecosystems')).toMatchObject({
      ecosystems: [{ ecosystem: 'ecosystem-1', label: 'Bare', vendor: 'test vendor' }],
    });
  });

  test('sees what the things report', async () => {
    await until(() => seen('Pond temperature').state('temperatureMeasurement').measuredValue === 2288);
    tree.write(PROBE, '6e 01 4b 46 7f ff 02 10 71 : crc=71 YES\n6e 01 4b 46 7f ff 02 10 71 t=19500');
    await until(() => seen('Pond temperature').state('temperatureMeasurement').measuredValue === 1950);
    await lamp().set(1, 'LevelControl', 'CurrentLevel', 127);
    await until(() => seen(LAMP).state('levelControl').currentLevel === 127);
    expect(seen(LAMP).information.reachable).toBe(true);
  });

  test('controls an output of the board and a lamp of the other hub, as an agent of its own', async () => {
    await seen('Pump').invoke('onOff', 'on');
    expect(await isOn(first, 'pump')).toBe(true);
    await until(() => seen('Pump').state('onOff').onOff === true);
    await seen(LAMP).invoke('onOff', 'on');
    expect(await lamp().get(1, 'OnOff', 'OnOff')).toBe(true);
    await seen(LAMP).invoke('levelControl', 'moveToLevel', { level: 51, transitionTime: 0, optionsMask: {}, optionsOverride: {} });
    expect(await lamp().get(1, 'LevelControl', 'CurrentLevel')).toBe(51);
    const audit = JSON.stringify(await first.get('/api/v1/audit?limit=20'));
    expect(audit).toContain('ecosystem-1');
    expect(audit).toContain('gpio:pump_turn_on');
  });

  test('is refused what the owner did not choose', async () => {
    expect(seen('Siren').isThere).toBe(false);
    const known = new Set([...peer.endpoints].map(({ number }) => Number(number)));
    const others = Array.from({ length: 16 }, (_, number) => number + 1).filter((number) => !known.has(number));
    expect(others.length).toBeGreaterThan(8);
    for (const endpoint of others) expect(await switched(peer, endpoint, 'on')).toBe('UnsupportedEndpoint');
    expect(await isOn(first, 'siren')).toBe(false);
  });

  test('a dangerous output and a lock need the word of the owner', async () => {
    for (const thing of ['siren', LOCK]) {
      const answer = await first.call('hub:bridge_device', { thing });
      expect(answer).toMatchObject({ status: 'error', error: { code: 'CONFLICT' } });
      await first.result('hub:bridge_device', { thing, dangerous: true });
    }
    await until(() => seen('Siren').isThere && seen(LOCK).isThere);
  });

  test('a dangerous command is refused at once, changes nothing, and runs when it is repeated after an approval', async () => {
    expect(await statusOf(seen('Siren').invoke('onOff', 'on'))).toBe('Failure');
    expect(await isOn(first, 'siren')).toBe(false);
    expect(seen('Siren').state('onOff').onOff).toBe(false);
    await approve(first, 'ecosystem-1');
    expect(await isOn(first, 'siren')).toBe(false);
    await seen('Siren').invoke('onOff', 'on');
    expect(await isOn(first, 'siren')).toBe(true);
    await until(() => seen('Siren').state('onOff').onOff === true);
  });

  test('a lock of another hub stays locked until a person of that hub has approved', async () => {
    expect(await statusOf(seen(LOCK).invoke('doorLock', 'unlockDoor', {}))).toBe('Failure');
    expect(await home.device(LOCK).get(1, 'DoorLock', 'LockState')).toBe(1);
    expect(seen(LOCK).state('doorLock').lockState).toBe(1);
  });

  test('a rule about the ecosystem holds, and the refused command leaves the attribute as it was', async () => {
    writeFileSync(join(first.stateDir, 'rules.yaml'), RULES, { mode: 0o600 });
    await until(async () => JSON.stringify(await first.result('hub:list_rules')).includes('no pump'));
    expect(await statusOf(seen('Pump').invoke('onOff', 'off'))).toBe('UnsupportedAccess');
    expect(await isOn(first, 'pump')).toBe(true);
    expect(seen('Pump').state('onOff').onOff).toBe(true);
    writeFileSync(join(first.stateDir, 'rules.yaml'), 'rules: []', { mode: 0o600 });
    await until(async () => !JSON.stringify(await first.result('hub:list_rules')).includes('no pump'));
    await seen('Pump').invoke('onOff', 'off');
    expect(await isOn(first, 'pump')).toBe(false);
  });
});

describe('the second hub', () => {
  test('takes its things with it when it is gone: they are shown as not reachable, and keep their state', async () => {
    await second.stop();
    await until(() => seen(LAMP).information.reachable === false, 30_000);
    expect(await statusOf(seen(LAMP).invoke('onOff', 'off'))).toBe('Failure');
    expect(seen(LAMP).state('onOff').onOff).toBe(true);
    await second.start();
    await until(() => seen(LAMP).information.reachable === true, 30_000);
  });

  test('commissions the bridge as any ecosystem does, and what it got is not bridged once more', async () => {
    const { qr_code: code } = await first.result('hub:open_bridge', {});
    await second.result('hub:commission_device', { code: String(code), name: 'Bridge of the first' });
    expect(await first.result('hub:list_ecosystems')).toMatchObject({
      ecosystems: [{}, { ecosystem: 'ecosystem-2', label: 'atmosphere-edge' }],
    });
    await until(async () => (await second.call('pump_turn_on')).status === 'success');
    expect(await isOn(first, 'pump')).toBe(true);
    type Candidate = { readonly thing: string; readonly name: string; readonly hub?: string };
    const { candidates } = (await first.result('hub:list_bridged', { candidates: true })) as { candidates: readonly Candidate[] };
    expect(candidates.map(({ thing }) => thing)).toContain('pond/temperature');
    const ofSecond = candidates.filter(({ hub }) => hub !== undefined).map(({ name }) => name);
    expect(ofSecond).toContain(LAMP);
    expect(ofSecond).not.toContain('Pond temperature');
    expect(await first.call('hub:bridge_device', { thing: 'Pond temperature', hub: second.id })).toMatchObject({
      error: { code: 'NOT_SUPPORTED' },
    });
  });
});

describe('a bridge', () => {
  test('refuses an ecosystem whose token was revoked, and loses it', async () => {
    const { tokens } = (await first.result('hub:list_tokens')) as { tokens: readonly JsonObject[] };
    const held = tokens.find(({ agent_id: id, state }) => id === 'ecosystem-1' && state === 'valid');
    await first.result('hub:revoke_token', { token_id: String(held?.token_id) });
    await expect(seen('Pump').invoke('onOff', 'off')).rejects.toThrow();
    expect(await isOn(first, 'pump')).toBe(true);
    expect(await first.result('hub:list_ecosystems')).toMatchObject({ ecosystems: [{ ecosystem: 'ecosystem-2' }] });
  });
});
