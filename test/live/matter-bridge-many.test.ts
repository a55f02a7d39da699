import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClientNode } from '@matter/main/node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { until } from '../matter/device-hub.ts';
import { BridgeLab, isOn } from './bridge-lab.ts';
import { MAIN } from './main-program.ts';
import { informationOf, SeenThing, statusOf, thingsOf } from './seen-thing.ts';

const HALF = 50;
const OUTPUTS = Array.from({ length: HALF }, (_, line) => `lamp_${line}`);
const INPUTS = Array.from({ length: HALF }, (_, line) => `window_${line}`);
const LIMIT_MS = 60_000;
/** The bridge keeps the subscriptions of its ecosystems over a restart. A controller finds out by itself only after a minute or more. */
const SUBSCRIBED_MS = 20_000;

const lab = new BridgeLab({
  discover: false,
  gpio: {
    backend: 'sim',
    outputs: Object.fromEntries(OUTPUTS.map((name) => [name, { line: name, title: name }])),
    inputs: Object.fromEntries(INPUTS.map((name) => [name, { line: name, title: name, kind: 'contact' }])),
  },
});
/** The two bridges as the controller has them. */
let peers: readonly ClientNode[] = [];

beforeAll(async () => {
  const { controller } = await lab.start({ devices: [] });
  for (const thing of [...OUTPUTS, ...INPUTS]) await lab.bridge(thing);
  peers = [await lab.commission(controller, 1), await lab.commission(controller, 2)];
  for (const bridge of [1, 2]) {
    const { qr_code: code } = await lab.first.result('hub:open_bridge', { bridge });
    await lab.second.result('hub:commission_device', { code: String(code), name: `Bridge ${bridge}` });
  }
}, 180_000);

afterAll(() => lab[Symbol.asyncDispose]());

/** The label, the unique id and the number of the endpoint of each thing that the controller sees. */
const identities = () =>
  peers.flatMap((peer, bridge) =>
    thingsOf(peer).map((endpoint) => {
      const { nodeLabel, uniqueId } = informationOf(endpoint);
      return `${nodeLabel} ${uniqueId} ${bridge + 1}/${endpoint.number}`;
    }),
  );

const seen = (label: string) => peers.map((peer) => new SeenThing(peer, label)).find(({ isThere }) => isThere) ?? expect.unreachable(label);
const isSeenOn = (label: string) => seen(label).state('onOff').onOff;

/** Names of the devices that the second hub has. */
async function devicesOfSecond(): Promise<readonly string[]> {
  const { devices } = (await lab.second.get('/api/v1/devices')) as { readonly devices: readonly JsonObject[] };
  return devices.map(({ name }) => String(name));
}

/** Returns whether the second hub knows that an output of the first one is on. */
async function isOnForSecond(label: string): Promise<boolean> {
  const { sensors } = await lab.second.result('core:list_sensors', { device: label.replace('_', '-'), limit: 10 });
  return (sensors as readonly JsonObject[]).some(({ kind, value }) => kind === 'on_off' && value === true);
}

let before: readonly string[] = [];

test('a controller and another hub see a hundred things on two bridges', async () => {
  await until(() => thingsOf(peers[0] as ClientNode).length === HALF && thingsOf(peers[1] as ClientNode).length === HALF, LIMIT_MS);
  before = identities().toSorted();
  expect(new Set(before.map((one) => one.split(' ')[1])).size).toBe(2 * HALF);
  const names = await devicesOfSecond();
  expect(names).toEqual(expect.arrayContaining([...OUTPUTS, ...INPUTS]));
});

test('changes come from the hub to both, and from both to the hub', async () => {
  await lab.first.result('gpio:lamp_49_turn_on');
  await until(() => isSeenOn('lamp_49') === true);
  expect(await statusOf(seen('lamp_7').invoke('onOff', 'on'))).toBe('Success');
  expect(await isOn(lab.first, 'lamp_7')).toBe(true);
  await until(() => isOnForSecond('lamp_7'));
  await lab.second.result('core:control_device', { device_id: 'lamp-8', command: 'turn_on' });
  expect(await isOn(lab.first, 'lamp_8')).toBe(true);
  await until(() => isSeenOn('lamp_8') === true);
});

test('a restart of the hub changes no identity, and both go on', async () => {
  await lab.first.stop();
  await lab.first.start();
  await bothGoOn();
}, 400_000);

test('a restore of a backup changes no identity, and both go on without a new code', async () => {
  const backup = join(lab.dir, 'first.backup');
  await lab.first.stop();
  await atmo('backup', backup);
  rmSync(lab.first.stateDir, { recursive: true });
  await atmo('restore', backup);
  await lab.first.start();
  await bothGoOn();
}, 400_000);

/** Turns outputs over by both ecosystems, and compares what the controller sees with what it saw at first. */
async function bothGoOn(): Promise<void> {
  for (const label of ['lamp_0', 'window_49']) await until(() => seen(label).information.reachable === true, LIMIT_MS);
  await until(
    async () =>
      (await seen('lamp_1')
        .invoke('onOff', 'on')
        .then(
          () => true,
          () => false,
        )) && isOn(lab.first, 'lamp_1'),
    LIMIT_MS,
    500,
  );
  await until(
    async () => (await lab.second.call('core:control_device', { device_id: 'lamp-2', command: 'turn_on' })).status === 'success',
    LIMIT_MS,
    500,
  );
  expect(await isOn(lab.first, 'lamp_2')).toBe(true);
  await lab.first.result('gpio:lamp_3_turn_on');
  await until(() => isSeenOn('lamp_3') === true, SUBSCRIBED_MS);
  expect(identities().toSorted()).toEqual(before);
  for (const output of ['lamp_1', 'lamp_2', 'lamp_3']) await lab.first.result(`gpio:${output}_turn_off`);
}

/** Runs `atmo` for the first hub while it does not run. */
async function atmo(...args: readonly string[]): Promise<void> {
  const env = { ...process.env, ATMO_STATE_DIR: lab.first.stateDir, ATMO_PASSPHRASE: 'a passphrase of the test' };
  await promisify(execFile)(process.execPath, [MAIN, ...args], { env });
}
