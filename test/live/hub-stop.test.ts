import '../../src/matter/matter-platform.ts';
import { Socket } from 'node:dgram';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PeerSet } from '@matter/main/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/core/logger.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub } from '../matter/device-hub.ts';
import { RunningHub } from './running-hub.ts';

/** A stop takes a second on a quiet machine. This one may be shared by others. */
const STOP_LIMIT_MS = 3_000;
/** Until then a search has begun. */
const BEGUN_MS = 1_500;
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

test('a hub that is stopped while it searches for a device to commission ends within a second, and leaves no lock', async () => {
  const stateDir = folder();
  const hub = await RunningHub.start({ stateDir });
  const call = hub.call('hub:commission_device', { code: NOBODYS_CODE, name: 'Nobody', accept_attestation: true }).catch(() => undefined);
  await sleep(BEGUN_MS);
  expect(await timeToStop(hub)).toBeLessThan(STOP_LIMIT_MS);
  expect(await call).toMatchObject({
    status: 'error',
    error: { code: 'CANCELLED', message: expect.stringContaining('the hub is stopping') },
  });
  const again = await RunningHub.start({ stateDir });
  expect([...hub.log, ...again.log].filter((line) => line.includes('orphaned lock'))).toEqual([]);
  expect(await again.stop()).toBe(0);
}, 60_000);

test('a hub stops within a second among dead devices, devices of other fabrics, and calls that nobody answers', async () => {
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
  const calls = [
    hub.call('core:turn_on_light', { device_id: dead }),
    hub.call('hub:commission_device', { code: NOBODYS_CODE, name: 'Nobody', accept_attestation: true }),
  ].map((call) => call.catch(() => undefined));
  await sleep(BEGUN_MS);
  expect(await timeToStop(hub)).toBeLessThan(STOP_LIMIT_MS);
  expect(await Promise.all(calls)).toMatchObject([{ status: 'error' }, { status: 'error', error: { code: 'CANCELLED' } }]);
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
