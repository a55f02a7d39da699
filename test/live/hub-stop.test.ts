import '../../src/matter/matter-platform.ts';
import { createSocket, Socket } from 'node:dgram';
import { on, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PeerSet } from '@matter/main/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/core/logger.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub } from '../matter/device-hub.ts';
import { RunningHub } from './running-hub.ts';

/** A stop takes about a second, and two at most, where the processors are free. Here they may not be. */
const STOP_LIMIT_MS = 3_000;
const NOBODYS_CODE = '34970112332';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hub-stop-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Stops a hub in order, and returns the milliseconds that it took. */
async function timeToStop(hub: RunningHub): Promise<number> {
  const startMs = performance.now();
  expect(await hub.stop()).toBe(0);
  return performance.now() - startMs;
}

/** Lets a hub search for a device that is not there. Resolves once it asks the network for it; `answer` is what the call gets at last. */
async function beginSearch(hub: RunningHub): Promise<{ readonly answer: Promise<unknown> }> {
  const socket = createSocket({ type: 'udp6', reuseAddr: true });
  onTestFinished(() => new Promise((resolve) => socket.close(() => resolve())));
  socket.bind(5353);
  await once(socket, 'listening');
  socket.addMembership('ff02::fb', '::%eth0');
  const answer = hub.call('hub:commission_device', { code: NOBODYS_CODE, name: 'Nobody', accept_attestation: true }).catch(() => undefined);
  for await (const [message] of on(socket, 'message')) if (isSearch(message)) break;
  return { answer };
}

/** Returns whether a message is a query (RFC 1035 4.1.1) for devices to commission (Core §4.3.1). */
function isSearch(message: Buffer): boolean {
  return ((message[2] ?? 0) & 0x80) === 0 && message.includes('_matterc');
}

test('a hub that is stopped while it searches for a device to commission ends within three seconds, and leaves no lock', async () => {
  const stateDir = folder();
  const hub = await RunningHub.start({ stateDir });
  const { answer } = await beginSearch(hub);
  expect(await timeToStop(hub)).toBeLessThan(STOP_LIMIT_MS);
  expect(await answer).toMatchObject({
    status: 'error',
    error: { code: 'CANCELLED', message: expect.stringContaining('the hub is stopping') },
  });
  const again = await RunningHub.start({ stateDir });
  expect([...hub.log, ...again.log].filter((line) => line.includes('orphaned lock'))).toEqual([]);
  expect(await again.stop()).toBe(0);
}, 60_000);

test('a hub stops within three seconds among dead devices, devices of other fabrics, and calls that nobody answers', async () => {
  const dir = folder();
  const [dead, restarted, foreign] = ['Living room lamp', 'Bedroom lamp', 'Desk plug'];
  await using home = await VirtualHome.start({ spec: homeOf(standardHome(), [dead, restarted, foreign]), dir: join(dir, 'home') });
  await using other = await RunningHub.start({ stateDir: join(dir, 'other') });
  const stateDir = join(dir, 'hub');
  const hub = await RunningHub.start({ stateDir });
  const commission = (by: RunningHub, name: string) =>
    by.result('hub:commission_device', { code: home.device(name).pairing.qrCode, name, accept_attestation: true });
  await commission(other, foreign);
  for (const name of [dead, restarted]) await commission(hub, name);
  await Promise.all([home.device(dead).powerOff(), home.device(restarted).restart()]);
  const command = hub.call('core:turn_on_light', { device_id: dead }).catch(() => undefined);
  const { answer } = await beginSearch(hub);
  expect(await timeToStop(hub)).toBeLessThan(STOP_LIMIT_MS);
  expect(await Promise.all([command, answer])).toMatchObject([{ status: 'error' }, { status: 'error', error: { code: 'CANCELLED' } }]);
  const again = await RunningHub.start({ stateDir });
  const log = [...hub.log, ...again.log];
  expect(log.filter((line) => /orphaned lock|matter\.close_timed_out|matter\.storage_not_closed/.test(line))).toEqual([]);
  expect(await again.stop()).toBe(0);
}, 120_000);

/** Drops every datagram that arrives in this process from now on; the returned function ends that. */
function dropDatagrams(): () => void {
  const { emit } = Socket.prototype;
  Socket.prototype.emit = function (this: Socket, event: string, ...values: unknown[]) {
    return event === 'message' || Reflect.apply(emit, this, [event, ...values]);
  } as typeof emit;
  return () => {
    Socket.prototype.emit = emit;
  };
}

test('a Matter node closes at once when a device falls silent while its session is resumed', async () => {
  const dir = folder();
  const name = 'Living room lamp';
  await using home = await VirtualHome.start({ spec: homeOf(standardHome(), [name]), dir: join(dir, 'home') });
  const first = new DeviceHub(dir);
  await first.start();
  await first.commission(home.device(name));
  await first[Symbol.asyncDispose]();
  const lines: string[] = [];
  const hub = new DeviceHub(dir, { store: first.store, logger: createLogger('warn', (line) => lines.push(line)) });
  await hub.start();
  const address = hub.node.commissionedPeers()[0]?.peerAddress ?? expect.unreachable('no peer');
  const { promise: resumed, resolve } = Promise.withResolvers<() => void>();
  hub.node.node.env
    .get(PeerSet)
    .for(address)
    .sessions.added.on(() => resolve(dropDatagrams()));
  onTestFinished(await resumed);
  const startMs = performance.now();
  await hub[Symbol.asyncDispose]();
  expect(performance.now() - startMs).toBeLessThan(STOP_LIMIT_MS);
  expect(lines.filter((line) => line.includes('matter.close_timed_out'))).toEqual([]);
}, 60_000);
