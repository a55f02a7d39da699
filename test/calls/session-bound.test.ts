import { describe, expect, test } from 'vitest';
import { SessionCallLimit } from '../../src/calls/limits.ts';
import { ManualClock } from '../manual-clock.ts';
import { agent, codeOf, makePipeline, makeTool, owner } from './pipeline-fixture.ts';

const IDLE_MS = 3_600_000;

function bound(maxCalls: number) {
  const clock = new ManualClock();
  const sessions = new SessionCallLimit(clock, { maxCalls });
  const charge = (session: string | undefined, times = 1, principal = agent()) => {
    for (let time = 0; time < times; time++) sessions.charge(principal, session);
  };
  return { clock, sessions, charge };
}

describe('the calls of a session', () => {
  test('end where a model goes round in circles', async () => {
    const { registry, pipeline } = makePipeline({}, { maxCallsPerSession: 3 });
    registry.register(makeTool({ name: 'look' }));
    const look = (sessionId?: string) => pipeline.call({ principal: owner, tool: 'look', params: {}, ...(sessionId && { sessionId }) });
    for (let step = 0; step < 3; step++) expect(codeOf(await look('chat-1'))).toBe('success');
    expect(await look('chat-1')).toMatchObject({ error: { code: 'RATE_LIMITED', details: { max_calls: 3, retry_after_ms: IDLE_MS } } });
    expect(codeOf(await look('chat-2'))).toBe('success');
    for (let step = 0; step < 9; step++) expect(codeOf(await look())).toBe('success');
  });

  test('are counted for each caller by itself', () => {
    const { charge } = bound(1);
    charge('s');
    expect(() => charge('s')).toThrow(/all of its 1 calls/);
    expect(() => charge('s', 1, owner)).not.toThrow();
    expect(() => charge('s', 1, { ...agent(), id: 'agent-2' })).not.toThrow();
  });

  test('are forgotten after an hour without any, not an hour after the first', () => {
    const { charge, clock } = bound(3);
    charge('s', 2);
    clock.advance(IDLE_MS - 1);
    charge('s');
    clock.advance(IDLE_MS - 1);
    expect(() => charge('s')).toThrow(/begin another session/);
    clock.advance(1);
    expect(() => charge('s', 3)).not.toThrow();
  });

  test('take a bounded room: who makes up sessions pushes the oldest out', () => {
    const { charge, sessions } = bound(1);
    charge('first');
    for (let index = 0; index < 5_000; index++) charge(`made up ${index}`);
    expect(sessions.size).toBe(4_096);
    expect(() => charge('first')).not.toThrow();
  });

  test('are not counted where there is no bound', () => {
    const { charge, sessions } = bound(Number.POSITIVE_INFINITY);
    charge('s', 10);
    expect(sessions.size).toBe(0);
  });
});
