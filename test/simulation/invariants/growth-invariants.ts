import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RunningCall } from '../../../src/calls/call.ts';
import { BrokenInvariant } from '../broken-invariant.ts';
import type { EventQueue } from '../event-queue.ts';
import type { Ledger } from '../ledger.ts';
import type { SimulatedMachine } from '../simulated-machine.ts';
import { openDatabases } from '../simulated-sqlite.ts';

/** Most entries of one kind in the state of a hub, beside one for each call of the last 20 minutes. */
const MOST_ENTRIES = 300;
/** A key of idempotency lives for so long after a call that ended well, in milliseconds; what has expired is swept within ten minutes. */
const KEYS_LIVE_MS = 20 * 60_000;
/** Largest file of a state directory, in bytes. The journal and the history keep what happened for months, so their bound is that of a world. */
const MOST_BYTES = 64 * 1_048_576;

/** Checks that what a hub stores has a bound, which does not grow with all that ever happened. Throws BrokenInvariant. */
export function checkGrowth(machine: SimulatedMachine, ledger: Ledger, nowMs: number): void {
  const recent = ledger.attempts.values().filter(({ arrivedMs = 0 }) => arrivedMs > nowMs - KEYS_LIVE_MS);
  const most = MOST_ENTRIES + [...recent].length;
  for (const { space, count } of entriesOf(machine)) {
    if (count > most) fail(machine, `its state has ${count} entries of ${space}; at most ${most} are needed`);
  }
  for (const entry of readdirSync(machine.stateDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && statSync(path).size > MOST_BYTES) fail(machine, `${entry.name} has ${statSync(path).size} bytes`);
  }
}

/** Most timers of a hub that has had nothing to do for a quarter of an hour. */
const MOST_TIMERS = 200;
/** Most calls that are in memory in all hubs of a world, after the same time. */
const MOST_CALLS = 100;

/** Calls of all hubs, as long as something refers to them. */
const calls: WeakRef<RunningCall>[] = [];

/** Notes each call from now on. */
export function watchCalls(): void {
  const { startDeadline } = RunningCall.prototype;
  RunningCall.prototype.startDeadline = function noted(this: RunningCall, ...given: Parameters<typeof startDeadline>) {
    calls.push(new WeakRef(this));
    startDeadline.apply(this, given);
  };
}

/** Checks that hubs that are idle keep nothing of the calls that they had. Throws BrokenInvariant. */
export function checkIdle(machines: readonly SimulatedMachine[], queue: Pick<EventQueue, 'countOf'>): void {
  for (const machine of machines) {
    const timers = queue.countOf(machine.process);
    if (timers > MOST_TIMERS) fail(machine, `it has ${timers} timers; at most ${MOST_TIMERS} are needed`);
  }
  collectGarbage();
  const left = calls.filter((call) => call.deref() !== undefined).length;
  if (left <= MOST_CALLS) return;
  throw new BrokenInvariant('nothing grows without bound', `${left} of ${calls.length} calls are in memory after all have ended`, []);
}

/** Node.js has no other way to collect the garbage than a function of V8, which is not there at first. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

function entriesOf({ process }: SimulatedMachine): readonly { readonly space: string; readonly count: number }[] {
  const state = openDatabases(process).find((database) => database.location()?.endsWith('/state.db'));
  const rows = state?.prepare('SELECT space, count(*) AS count FROM entry GROUP BY space').all() ?? [];
  return rows.map(({ space, count }) => ({ space: String(space), count: Number(count) }));
}

function fail({ name }: SimulatedMachine, problem: string): never {
  throw new BrokenInvariant('nothing grows without bound', `${name}: ${problem}`, [name]);
}
