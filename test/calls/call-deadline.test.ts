import { describe, expect, test } from 'vitest';
import type { CallRequest } from '../../src/calls/request-and-answer.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { AuditSink } from '../../src/core/storage/audit-sink.ts';
import { ManualClock } from '../manual-clock.ts';
import { agent, codeOf, makePipeline, makeTool, owner, settled, withToken } from './pipeline-fixture.ts';

/** A clock of a machine that can sleep: the wall clock goes on, the monotonic one and all timers do not. */
class SleepingClock extends ManualClock {
  #sleptMs = 0;

  override now(): number {
    return super.now() + this.#sleptMs;
  }

  override monotonic(): number {
    return super.now();
  }

  sleep(ms: number): void {
    this.#sleptMs += ms;
  }
}

interface RoomWish {
  readonly waitedMs?: number;
  /** What happens while the intent is written. */
  readonly duringIntent?: () => void;
  readonly clock?: ManualClock;
}

function countingRoom({ waitedMs = 0, duringIntent, clock = new ManualClock() }: RoomWish = {}) {
  let runs = 0;
  let deadlineMs = 0;
  const audit: AuditSink = {
    record: async ({ kind }) => {
      if (kind === 'intent') duringIntent?.();
    },
  };
  const setup = makePipeline({ clock, stallDetector: { waitedMs }, audit });
  const execution = { side_effects: true, timeout_ms: 30_000, async_allowed: true };
  const handler = async (_params: unknown, context: { readonly deadlineMs: number }) => {
    deadlineMs = context.deadlineMs;
    return { runs: ++runs };
  };
  setup.registry.register(makeTool({ name: 'toggle', permissions: ['device:control:lamp'], execution, handler }));
  const request = { principal: owner, tool: 'toggle', params: {} };
  const call = (extra: Partial<CallRequest> = {}) => setup.pipeline.call({ ...request, ...extra });
  return { ...setup, clock, request, call, runs: () => runs, deadlineMs: () => deadlineMs };
}

describe('a call that came while the hub stood still', () => {
  test('does not run when its time was over before the hub saw it', async () => {
    const setup = countingRoom({ waitedMs: 15_000 });
    expect(codeOf(await setup.call({ timeoutMs: 1_000 }))).toBe('TIMEOUT');
    expect(codeOf(await setup.call({ timeoutMs: 15_000 }))).toBe('TIMEOUT');
    expect(setup.runs()).toBe(0);
  });

  test('has the rest of its time', async () => {
    const setup = countingRoom({ waitedMs: 15_000 });
    expect(codeOf(await setup.call())).toBe('success');
    expect(setup.deadlineMs()).toBe(setup.clock.now() + 15_000);
  });

  test('says its time in whole milliseconds, also where another hub has used up a part of it', async () => {
    const answer = await countingRoom({ waitedMs: 1_000 }).call({ timeoutMs: 789.2207 });
    expect(answer).toMatchObject({ error: { code: 'TIMEOUT', message: expect.stringContaining('within 789 ms;') } });
  });

  test('does not become a job either when its time was over', async () => {
    const setup = countingRoom({ waitedMs: 31_000 });
    const started = await setup.pipeline.callAsync(setup.request);
    await settled();
    expect(started.kind === 'refused' && codeOf(started.answer)).toBe('TIMEOUT');
    expect(setup.runs()).toBe(0);
  });

  test('is not meant where the hub itself makes it', async () => {
    const setup = countingRoom({ waitedMs: 60_000 });
    expect(codeOf(await setup.call({ isOwn: true }))).toBe('success');
    expect(setup.deadlineMs()).toBe(setup.clock.now() + 30_000);
  });

  test('does not run when its caller has gone and only the next turns of the event loop say so', async () => {
    const caller = new AbortController();
    const setup = countingRoom({
      duringIntent: () => {
        setup.clock.advance(5_000);
        setImmediate(() => setImmediate(() => caller.abort()));
      },
    });
    expect(codeOf(await setup.call({ signal: caller.signal }))).toBe('CANCELLED');
    expect(setup.runs()).toBe(0);
  });
});

describe('a call while the machine sleeps', () => {
  test('does not run when its time is over by the wall clock, though no timer has run', async () => {
    const clock = new SleepingClock();
    const setup = countingRoom({ clock, duringIntent: () => clock.sleep(31_000) });
    const answer = await setup.call();
    expect([codeOf(answer), setup.runs()]).toEqual(['TIMEOUT', 0]);
  });

  test('is not repeated afterwards', async () => {
    const clock = new SleepingClock();
    const setup = makePipeline({ clock });
    let runs = 0;
    const handler = async () => {
      runs++;
      throw new AtmoError('SERVICE_UNAVAILABLE', 'The service does not answer');
    };
    setup.registry.register(makeTool({ name: 'ask', execution: { timeout_ms: 30_000, retries: 2 }, handler }));
    const answer = setup.pipeline.call({ principal: withToken(agent('*')), tool: 'ask', params: {} });
    await settled();
    clock.sleep(31_000);
    clock.advance(5_000);
    expect([codeOf(await answer), runs]).toEqual(['TIMEOUT', 1]);
  });
});
