import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeviceSpec, NetworkSpec } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { RunningHub } from './running-hub.ts';

const STRANGER = '8899aabbccddeeff';
const neighbour = { extAddress: BigInt(`0x${STRANGER}`).toString(), averageRssi: -78, lqi: 1, isChild: true };

const device = (name: string, number: number, network?: NetworkSpec): DeviceSpec => ({
  name,
  type: 'contact-sensor',
  area: 'Hall',
  passcode: 20202021 + number,
  discriminator: 0x100 * number + 5,
  port: 5740 + number,
  group: 'topology',
  ...(network && { network }),
});

const SPEC = {
  devices: [
    device('Door', 1, { kind: 'thread', state: { routingRole: 2, networkName: 'Home mesh', channel: 20, neighborTable: [neighbour] } }),
    device('Window', 2, { kind: 'wifi', state: { rssi: -84 } }),
    device('Drawer', 3),
  ],
};

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'topology-'));
  [home, hub] = await Promise.all([
    VirtualHome.start({ spec: SPEC, dir: join(dir, 'home') }),
    RunningHub.start({ stateDir: join(dir, 'state') }),
  ]);
  for (const { name } of SPEC.devices) {
    const answer = await hub.call('hub:commission_device', { code: home.device(name).pairing.qrCode, name, accept_attestation: true });
    expect(answer.status).toBe('success');
  }
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

test('the tool tells the networks that real nodes say they are in', async () => {
  expect(await hub.result('hub:network_topology', {})).toMatchObject({
    nodes: [
      { id: 'door', kind: 'thread', role: 'SleepyEndDevice', network: 'Home mesh', channel: 20, reachability: 'reachable' },
      { id: 'window', kind: 'wifi', network: 'a1:a1:a1:a1:a1:a1', channel: 6, rssi: -84 },
      { id: 'drawer' },
      { id: `thread:${STRANGER}`, kind: 'thread' },
    ],
    links: [{ from: 'door', to: `thread:${STRANGER}`, rssi: -78, lqi: 1, is_child: true }],
  });
});
