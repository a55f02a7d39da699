import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClientNode } from '@matter/main/node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { readApproverKey, signedDecision } from '../../src/cli/identity/approver-key.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { BareController } from '../home/bare-controller.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { SysfsTree } from '../sensors/sysfs-tree.ts';
import { MAIN } from './main-program.ts';
import { foundMesh, untilComplete } from './mesh/lab-mesh.ts';
import { MeshHub } from './mesh/mesh-hub.ts';

const LAMP = 'Living room lamp';
const LOCK = 'Front door';
const PROBE = 'devices/w1_bus_master1/28-000005e2fdc3/w1_slave';

const dir = mkdtempSync(join(tmpdir(), 'matter-bridge-'));
const hosts = { first: new LabHost('first-hub', 2), second: new LabHost('second-hub', 3) };
const tree = SysfsTree.of('pi5');
const RULES = `rules:
  - name: no pump
    effect: deny
    reason: the pump stays on
    when: { agent: ecosystem-1 }
`;
let home: VirtualHome;
let first: MeshHub;
let second: MeshHub;
let controller: BareController;

beforeAll(async () => {
  await Promise.all(Object.values(hosts).map((host) => host.start()));
  home = await VirtualHome.start({ spec: homeOf(standardHome(), [LAMP, LOCK]), dir: join(dir, 'home') });
  const sensors = {
    sysfs: tree.root,
    poll_seconds: 1,
    devices: { pond: { source: 'w1:28-000005e2fdc3', title: 'Pond', area: 'Garden' } },
    gpio: {
      backend: 'sim',
      outputs: { pump: { line: 'GPIO27', title: 'Pump' }, siren: { line: 'GPIO22', title: 'Siren', risk: 'dangerous' } },
    },
  };
  const env = { ATMO_MATTER_INTERFACE: 'eth0' };
  first = new MeshHub({ host: hosts.first, dir, env, config: { matter: { enabled: true }, sensors } });
  second = new MeshHub({ host: hosts.second, dir, env, config: { matter: { enabled: true } } });
  await Promise.all([first.start(), second.start()]);
  for (const name of [LAMP, LOCK]) await second.result('hub:commission_device', { code: home.device(name).pairing.qrCode, name });
  await foundMesh([first, second]);
  await untilComplete([first, second]);
  controller = await BareController.start(join(dir, 'controller'));
}, 120_000);

afterAll(async () => {
  await controller?.[Symbol.asyncDispose]();
  await Promise.all([first, second].map((hub) => hub?.[Symbol.asyncDispose]()));
  await home?.[Symbol.asyncDispose]();
  await Promise.all(Object.values(hosts).map((host) => host[Symbol.asyncDispose]()));
  tree[Symbol.dispose]();
  rmSync(dir, { recursive: true, force: true });
});

type State = Readonly<Record<string, unknown>>;

/** A bridged thing as a controller sees it, found by its label. */
class Seen {
  readonly #peer: ClientNode;
  readonly #label: string;

  constructor(peer: ClientNode, label: string) {
    this.#peer = peer;
    this.#label = label;
  }

  get isThere(): boolean {
    return this.#find() !== undefined;
  }

  state(cluster: string): State {
    return (this.#find()?.stateOf(cluster) ?? {}) as State;
  }

  get information(): State {
    return this.state('bridgedDeviceBasicInformation');
  }

  async invoke(cluster: string, command: string, fields?: object): Promise<unknown> {
    const commands = this.#require().commandsOf(cluster) as unknown as Record<string, (fields?: object) => Promise<unknown>>;
    return commands[command]?.(fields);
  }

  async write(cluster: string, values: State): Promise<void> {
    await this.#require().setStateOf(cluster, values as never);
  }

  #find() {
    return [...this.#peer.endpoints].find(
      (one) => 'bridgedDeviceBasicInformation' in one.behaviors.supported && labelOf(one) === this.#label,
    );
  }

  #require() {
    return this.#find() ?? expect.unreachable(`${this.#label} is not on the bridge`);
  }
}

function labelOf(endpoint: { stateOf(cluster: string): unknown }): unknown {
  return (endpoint.stateOf('bridgedDeviceBasicInformation') as State).nodeLabel;
}

let peer: ClientNode;
const seen = (label: string) => new Seen(peer, label);
const lamp = () => home.device(LAMP);

/** Whether an output of the first hub is on. */
async function isOn(output: string): Promise<boolean> {
  const { values } = (await first.result('query_sensor', { sensor_id: `gpio/${output}` })) as { values: readonly { value: unknown }[] };
  return values[0]?.value === 1;
}

describe('a bare controller', () => {
  test('commissions the bridge with things of the board and of the other hub', async () => {
    expect(await first.result('hub:bridge_device', { thing: 'pond' })).toMatchObject({
      things: [{ kind: 'temperature_sensor', bridge: 1 }],
    });
    await first.result('hub:bridge_device', { thing: 'pump' });
    expect(await first.result('hub:bridge_device', { thing: LAMP })).toMatchObject({
      things: [{ kind: 'dimmable_light', hub: second.id }],
    });
    const { manual_code: manualCode } = await first.result('hub:open_bridge', {});
    peer = await controller.commission({ manualCode: String(manualCode) });
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
    expect(await isOn('pump')).toBe(true);
    await until(() => seen('Pump').state('onOff').onOff === true);
    await seen(LAMP).invoke('onOff', 'on');
    expect(await lamp().get(1, 'OnOff', 'OnOff')).toBe(true);
    await seen(LAMP).invoke('levelControl', 'moveToLevel', { level: 51, transitionTime: 0, optionsMask: {}, optionsOverride: {} });
    expect(await lamp().get(1, 'LevelControl', 'CurrentLevel')).toBe(51);
    const audit = JSON.stringify(await first.get('/api/v1/audit?limit=20'));
    expect(audit).toContain('ecosystem-1');
    expect(audit).toContain('gpio:pump_turn_on');
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
    await expect(seen('Siren').invoke('onOff', 'on')).rejects.toThrow();
    expect(await isOn('siren')).toBe(false);
    expect(seen('Siren').state('onOff').onOff).toBe(false);
    await approve('ecosystem-1');
    expect(await isOn('siren')).toBe(false);
    await seen('Siren').invoke('onOff', 'on');
    expect(await isOn('siren')).toBe(true);
    await until(() => seen('Siren').state('onOff').onOff === true);
  });

  test('a lock of another hub stays locked until a person of that hub has approved', async () => {
    await expect(seen(LOCK).invoke('doorLock', 'unlockDoor', {})).rejects.toThrow();
    expect(await home.device(LOCK).get(1, 'DoorLock', 'LockState')).toBe(1);
    expect(seen(LOCK).state('doorLock').lockState).toBe(1);
  });

  test('a rule about the ecosystem holds, and the refused command leaves the attribute as it was', async () => {
    writeFileSync(join(first.stateDir, 'rules.yaml'), RULES, { mode: 0o600 });
    await until(async () => JSON.stringify(await first.result('hub:list_rules')).includes('no pump'));
    await expect(seen('Pump').invoke('onOff', 'off')).rejects.toThrow();
    expect(await isOn('pump')).toBe(true);
    expect(seen('Pump').state('onOff').onOff).toBe(true);
    writeFileSync(join(first.stateDir, 'rules.yaml'), 'rules: []', { mode: 0o600 });
    await until(async () => !JSON.stringify(await first.result('hub:list_rules')).includes('no pump'));
    await seen('Pump').invoke('onOff', 'off');
    expect(await isOn('pump')).toBe(false);
  });
});

describe('the second hub', () => {
  test('takes its things with it when it is gone: they are shown as not reachable, and keep their state', async () => {
    await second.stop();
    await until(() => seen(LAMP).information.reachable === false, 30_000);
    await expect(seen(LAMP).invoke('onOff', 'off')).rejects.toThrow();
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
    expect(await isOn('pump')).toBe(true);
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
    expect(await isOn('pump')).toBe(true);
    expect(await first.result('hub:list_ecosystems')).toMatchObject({ ecosystems: [{ ecosystem: 'ecosystem-2' }] });
  });

  test('is found again after a restore of a backup, without a new code', async () => {
    const things = async () =>
      ((await first.result('hub:list_bridged')) as { things: readonly JsonObject[] }).things.map(({ unique_id: id }) => id);
    const before = await things();
    await first.stop();
    await atmo('backup', BACKUP);
    rmSync(first.stateDir, { recursive: true });
    await atmo('restore', BACKUP);
    await first.start();
    expect(await things()).toEqual(before);
    await until(async () => (await second.call('pump_turn_off')).status === 'success', 60_000, 500);
    expect(await isOn('pump')).toBe(false);
  });
});

const BACKUP = join(dir, 'first.backup');

/** Runs `atmo` for the first hub while it does not run. */
async function atmo(...args: readonly string[]): Promise<void> {
  const env = { ...process.env, ATMO_STATE_DIR: first.stateDir, ATMO_PASSPHRASE: 'a passphrase of the test' };
  await promisify(execFile)(process.execPath, [MAIN, ...args], { env });
}

/** The owner of the first hub approves what an agent asks for. */
async function approve(agent: string): Promise<void> {
  const { approvals } = (await first.result('hub:list_approvals')) as { approvals: readonly JsonObject[] };
  const asked =
    approvals.find(({ agent_id: id, state }) => id === agent && state === 'pending') ?? expect.unreachable('nothing was asked for');
  const key = readApproverKey(join(first.stateDir, 'owner.key'));
  const decision = signedDecision(asked, { decision: 'approve', person: 'owner', key });
  expect((await first.door.send(`/api/v1/approvals/${String(asked.approval_id)}`, decision)).status).toBe(200);
}
