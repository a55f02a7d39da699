import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HubBle } from '../../src/matter/ble/hub-ble.ts';
import { NetworkHost } from '../home/network-host.ts';
import { CommissioningHub } from '../matter/commissioning-hub.ts';
import { MemoryStore } from '../matter/memory-store.ts';
import { THREAD_DATASET } from '../matter/thread-dataset.ts';
import { VirtualAdapter } from '../matter/virtual-adapter.ts';

/** A device on the virtual radio in its own process and on its own host. */
class RadioDevice implements AsyncDisposable {
  readonly lines: Record<string, unknown>[] = [];
  readonly #child: ChildProcess;
  readonly #host: NetworkHost;

  constructor(host: NetworkHost, args: readonly string[]) {
    const [command, ...rest] = host.command([process.execPath, join(import.meta.dirname, '../matter/radio-device.ts'), ...args]);
    this.#host = host;
    this.#child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout ?? process.stdin }).on('line', (line) => this.lines.push(JSON.parse(line)));
  }

  async told(key: string): Promise<unknown> {
    await vi.waitFor(() => expect(this.lines.some((line) => key in line)).toBe(true), { timeout: 20_000 });
    return this.lines.find((line) => key in line)?.[key];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
    await this.#host[Symbol.asyncDispose]();
  }
}

const dir = mkdtempSync(join(tmpdir(), 'ble-'));
const sockets = { thread: join(dir, 'thread.sock'), wifi: join(dir, 'wifi.sock') };
const devices: RadioDevice[] = [];
let thread: RadioDevice;
let wifi: RadioDevice;
let hub: CommissioningHub;

async function startDevice(medium: 'thread' | 'wifi', number: number): Promise<RadioDevice> {
  const host = new NetworkHost(medium, number);
  await host.start();
  const device = new RadioDevice(host, [sockets[medium], join(dir, medium), medium, String(5700 + number), 'correct horse']);
  devices.push(device);
  await device.told('ready');
  return device;
}

beforeAll(async () => {
  [thread, wifi] = await Promise.all([startDevice('thread', 2), startDevice('wifi', 3)]);
  const ble = new HubBle(new VirtualAdapter([sockets.thread, sockets.wifi]));
  hub = new CommissioningHub({ stateDir: join(dir, 'hub'), store: new MemoryStore(), discoveryTimeoutMs: 5_000, ble });
  await hub.start();
  hub.credentials.setThread('mesh', THREAD_DATASET);
  hub.credentials.setWifi('home', 'Our place', 'correct horse');
  hub.credentials.setWifi('wrong', 'Our place', 'wrong horse');
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  for (const device of devices) await device[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

async function codeOf(device: RadioDevice): Promise<string> {
  return ((await device.told('ready')) as { qrPairingCode: string }).qrPairingCode;
}

async function switchOn(nodeId: string): Promise<void> {
  const peer = hub.node.commissionedPeers().find((known) => String(known.peerAddress?.nodeId) === nodeId);
  await peer?.endpoints.for(1).commandsOf('onOff').on?.(undefined);
}

describe('commissioning over Bluetooth', () => {
  test('a device that waits for credentials is not on the IP network', async () => {
    const outcome = await hub.commission({ code: await codeOf(thread) });
    expect('error' in outcome && outcome.error.details).toMatchObject({ reason: 'not_found' });
  });

  test('a Thread device gets the whole dataset, joins, and is then controlled over IP', async () => {
    const steps: string[] = [];
    const outcome = await hub.commission({ code: await codeOf(thread), thread: 'mesh' }, ({ step }) => steps.push(step));
    if ('error' in outcome) throw outcome.error;
    expect(await thread.told('dataset')).toBe(THREAD_DATASET);
    expect([...new Set(steps)]).toEqual(['parse', 'discover', 'connect', 'attest', 'network', 'join', 'interview', 'record', 'done']);
    await switchOn(outcome.result.nodeId);
    expect(await thread.told('isOn')).toBe(true);
  });

  test('a wrong Wi-Fi password is told as such, and the device can be tried again at once', async () => {
    const refused = await hub.commission({ code: await codeOf(wifi), wifi: 'wrong' });
    expect('error' in refused && refused.error.details).toMatchObject({ step: 'network', reason: 'network_rejected' });
    expect(hub.commissioner.halfCommissioned()).toEqual([]);
    const outcome = await hub.commission({ code: await codeOf(wifi), wifi: 'home' });
    if ('error' in outcome) throw outcome.error;
    expect(wifi.lines.filter((line) => 'ssid' in line)).toEqual([
      { ssid: 'Our place', isPasswordRight: false },
      { ssid: 'Our place', isPasswordRight: true },
    ]);
    await switchOn(outcome.result.nodeId);
    expect(await wifi.told('isOn')).toBe(true);
  });

  test('neither dataset nor password reached the log', () => {
    const text = hub.logLines.join('\n');
    expect(text).not.toContain('00112233445566');
    expect(text).not.toContain('horse');
  });
});
