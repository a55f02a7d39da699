import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { type CallOutcome, PendingCalls } from '../../../src/web/api/approvals.ts';
import { HubError } from '../../../src/web/api/hub-client.ts';
import { eventView } from '../home-fixture.ts';

const APPROVAL = 'ab'.repeat(16);
const waits = new HubError('APPROVAL_REQUIRED', 'wait', {
  status: 202,
  details: { approval_id: APPROVAL, expires_at: '2026-05-01T12:10:00.000Z' },
});
const wish = { tool: 'matter:front_door_unlock@1.0.0', params: { seconds: 5 }, label: 'Unlock Front door' };
const decided = (state: string) => eventView('approval.decided', APPROVAL, { state });
const settle = () => new Promise((resolve) => setImmediate(resolve));

function callsOf() {
  const made: { tool: string; params: JsonObject | undefined }[] = [];
  const ends: CallOutcome[] = [];
  const calls = new PendingCalls({
    invoke: async (tool, params) => {
      made.push({ tool, params });
      return { settled: true };
    },
  });
  calls.onEnd((end) => ends.push(end));
  return { calls, made, ends };
}

describe('a call that waits for approval', () => {
  test('is repeated once, with the same arguments, when it is approved', async () => {
    const { calls, made, ends } = callsOf();
    expect(calls.track(waits, wish)).toBe(true);
    calls.handleEvent(decided('approved'));
    calls.handleEvent(decided('used'));
    await settle();
    expect(made).toEqual([{ tool: wish.tool, params: wish.params }]);
    expect(ends).toMatchObject([{ result: { settled: true } }]);
    expect(calls.all).toEqual([]);
  });

  test('still waits while another person has to agree', async () => {
    const { calls, made } = callsOf();
    calls.track(waits, wish);
    calls.handleEvent(decided('pending'));
    await settle();
    expect(made).toEqual([]);
    expect(calls.all).toHaveLength(1);
  });

  test.each(['denied', 'expired'])('is never made when it is %s', async (state) => {
    const { calls, made, ends } = callsOf();
    calls.track(waits, wish);
    calls.handleEvent(decided(state));
    await settle();
    expect(made).toEqual([]);
    expect(ends[0]?.error).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('is made, or reported as refused, from a list of requests, when the page was away and missed what was decided', async () => {
    for (const [state, count] of [
      ['pending', 0],
      ['approved', 1],
      ['denied', 0],
      ['used', 0],
    ] as const) {
      const { calls, made, ends } = callsOf();
      calls.track(waits, wish);
      calls.compare([
        { approval_id: 'cd'.repeat(16), state: 'approved' },
        { approval_id: APPROVAL, state },
      ]);
      calls.handleEvent(decided(state));
      await settle();
      expect([state, made.length, calls.all.length]).toEqual([state, count, state === 'pending' ? 1 : 0]);
      expect(ends.map(({ error }) => error)).toEqual(state === 'denied' ? [expect.any(HubError)] : state === 'approved' ? [undefined] : []);
    }
  });

  test('is never made when another page has begun it, or after the person has signed out', async () => {
    const { calls, made } = callsOf();
    calls.handleEvent(decided('approved'));
    calls.track(waits, wish);
    calls.clear();
    calls.handleEvent(decided('approved'));
    await settle();
    expect(made).toEqual([]);
  });

  test('is not stored for any other error', () => {
    const { calls } = callsOf();
    expect(calls.track(new HubError('TIMEOUT', 'late', { status: 504 }), wish)).toBe(false);
    expect(calls.all).toEqual([]);
  });
});
