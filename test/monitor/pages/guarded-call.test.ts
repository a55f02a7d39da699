import { describe, expect, test } from 'vitest';
import { HubError } from '../../../src/monitor/api/hub-error.ts';
import type { EventView } from '../../../src/monitor/api/hub-types.ts';
import type { EventHearer } from '../../../src/monitor/api/store.ts';
import { callOnceApproved } from '../../../src/monitor/pages/guarded-call.ts';

const NEEDS_APPROVAL = new HubError('APPROVAL_REQUIRED', 'People have to agree', { status: 202, details: { approval_id: 'a1' } });

function room() {
  const hearers = new Set<EventHearer>();
  const store = {
    onEvent(hearer: EventHearer) {
      hearers.add(hearer);
      return () => hearers.delete(hearer);
    },
  };
  const decide = (subject: string, state: string) => {
    const event = { type: 'approval.decided', subject, data: { state } } as unknown as EventView;
    for (const hearer of [...hearers]) hearer(event);
  };
  let calls = 0;
  const call = async () => {
    calls++;
    if (calls === 1) throw NEEDS_APPROVAL;
    return 'done';
  };
  return { store, decide, call, calls: () => calls, hearerCount: () => hearers.size };
}

describe('a call that people have to agree to', () => {
  test('is made once more when they have, and not before', async () => {
    const { store, decide, call, calls, hearerCount } = room();
    const waiting: string[] = [];
    const answer = callOnceApproved(call, { store, onWaiting: (id) => waiting.push(id) });
    await Promise.resolve();
    await Promise.resolve();
    decide('another', 'approved');
    decide('a1', 'pending');
    expect({ waiting, calls: calls() }).toEqual({ waiting: ['a1'], calls: 1 });
    decide('a1', 'approved');
    expect(await answer).toBe('done');
    expect({ calls: calls(), hearers: hearerCount() }).toEqual({ calls: 2, hearers: 0 });
  });

  test.for([
    ['denied', 'denied'],
    ['expired', 'in time'],
  ])('is not made when it was %s', async ([state = '', word = '']) => {
    const { store, decide, call, calls } = room();
    const answer = callOnceApproved(call, { store, onWaiting: () => queueMicrotask(() => decide('a1', state)) });
    await expect(answer).rejects.toThrow(word);
    expect(calls()).toBe(1);
  });

  test('that fails for another reason fails at once', async () => {
    const { store } = room();
    const failing = async () => {
      throw new HubError('NOT_FOUND', 'gone', { status: 404 });
    };
    await expect(callOnceApproved(failing, { store, onWaiting: () => expect.unreachable() })).rejects.toThrow('gone');
  });
});
