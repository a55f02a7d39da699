import { describe, expect, test } from 'vitest';
import { UsageCounter, UsageWriter } from '../../src/calls/usage.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { makePipeline, makeTool, owner } from './pipeline-fixture.ts';

const ended = (toolId: string, agentId: string, error?: ErrorCode, atMs = 1) => ({
  toolId,
  agentId,
  atMs,
  durationMs: 2,
  ...(error && { error }),
});

describe('usage', () => {
  test('is counted per tool and per agent, with the last error', () => {
    const usage = new UsageCounter();
    usage.record(ended('a', 'ann', 'TIMEOUT', 5));
    usage.record(ended('a', 'ann', undefined, 6));
    usage.record(ended('b', 'bob', 'RULE_BLOCKED', 7));
    expect(usage.tools()).toEqual([
      { toolId: 'a', calls: 2, errors: 1, totalMs: 4, lastMs: 6, lastError: 'TIMEOUT' },
      { toolId: 'b', calls: 1, errors: 1, totalMs: 2, lastMs: 7, lastError: 'RULE_BLOCKED' },
    ]);
    expect(usage.agents()).toMatchObject([
      { agentId: 'ann', calls: 2, errors: 1, lastError: 'TIMEOUT' },
      { agentId: 'bob', calls: 1, errors: 1 },
    ]);
  });

  test('has a history of each agent that no other one can push out', () => {
    const usage = new UsageCounter();
    usage.record(ended('first', 'quiet'));
    for (let n = 0; n < 600; n++) usage.record(ended(`t${n}`, 'busy'));
    expect(usage.history('quiet').map(({ toolId }) => toolId)).toEqual(['first']);
    expect(
      usage
        .history('busy')
        .slice(0, 2)
        .map(({ toolId }) => toolId),
    ).toEqual(['t599', 't598']);
    expect([usage.history().length, usage.history('busy').length, usage.history('nobody').length]).toEqual([500, 100, 0]);
  });

  test('of agents that come and go under new names does not grow for ever', () => {
    const usage = new UsageCounter();
    for (let n = 0; n < 300; n++) usage.record(ended(`t${n % 3}`, `agent-${n}`));
    expect(usage.agents()).toHaveLength(200);
    expect(usage.history('agent-0')).toEqual([]);
    expect(usage.history('agent-299')).toHaveLength(1);
  });

  test('counts the calls of the pipeline, also of one agent', async () => {
    const usage = new UsageCounter();
    const { pipeline, registry } = makePipeline({ usage });
    registry.register(makeTool({}));
    await pipeline.call({ principal: owner, tool: 'probe', params: {} });
    expect(usage.agents()).toMatchObject([{ agentId: 'owner', calls: 1 }]);
    expect(usage.history('owner')).toHaveLength(1);
    expect(usage.history('other')).toEqual([]);
  });
});

describe('usage over restarts', () => {
  function hub(store: MemoryKeyValueStore, clock: ManualClock) {
    const usage = new UsageCounter();
    return { usage, keeper: new UsageWriter({ usage, store, clock, logger: silentLogger }) };
  }

  test('goes on where it was when the hub stopped', async () => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const first = hub(store, clock);
    await first.keeper.start();
    first.usage.record(ended('a', 'ann', 'TIMEOUT'));
    await first.keeper[Symbol.asyncDispose]();
    const second = hub(store, clock);
    await second.keeper.start();
    expect(second.usage.tools()).toEqual(first.usage.tools());
    second.usage.record(ended('a', 'ann'));
    expect(second.usage.agents()).toMatchObject([{ agentId: 'ann', calls: 2, errors: 1, lastError: 'TIMEOUT' }]);
    await second.keeper[Symbol.asyncDispose]();
  });

  test('is written every five minutes, and only when something was called', async () => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    let writes = 0;
    const set = store.set.bind(store);
    store.set = (...given) => {
      writes++;
      set(...given);
    };
    const { usage, keeper } = hub(store, clock);
    await keeper.start();
    usage.record(ended('a', 'ann'));
    clock.advance(299_999);
    expect(writes).toBe(0);
    clock.advance(1);
    expect(writes).toBe(1);
    clock.advance(600_000);
    expect(writes).toBe(1);
    await keeper[Symbol.asyncDispose]();
    await keeper[Symbol.asyncDispose]();
    expect(writes).toBe(1);
  });

  test('survives what cannot be read or written', async () => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    for (const kept of [5, { tools: 'x' }, { tools: [['a', 1], [1, 2, 3, 4, 5, 6], 7], agents: [['a', 1, 1, 1, 1, 'NO_SUCH_CODE']] }]) {
      store.set('usage', 'totals', kept);
      const { usage, keeper } = hub(store, clock);
      await keeper.start();
      expect(usage.tools()).toEqual([]);
      expect(usage.agents().some(({ lastError }) => lastError !== undefined)).toBe(false);
    }
    const { usage, keeper } = hub(store, clock);
    await keeper.start();
    store.set = () => {
      throw new TypeError('disk');
    };
    usage.record(ended('a', 'ann'));
    await keeper[Symbol.asyncDispose]();
    expect(usage.tools()).toHaveLength(1);
  });
});
