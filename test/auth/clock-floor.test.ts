import { describe, expect, onTestFinished, test } from 'vitest';
import { type ClockEvidence, TrustedClock } from '../../src/auth/trusted-clock.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { ManualClock } from '../manual-clock.ts';

const BUILD_MS = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const WRONG_MS = Date.UTC(1970, 0, 1);

/** A machine whose clock can be set apart from the time that passes. */
class Machine implements Clock, ClockEvidence {
  readonly #passing = new ManualClock(0);
  #offsetMs: number;
  found: Awaited<ReturnType<ClockEvidence['detectSource']>>;
  boot = 'boot-1';
  looks = 0;

  constructor(systemMs: number, found?: Machine['found']) {
    this.#offsetMs = systemMs;
    this.found = found;
  }

  now(): number {
    return this.#passing.now() + this.#offsetMs;
  }

  setSystem(timeMs: number): void {
    this.#offsetMs = timeMs - this.#passing.now();
  }

  monotonic(): number {
    return this.#passing.monotonic();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#passing.after(delayMs, callback);
  }

  async detectSource(): Promise<Machine['found']> {
    this.looks += 1;
    return this.found;
  }

  bootId(): string {
    return this.boot;
  }

  uptimeMs(): number {
    return this.#passing.now();
  }

  /** Lets time pass, and what became due finish. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10_000) {
      this.#passing.advance(Math.min(left, 10_000));
      await Promise.resolve();
      await Promise.resolve();
    }
  }
}

class MemoryStore implements KeyValueStore {
  readonly #values = new Map<string, Json>();
  writes = 0;
  isFull = false;

  get(space: string, key: string): Json | undefined {
    return this.#values.get(`${space}/${key}`);
  }

  set(space: string, key: string, value: Json): void {
    if (this.isFull) throw new RangeError('full');
    this.writes += 1;
    this.#values.set(`${space}/${key}`, value);
  }

  delete(space: string, key: string): boolean {
    return this.#values.delete(`${space}/${key}`);
  }

  entries(): [] {
    return [];
  }
}

interface Setting {
  readonly store?: MemoryStore;
  readonly trust?: 'auto' | 'always' | 'never';
}

async function started(machine: Machine, { store = new MemoryStore(), trust = 'auto' }: Setting = {}): Promise<TrustedClock> {
  const floor = new TrustedClock({ clock: machine, store, evidence: machine }, { trust, buildTimeMs: BUILD_MS });
  onTestFinished(() => {
    store.isFull = false;
    return floor[Symbol.asyncDispose]();
  });
  await floor.start();
  return floor;
}

describe('trust', () => {
  test.each(['network', 'hardware', 'host'] as const)('a clock that the %s keeps is trusted', async (found) => {
    const machine = new Machine(BUILD_MS + DAY_MS, found);
    const floor = await started(machine);
    expect(floor.isTrusted()).toBe(true);
    expect(floor.now()).toBe(BUILD_MS + DAY_MS);
    expect(floor.status()).toMatchObject({ source: found, isTrusted: true, systemMs: BUILD_MS + DAY_MS });
  });

  test('a clock that nothing speaks for is not trusted', async () => {
    const floor = await started(new Machine(BUILD_MS + DAY_MS));
    expect(floor.isTrusted()).toBe(false);
    expect(floor.status().source).toBe('nothing');
  });

  test.each(['network', 'hardware', 'host'] as const)(
    'a clock before the time of the build is never trusted, even by the %s',
    async (found) => {
      const machine = new Machine(WRONG_MS, found);
      const floor = await started(machine);
      expect(floor.isTrusted()).toBe(false);
      expect(floor.now()).toBe(BUILD_MS);
      await machine.pass(HOUR_MS);
      expect(floor.now()).toBe(BUILD_MS + HOUR_MS);
    },
  );

  test('the owner can vouch for the clock, but not for one before the floor', async () => {
    const machine = new Machine(BUILD_MS + 1);
    const floor = await started(machine, { trust: 'always' });
    expect(floor.isTrusted()).toBe(true);
    machine.setSystem(BUILD_MS - DAY_MS);
    expect(floor.isTrusted()).toBe(false);
  });

  test('the owner can refuse all evidence', async () => {
    const machine = new Machine(BUILD_MS + DAY_MS, 'network');
    const floor = await started(machine, { trust: 'never' });
    expect([floor.isTrusted(), machine.looks]).toEqual([false, 0]);
  });

  test('begins when the network tells the time, and is looked for at most every 10 s', async () => {
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine);
    await machine.pass(60_000);
    expect(machine.looks).toBe(7);
    machine.setSystem(BUILD_MS + DAY_MS);
    machine.found = 'network';
    await machine.pass(10_000);
    expect(floor.isTrusted()).toBe(true);
    expect(floor.now()).toBe(BUILD_MS + DAY_MS + 10_000);
    await machine.pass(HOUR_MS);
    expect(machine.looks).toBe(8);
  });

  test('ends when the clock is set back, and a step of seconds does not matter', async () => {
    const machine = new Machine(BUILD_MS + DAY_MS, 'network');
    const floor = await started(machine);
    await machine.pass(HOUR_MS);
    machine.setSystem(machine.now() - 2_000);
    expect(floor.isTrusted()).toBe(true);
    machine.setSystem(machine.now() - HOUR_MS);
    expect(floor.isTrusted()).toBe(false);
    expect(floor.now()).toBeGreaterThan(machine.now());
  });

  test('of the owner in a clock that was ahead ends when it is put right, so that nothing ended counts again, until the owner confirms the time', async () => {
    const machine = new Machine(BUILD_MS + DAY_MS + HOUR_MS);
    const floor = await started(machine, { trust: 'always' });
    await machine.pass(600_000);
    const aheadMs = machine.now();
    machine.setSystem(machine.now() - HOUR_MS);
    await machine.pass(2 * HOUR_MS);
    expect([floor.isTrusted(), floor.now()]).toEqual([false, aheadMs + 2 * HOUR_MS]);
    expect(() => floor.set(aheadMs + 2 * HOUR_MS)).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
    floor.set(machine.now());
    expect([floor.isTrusted(), floor.now()]).toEqual([true, machine.now()]);
  });

  test('a hardware clock that was an hour fast is put right by the network', async () => {
    const machine = new Machine(BUILD_MS + DAY_MS + HOUR_MS, 'hardware');
    const floor = await started(machine);
    await machine.pass(600_000);
    machine.setSystem(machine.now() - HOUR_MS);
    expect(floor.isTrusted()).toBe(false);
    machine.found = 'network';
    await machine.pass(60_000);
    expect([floor.isTrusted(), floor.now()]).toEqual([true, machine.now()]);
  });
});

describe('the floor', () => {
  test('survives a restart: a machine that wakes in the past goes on from the time that was saved', async () => {
    const store = new MemoryStore();
    const machine = new Machine(BUILD_MS + DAY_MS, 'network');
    const floor = await started(machine, { store });
    await machine.pass(HOUR_MS);
    await floor[Symbol.asyncDispose]();
    const again = await started(new Machine(WRONG_MS, 'network'), { store });
    expect(again.now()).toBe(BUILD_MS + DAY_MS + HOUR_MS);
    expect(again.isTrusted()).toBe(false);
  });

  test('a kill loses ten minutes at most', async () => {
    const store = new MemoryStore();
    const machine = new Machine(BUILD_MS + DAY_MS, 'network');
    await started(machine, { store });
    await machine.pass(HOUR_MS + 9 * 60_000);
    const again = await started(new Machine(WRONG_MS), { store });
    expect(again.now()).toBe(BUILD_MS + DAY_MS + HOUR_MS);
    expect(store.writes).toBeLessThan(10);
  });

  test('moves on while untrusted only by the time that passed, not by what the clock claims', async () => {
    const store = new MemoryStore();
    const machine = new Machine(BUILD_MS + 900 * DAY_MS);
    const floor = await started(machine, { store });
    await machine.pass(HOUR_MS);
    expect(floor.now()).toBe(machine.now());
    await floor[Symbol.asyncDispose]();
    expect((await started(new Machine(WRONG_MS), { store })).now()).toBe(BUILD_MS + HOUR_MS);
  });

  test('a full disk does not make the end of a hub fail', async () => {
    const store = new MemoryStore();
    const floor = await started(new Machine(BUILD_MS + DAY_MS, 'network'), { store });
    store.isFull = true;
    await expect(floor[Symbol.asyncDispose]()).resolves.toBeUndefined();
  });

  test('a full disk does not end the saving for ever', async () => {
    const store = new MemoryStore();
    const machine = new Machine(BUILD_MS + DAY_MS, 'network');
    await started(machine, { store });
    store.isFull = true;
    await machine.pass(600_000);
    store.isFull = false;
    await machine.pass(600_000);
    expect((await started(new Machine(WRONG_MS), { store })).now()).toBe(BUILD_MS + DAY_MS + 1_200_000);
  });

  test.each([[null], ['text'], [{ proven_ms: 'x' }], [{ proven_ms: null, assumed_ms: [] }]])(
    'saved nonsense (%j) leaves the time of the build',
    async (saved) => {
      const store = new MemoryStore();
      store.set('clock', 'floor', saved);
      store.set('clock', 'owner', saved);
      expect((await started(new Machine(WRONG_MS), { store })).now()).toBe(BUILD_MS);
    },
  );
});

describe('what issuers write', () => {
  test('moves an untrusted clock on, and time passes from there', async () => {
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine);
    floor.observeIssuedAt(BUILD_MS + HOUR_MS);
    await machine.pass(1000);
    expect(floor.now()).toBe(BUILD_MS + HOUR_MS + 1000);
    floor.observeIssuedAt(BUILD_MS);
    expect(floor.now()).toBe(BUILD_MS + HOUR_MS + 1000);
    expect(floor.isTrusted()).toBe(false);
  });

  test('cannot move it further than 24 h, in one step or in many, or over a restart', async () => {
    const store = new MemoryStore();
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine, { store });
    floor.observeIssuedAt(BUILD_MS + DAY_MS + 1);
    expect(floor.now()).toBe(BUILD_MS);
    for (const hours of [20, 24, 40, 48]) floor.observeIssuedAt(BUILD_MS + hours * HOUR_MS);
    expect(floor.now()).toBe(BUILD_MS + DAY_MS);
    await floor[Symbol.asyncDispose]();
    const again = await started(new Machine(WRONG_MS), { store });
    again.observeIssuedAt(BUILD_MS + 2 * DAY_MS);
    expect(again.now()).toBe(BUILD_MS + DAY_MS);
  });

  test('does not move a trusted clock, and gives way to the network', async () => {
    const trusted = await started(new Machine(BUILD_MS + DAY_MS, 'host'));
    trusted.observeIssuedAt(BUILD_MS + DAY_MS + HOUR_MS);
    expect(trusted.now()).toBe(BUILD_MS + DAY_MS);
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine);
    floor.observeIssuedAt(BUILD_MS + 20 * HOUR_MS);
    machine.setSystem(BUILD_MS + HOUR_MS);
    machine.found = 'network';
    await machine.pass(10_000);
    expect([floor.isTrusted(), floor.now()]).toEqual([true, machine.now()]);
  });
});

describe('the owner sets the time', () => {
  const SET_MS = BUILD_MS + 30 * DAY_MS;

  test('and it is trusted, runs on by itself and leaves the machine alone', async () => {
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine);
    floor.set(SET_MS);
    expect(floor.status()).toMatchObject({ isTrusted: true, source: 'owner', nowMs: SET_MS, systemMs: WRONG_MS });
    machine.setSystem(BUILD_MS + 900 * DAY_MS);
    await machine.pass(HOUR_MS);
    expect([floor.isTrusted(), floor.now()]).toEqual([true, SET_MS + HOUR_MS]);
  });

  test('until the network tells it', async () => {
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine);
    floor.set(SET_MS);
    machine.setSystem(SET_MS + HOUR_MS);
    machine.found = 'network';
    await machine.pass(10_000);
    expect(floor.status()).toMatchObject({ isTrusted: true, source: 'network', nowMs: SET_MS + HOUR_MS + 10_000 });
  });

  test('for restarts of the hub, but not of the machine, which keeps only the floor', async () => {
    const store = new MemoryStore();
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine, { store });
    floor.set(SET_MS);
    await machine.pass(HOUR_MS);
    await floor[Symbol.asyncDispose]();
    await machine.pass(HOUR_MS);
    const again = await started(machine, { store });
    expect([again.isTrusted(), again.now()]).toEqual([true, SET_MS + 2 * HOUR_MS]);
    await again[Symbol.asyncDispose]();
    machine.boot = 'boot-2';
    const rebooted = await started(machine, { store });
    expect([rebooted.isTrusted(), rebooted.now()]).toEqual([false, SET_MS + 2 * HOUR_MS]);
  });

  test('back from a time that was wrong', async () => {
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine);
    floor.set(SET_MS + 3000 * DAY_MS);
    floor.set(SET_MS);
    expect([floor.isTrusted(), floor.now()]).toEqual([true, SET_MS]);
  });

  test('and heals a floor in the future by confirming the time of the network', async () => {
    const machine = new Machine(WRONG_MS);
    const floor = await started(machine);
    floor.set(SET_MS + 3000 * DAY_MS);
    machine.setSystem(SET_MS);
    machine.found = 'network';
    await machine.pass(10_000);
    expect(floor.isTrusted()).toBe(false);
    expect(() => floor.set(SET_MS + DAY_MS)).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
    floor.set(SET_MS + 30_000);
    expect([floor.isTrusted(), floor.now()]).toEqual([true, machine.now()]);
  });

  test.each([BUILD_MS - 1, 0, -1, Number.NaN, BUILD_MS + 0.5, BUILD_MS + 20 * 365 * DAY_MS + 1])('but not to %s', async (timeMs) => {
    const floor = await started(new Machine(WRONG_MS));
    expect(() => floor.set(timeMs)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    expect(floor.isTrusted()).toBe(false);
  });
});

test.each([BUILD_MS, BUILD_MS + 20 * 365 * DAY_MS])('the owner may set %s, the first and the last time of the span', async (timeMs) => {
  const floor = await started(new Machine(WRONG_MS));
  floor.set(timeMs);
  expect(floor.now()).toBe(timeMs);
});

test('nothing goes on after the end', async () => {
  const store = new MemoryStore();
  const machine = new Machine(WRONG_MS);
  const floor = await started(machine, { store });
  await floor[Symbol.asyncDispose]();
  const { writes } = store;
  const { looks } = machine;
  await floor[Symbol.asyncDispose]();
  await machine.pass(HOUR_MS);
  expect([store.writes, machine.looks]).toEqual([writes, looks]);
});
