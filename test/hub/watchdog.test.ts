import { beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { ServiceManager, Watchdog } from '../../src/hub/systemd.ts';
import { ManualClock } from '../manual-clock.ts';

let clock: ManualClock;
let sent: string[];

function watchdog(isAlive: () => Promise<boolean>, environment: Record<string, string> = { WATCHDOG_USEC: '60000000' }): Watchdog {
  const manager = new ServiceManager({ NOTIFY_SOCKET: '@n', ...environment }, silentLogger, (_, payload) => sent.push(String(payload)));
  return new Watchdog({ manager, isAlive, clock, logger: silentLogger });
}

/** Lets the promise chain of a check run to its end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await settle();
}

beforeEach(() => {
  clock = new ManualClock();
  sent = [];
});

describe('watchdog', () => {
  test('is fed every half of the time while the hub answers', async () => {
    await using dog = watchdog(async () => true);
    await dog.start();
    await pass(29_999);
    expect(sent).toEqual([]);
    await pass(1);
    await pass(30_000);
    expect(sent).toEqual(['WATCHDOG=1', 'WATCHDOG=1']);
  });

  test('goes hungry while the check says no or fails, and is fed again afterwards', async () => {
    const answers = [async () => false, () => Promise.reject(new Error('refused')), async () => true];
    await using dog = watchdog(() => (answers.shift() ?? (async () => true))());
    await dog.start();
    await pass(30_000);
    await pass(30_000);
    expect(sent).toEqual([]);
    await pass(30_000);
    expect(sent).toEqual(['WATCHDOG=1']);
  });

  test('a check that never answers counts as no, and does not end the checking', async () => {
    let calls = 0;
    await using dog = watchdog(() => {
      calls++;
      return calls === 1 ? new Promise<boolean>(() => {}) : Promise.resolve(true);
    });
    await dog.start();
    await pass(30_000);
    await pass(15_000);
    expect(sent).toEqual([]);
    await pass(30_000);
    expect(sent).toEqual(['WATCHDOG=1']);
  });

  test('stops when disposed', async () => {
    const dog = watchdog(async () => true);
    await dog.start();
    await dog[Symbol.asyncDispose]();
    await pass(120_000);
    expect(sent).toEqual([]);
  });

  test('does nothing when systemd does not watch', async () => {
    await using dog = watchdog(async () => true, {});
    await dog.start();
    await pass(600_000);
    expect(sent).toEqual([]);
  });
});
