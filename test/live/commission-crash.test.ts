import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { DeviceAttention } from '../../src/core/devices/device-attention.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { MatterDevices } from '../../src/matter/devices/matter-devices.ts';
import type { StateStore } from '../../src/storage/state-store.ts';
import type { DeviceSpec } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { CommissioningHub } from '../matter/commissioning-hub.ts';
import { MemoryStore } from '../matter/memory-store.ts';
import { builtProgram } from './built-program.ts';
import { stateStore } from './commission-crash-hub.ts';

/** Where the hub dies: at a step, or so many milliseconds after it. */
const POINTS: readonly (readonly [point: string, delayMs?: number])[] = [
  ['stage intent'],
  ['connect: pairing', 20],
  ['connect: reading what the device is'],
  ['connect: starting the fail-safe timer', 20],
  ['attest: checking who made the device'],
  ['stage credentials'],
  ['attest: giving the device an identity in this home', 60],
  ['stage commissioned'],
  ['stage commissioned', 160],
  ['interview: naming the home on the device'],
  // Here a device keeps its fabric only until its fail-safe runs out: not long before the hub comes back.
  ['attest: giving this hub control'],
  ['join: finding the device on the network'],
  ['stage completing'],
  ['join: finishing', 6],
  ['record: making its tools'],
];
/** What the virtual devices grant, and a little more. */
const FAIL_SAFE_MS = 65_000;

const diedAtMs = new Map<string, number>();
let dir: string;
let home: VirtualHome;
let store: StateStore;
let hub: CommissioningHub;
let devices: MatterDevices;

/** One device for each point. */
const nameOf = ([point, delayMs]: (typeof POINTS)[number]): string => (delayMs === 160 ? `${point} + ${delayMs} ms` : point);

const lampFor = (name: string, number: number): DeviceSpec => ({
  name,
  type: 'dimmable-light',
  area: 'Test',
  passcode: 30303030 + number,
  discriminator: 0x100 * number + 9,
  port: 5600 + number,
  group: 'lamps',
});

async function commissionAndDie(code: string, point: string, delayMs: number): Promise<NodeJS.Signals | null> {
  const program = await builtProgram('test/live/commission-crash-hub.ts');
  const child = spawn(process.execPath, [program, join(dir, 'hub'), code, point, String(delayMs)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), 100_000);
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  return signal;
}

/** True when the hub has the device among its peers and reaches it. */
async function isControlled(device: VirtualDevice): Promise<boolean> {
  const serial = await device.get(0, 'BasicInformation', 'SerialNumber');
  for (const peer of hub.node.commissionedPeers()) {
    if (peer.maybeStateOf('basicInformation')?.serialNumber !== serial) continue;
    await peer.endpoints.for(1).commandsOf('onOff').on?.(undefined);
    return (await device.get(1, 'OnOff', 'OnOff')) === true;
  }
  return false;
}

/** What the directory of devices knows of a device, from which its tools are made. */
function clustersOf(serial: string): readonly string[] {
  const known = devices.list().find((device) => device.serial === serial);
  return known === undefined
    ? []
    : (devices.describe(known.id)?.endpoints ?? []).flatMap(({ clusters }) => clusters.map(({ name }) => name));
}

async function fabricsOf(device: VirtualDevice): Promise<number> {
  return Number(await device.get(0, 'OperationalCredentials', 'CommissionedFabrics'));
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'commission-crash-'));
  mkdirSync(join(dir, 'hub'));
  home = await VirtualHome.start({
    spec: { devices: POINTS.map((point, number) => lampFor(nameOf(point), number)) },
    dir: join(dir, 'home'),
  });
});
afterAll(async () => {
  await devices[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

describe('a hub that dies while it commissions', () => {
  test.each(POINTS.map((at) => ({ name: nameOf(at), point: at[0], delayMs: at[1] ?? 0 })))(
    'is killed at $point + $delayMs ms',
    async ({ name, point, delayMs }) => {
      expect(await commissionAndDie(home.device(name).pairing.qrCode, point, delayMs)).toBe('SIGKILL');
      diedAtMs.set(name, Date.now());
    },
  );

  test('takes over or forgets every device at its next start, and knows each one that has its fabric', async () => {
    store = stateStore(join(dir, 'hub'));
    await store.start();
    hub = new CommissioningHub({ stateDir: join(dir, 'hub', 'matter'), store, discoveryTimeoutMs: 5_000 });
    await hub.start();
    devices = new MatterDevices({
      matterNode: hub.node,
      attention: new DeviceAttention(systemClock),
      store: new MemoryStore(),
      clock: systemClock,
      logger: silentLogger,
    });
    await devices.start();
    await expect
      .poll(() => store.entries('commissioning').filter(({ value }) => !JSON.stringify(value).includes('"fault"')), { timeout: 90_000 })
      .toEqual([]);
    for (const { name } of home.devices) {
      const device = home.device(name);
      const hasFabric = (await fabricsOf(device)) > 0;
      expect.soft([name, await isControlled(device)]).toEqual([name, hasFabric]);
    }
    const half = hub.commissioner.halfCommissioned();
    expect(half.length).toBeLessThanOrEqual(2);
    for (const { step, advice } of half)
      expect([step, advice]).toEqual(['credentials', expect.stringContaining('forgets this home by itself')]);
  });

  test('adopted what had its fabric when it died, under the name that was wished', async () => {
    const late = POINTS.slice(POINTS.findIndex(([point]) => point === 'stage commissioned')).map(nameOf);
    for (const name of late) {
      expect.soft([name, await isControlled(home.device(name))]).toEqual([name, true]);
      const serial = await home.device(name).get(0, 'BasicInformation', 'SerialNumber');
      await expect.poll(() => clustersOf(String(serial)), { timeout: 20_000, message: name }).toContain('OnOff');
    }
    expect([...hub.recorded.values()].map(({ name }) => name)).toEqual(expect.arrayContaining(['record: making its tools']));
  });

  test('commissions every other device anew once its fail-safe has run out', { timeout: 200_000 }, async () => {
    const left: VirtualDevice[] = [];
    for (const device of home.devices) if (!(await isControlled(device))) left.push(device);
    expect(left.length).toBeGreaterThan(0);
    const lastMs = Math.max(...left.map(({ name }) => diedAtMs.get(name) ?? Date.now()));
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, lastMs + FAIL_SAFE_MS - Date.now())));
    for (const device of left) {
      const outcome = await hub.commission({ code: device.pairing.qrCode });
      expect.soft([device.name, 'result' in outcome]).toEqual([device.name, true]);
      expect.soft([device.name, await isControlled(device)]).toEqual([device.name, true]);
    }
    expect(store.entries('commissioning')).toEqual([]);
  });
});
