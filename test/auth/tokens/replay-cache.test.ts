import { describe, expect, test } from 'vitest';
import { ReplayCache } from '../../../src/auth/tokens/proof-of-possession.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { refusalOf } from './token-fixture.ts';

async function cacheRoom(limits: { readonly maxNonces?: number; readonly maxPerHolder?: number } = {}) {
  const clock = new ManualClock();
  const store = new MemoryKeyValueStore(clock);
  const time = { now: () => clock.now(), isTrusted: () => true };
  const open = async ({ hasLostState } = { hasLostState: false }) => {
    const cache = new ReplayCache({ store, time, clock, hasLostState }, limits);
    await cache.start();
    return cache;
  };
  return { clock, store, open, cache: await open(), inTwoMinutes: () => clock.now() + 120_000 };
}

describe('the replay cache', () => {
  test('takes a nonce once for each holder', async () => {
    const { cache, inTwoMinutes } = await cacheRoom();
    expect([cache.use('a', '01', inTwoMinutes()), cache.use('a', '01', inTwoMinutes()), cache.use('b', '01', inTwoMinutes())]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test('has a nonce on the disk before it is taken', async () => {
    const { store, clock } = await cacheRoom();
    const failing = {
      get: store.get.bind(store),
      entries: store.entries.bind(store),
      delete: store.delete.bind(store),
      set: () => {
        throw new Error('disk full');
      },
    };
    const cache = new ReplayCache({ store: failing, time: { now: () => clock.now(), isTrusted: () => true }, clock, hasLostState: false });
    expect(() => cache.use('a', '01', clock.now() + 1000)).toThrow('disk full');
    // Nothing was accepted: the same proof is good once the disk is.
    expect(() => cache.use('a', '01', clock.now() + 1000)).toThrow('disk full');
  });

  test('knows after a restart what was used before it', async () => {
    const { cache, open, inTwoMinutes, clock } = await cacheRoom();
    cache.use('a', '01', inTwoMinutes());
    const untilMs = inTwoMinutes();
    clock.advance(119_999);
    expect((await open()).use('a', '01', untilMs)).toBe(false);
  });

  test('takes no nonce after it lost some, until all that were used before are too old', async () => {
    const { cache, open, inTwoMinutes, clock, store } = await cacheRoom();
    const untilMs = inTwoMinutes();
    expect(cache.use('a', '01', untilMs)).toBe(true);
    store.delete('access.nonces', 'a.01');
    const after = await open({ hasLostState: true });
    expect(() => after.use('a', '01', untilMs)).toThrow(
      expect.objectContaining({ code: 'SERVICE_UNAVAILABLE', details: { retry_after_ms: 120_000 } }),
    );
    clock.advance(119_999);
    expect(() => after.use('a', '02', inTwoMinutes())).toThrow(expect.objectContaining({ code: 'SERVICE_UNAVAILABLE' }));
    clock.advance(1);
    expect(clock.now()).toBeGreaterThanOrEqual(untilMs);
    expect(after.use('a', '02', inTwoMinutes())).toBe(true);
  });

  test('waits as long after another restart, which finds nothing lost, and then leaves nothing on the disk', async () => {
    const { open, inTwoMinutes, clock, store } = await cacheRoom();
    await open({ hasLostState: true });
    clock.advance(60_000);
    const again = await open();
    expect(() => again.use('a', '01', inTwoMinutes())).toThrow(
      expect.objectContaining({ code: 'SERVICE_UNAVAILABLE', details: { retry_after_ms: 60_000 } }),
    );
    clock.correctBy(-3_600_000);
    expect(() => again.use('a', '01', inTwoMinutes())).toThrow(expect.objectContaining({ code: 'SERVICE_UNAVAILABLE' }));
    const late = await open();
    clock.advance(120_000);
    expect(late.use('a', '01', inTwoMinutes())).toBe(true);
    clock.correctBy(3_600_000);
    expect(store.entries('access.nonces').map(({ key }) => key)).not.toContain('lost-until');
  });

  test('refuses new nonces when it is full, and forgets none that could be replayed', async () => {
    const { cache, clock, inTwoMinutes } = await cacheRoom({ maxNonces: 3 });
    for (const nonce of ['01', '02', '03']) cache.use('a', nonce, inTwoMinutes());
    clock.advance(60_000);
    expect(() => cache.use('b', '04', inTwoMinutes())).toThrow(
      expect.objectContaining({ code: 'RATE_LIMITED', details: { retry_after_ms: 60_000 } }),
    );
    expect(['01', '02', '03'].map((nonce) => cache.use('a', nonce, inTwoMinutes()))).toEqual([false, false, false]);
    clock.advance(60_000);
    expect(cache.use('b', '04', inTwoMinutes())).toBe(true);
  });

  test('lets no holder use up the room of the others', async () => {
    const { cache, clock, inTwoMinutes, open } = await cacheRoom({ maxNonces: 10, maxPerHolder: 2 });
    for (const nonce of ['01', '02']) cache.use('a', nonce, inTwoMinutes());
    expect(refusalOf(() => cache.use('a', '03', inTwoMinutes()))?.code).toBe('RATE_LIMITED');
    expect(cache.use('b', '03', inTwoMinutes())).toBe(true);
    const restarted = await open();
    expect(refusalOf(() => restarted.use('a', '03', inTwoMinutes()))?.code).toBe('RATE_LIMITED');
    clock.advance(120_000);
    expect(cache.use('a', '03', inTwoMinutes())).toBe(true);
  });

  test('leaves nothing on the disk when all is over', async () => {
    const { cache, clock, store, inTwoMinutes } = await cacheRoom();
    cache.use('a', '01', inTwoMinutes());
    clock.advance(120_000);
    expect(store.entries('access.nonces')).toEqual([]);
  });
});
