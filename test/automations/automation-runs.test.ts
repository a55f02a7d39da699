import { describe, expect, test } from 'vitest';
import type { ApprovalStatus } from '../../src/core/auth/approvals.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { makeApprovals } from '../auth/approvals/approval-fixture.ts';
import { approvalsSaying } from '../calls/approvals-fake.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { LAMP_ON, restarted, SENSOR, startedRoom, WHEN_HOT } from './agent-fixture.ts';

const ON_CHANGE: JsonObject = {
  trigger: { type: 'reading', sensor_id: SENSOR, changes: true },
  actions: [{ ...LAMP_ON, params: { level: { trigger: 'value' } } }],
};
const UNREACHABLE = new AtmoError('DEVICE_UNREACHABLE', 'The lamp does not answer');

describe('a run', () => {
  test('is a call of the pipeline by the agent itself, under one trace', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn({ ...WHEN_HOT, actions: [LAMP_ON, LAMP_ON] });
    await room.report(26);
    expect(room.calls).toHaveLength(2);
    expect(new Set(room.calls.map(({ traceId }) => traceId)).size).toBe(1);
    // A session is one run: what an automation does in months is no loop.
    for (const { sessionId, traceId } of room.calls) expect(sessionId).toBe(traceId);
    expect(room.audited.filter(({ principal }) => principal.id === 'auto' && principal.kind === 'agent')).toHaveLength(4);
    expect(await room.view('auto')).toMatchObject({ status: 'active', runs: 1, is_running: false });
  });

  test('stops at the first action that fails, unless that one says to go on', async () => {
    const room = await startedRoom();
    let fails = 1;
    room.onLamp(async () => {
      if (fails-- > 0) throw UNREACHABLE;
      return {};
    });
    await room.report(20);
    await room.spawn({ ...WHEN_HOT, actions: [LAMP_ON, LAMP_ON] });
    await room.report(26);
    expect(room.calls).toHaveLength(1);
    expect(await room.view('auto')).toMatchObject({ last_error: { code: 'DEVICE_UNREACHABLE' } });
    await room.spawn({ ...WHEN_HOT, actions: [{ ...LAMP_ON, on_error: 'continue' }, LAMP_ON] }, { name: 'dauntless' });
    fails = 1;
    await room.call('kill_agent', { agent_id: 'auto' });
    await room.report(20);
    await room.report(26);
    expect(room.calls).toHaveLength(3);
  });

  test('never overlaps itself: what comes meanwhile is made up for once, with the latest value', async () => {
    const room = await startedRoom();
    const gates: PromiseWithResolvers<void>[] = [];
    room.onLamp(async () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return {};
    });
    await room.report(20);
    await room.spawn({ ...ON_CHANGE, cooldown_seconds: 0 });
    for (const value of [21, 22, 23, 24]) await room.report(value);
    expect(room.calls.map(({ params }) => params.level)).toEqual([21]);
    gates[0]?.resolve();
    await settled();
    expect(room.calls.map(({ params }) => params.level)).toEqual([21, 24]);
    gates[1]?.resolve();
    await settled();
    expect(room.calls).toHaveLength(2);
  });

  test('waits for the cooldown, and a trigger that would have to wait over a minute is dropped', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn({ ...ON_CHANGE, cooldown_seconds: 30 });
    for (const value of [21, 22, 23]) await room.report(value);
    await room.pass(29);
    expect(room.calls.map(({ params }) => params.level)).toEqual([21]);
    await room.pass(1);
    expect(room.calls.map(({ params }) => params.level)).toEqual([21, 23]);
    const patient = await startedRoom();
    await patient.report(20);
    await patient.spawn({ ...ON_CHANGE, cooldown_seconds: 300 });
    for (const value of [21, 22]) await patient.report(value);
    await patient.pass(600);
    expect(patient.calls).toHaveLength(1);
  });

  test('that waits is left out when what fired it is no longer so', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn({ ...WHEN_HOT, cooldown_seconds: 30 });
    for (const value of [26, 20, 26, 20]) await room.report(value);
    await room.pass(60);
    expect(room.calls).toHaveLength(1);
  });

  test('is one of so many an hour, and the limit is told once', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn({ ...ON_CHANGE, cooldown_seconds: 0, max_runs_per_hour: 3 });
    for (let value = 21; value < 40; value++) await room.report(value);
    expect(room.calls).toHaveLength(3);
    expect(await room.view('auto')).toMatchObject({ runs: 3, last_error: { code: 'RATE_LIMITED' } });
    await room.pass(3600);
    await room.report(50);
    expect(room.calls).toHaveLength(4);
  });
});

describe('failures', () => {
  test('five in a row let it rest for an hour; a run that goes well makes it active again', async () => {
    const room = await startedRoom();
    let isBroken = true;
    room.onLamp(async () => {
      if (isBroken) throw UNREACHABLE;
      return {};
    });
    await room.spawn({ ...WHEN_HOT }, { ttl_seconds: 86_400 });
    const cross = async () => {
      await room.report(20);
      await room.report(26);
    };
    for (let time = 0; time < 8; time++) await cross();
    expect(room.calls).toHaveLength(5);
    expect(await room.view('auto')).toMatchObject({ status: 'failing', last_error: { code: 'DEVICE_UNREACHABLE' } });
    expect(room.heard).toContainEqual(
      expect.objectContaining({ type: 'agent.changed', data: expect.objectContaining({ status: 'failing' }) }),
    );
    await room.pass(3600);
    await cross();
    await cross();
    expect(room.calls).toHaveLength(6);
    isBroken = false;
    await room.pass(3600);
    await cross();
    await cross();
    expect(room.calls).toHaveLength(8);
    expect(await room.view('auto')).toMatchObject({ status: 'active', runs: 8 });
  });

  test('a right that it no longer has is told, and nothing runs', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn(WHEN_HOT);
    const authorize = room.authorizer.authorize.bind(room.authorizer);
    room.authorizer.authorize = (principal, required) =>
      required.includes(`sensor:read:${SENSOR}`) ? { allowed: false, required, reason: 'taken away' } : authorize(principal, required);
    await room.report(26);
    expect(room.calls).toHaveLength(0);
    expect(await room.view('auto')).toMatchObject({ last_error: { code: 'PERMISSION_DENIED' } });
  });
});

describe('a dangerous action', () => {
  const UNLOCK: JsonObject = { ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }, LAMP_ON] };
  const asking = async () => {
    let verdict: ApprovalStatus = {
      state: 'pending',
      approvalId: 'ap-1',
      expiresAt: '2026-01-01T00:10:00.000Z',
      needed: 1,
      given: 0,
      summary: 'kitchen wants it',
      willDo: [],
    };
    const room = await startedRoom({ approvals: approvalsSaying(() => verdict) });
    await room.report(20);
    await room.spawn(UNLOCK);
    await room.report(26);
    const decide = async (state: string, next: ApprovalStatus = verdict) => {
      verdict = next;
      room.events.emit('approval.decided', 'ap-1', { approval_id: 'ap-1', state });
      await settled();
    };
    return { room, decide };
  };

  test('waits for people, is made once more when they approve, and the run goes on', async () => {
    const { room, decide } = await asking();
    expect(room.calls).toEqual([]);
    expect(await room.view('auto')).toMatchObject({ is_running: true });
    await decide('pending');
    expect(room.calls).toEqual([]);
    await decide('approved', { state: 'approved', approvalId: 'ap-1', by: ['owner'] });
    expect(room.calls.map(({ tool }) => tool)).toEqual(['lamp_unlock', 'lamp_turn_on']);
    expect(await room.view('auto')).toMatchObject({ runs: 1, is_running: false });
  });

  test('fails when they deny it, when nobody says anything in time, and when it still is not allowed', async () => {
    const denied = await asking();
    await denied.decide('denied');
    const silent = await asking();
    await silent.room.pass(600);
    const unmoved = await asking();
    await unmoved.decide('approved');
    for (const { room } of [denied, silent, unmoved]) {
      expect(room.calls).toEqual([]);
      expect(await room.view('auto')).toMatchObject({ runs: 1, is_running: false, last_error: { code: 'APPROVAL_REQUIRED' } });
    }
  });

  test('does not outlive its agent', async () => {
    const { room, decide } = await asking();
    await room.call('kill_agent', { agent_id: 'auto' });
    await decide('approved', { state: 'approved', approvalId: 'ap-1', by: ['owner'] });
    expect(room.calls).toEqual([]);
  });
});

test('a dangerous action runs once a person has signed for it with a real key, and the next one waits again', async () => {
  const desk = await makeApprovals();
  const ann = await desk.enrol('ann');
  const room = await startedRoom({ clock: desk.clock, approvals: desk.queue });
  await room.report(20);
  await room.spawn({ ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }] });
  const approve = async () => {
    const [waiting] = desk.queue.list().filter(({ view }) => view.state === 'pending');
    expect(waiting).toMatchObject({ principalKey: 'agent:auto', view: { tool: 'matter:lamp_unlock@1.0.0' } });
    if (waiting) await desk.say(waiting.view, ann);
    for (const { type, subject, data } of desk.heard.splice(0)) room.events.emit(type, subject, data);
    await settled();
  };
  for (const runs of [1, 2]) {
    await room.report(20);
    await room.report(26);
    expect(room.calls).toHaveLength(runs - 1);
    await approve();
    expect(room.calls).toHaveLength(runs);
  }
  expect(await room.view('auto')).toMatchObject({ status: 'active', runs: 2 });
});

describe('a restart', () => {
  test('lets automations go on where they were, with what they count', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn(WHEN_HOT);
    await room.report(26);
    await room.runner[Symbol.asyncDispose]();
    await room.report(20);
    await room.report(27);
    expect(room.calls).toHaveLength(1);
    const after = await restarted(room);
    await after.report(20);
    await after.report(26);
    expect(after.calls).toHaveLength(1);
    expect(await after.view('auto')).toMatchObject({ status: 'active', runs: 2 });
  });

  test('does not wait for a call that never ends', async () => {
    const room = await startedRoom();
    room.onLamp(() => new Promise(() => {}));
    await room.report(20);
    await room.spawn(WHEN_HOT);
    await room.report(26);
    const stopped = room.runner[Symbol.asyncDispose]();
    await room.pass(1);
    await stopped;
    const after = await restarted(room);
    const error = { code: 'OUTCOME_UNKNOWN' };
    expect(await after.view('auto')).toMatchObject({ status: 'active', runs: 1, is_running: false, last_error: error });
    expect(after.calls).toEqual([]);
  });

  test('after a crash in the middle of a run does not begin it again, and says that it was not finished', async () => {
    const room = await startedRoom();
    room.onLamp(() => new Promise(() => {}));
    await room.report(20);
    await room.spawn(WHEN_HOT);
    await room.report(26);
    expect(room.calls).toHaveLength(1);
    const after = await restarted(room);
    await after.report(26);
    await after.pass(3600);
    expect(after.calls).toHaveLength(0);
    expect(await after.view('auto')).toMatchObject({ is_running: false, last_error: { code: 'OUTCOME_UNKNOWN' } });
  });

  test('finds that a token has ended meanwhile', async () => {
    const room = await startedRoom();
    await room.spawn(WHEN_HOT, { name: 'short', ttl_seconds: 60 });
    await room.spawn(WHEN_HOT, { name: 'gone', ttl_seconds: 3600 });
    await room.runner[Symbol.asyncDispose]();
    const [gone] = room.issuer.list().filter(({ agentId }) => agentId === 'gone');
    room.issuer.revoke(gone?.id ?? '');
    room.clock.advance(600_000);
    const after = await restarted(room);
    expect(await after.view('short')).toMatchObject({ status: 'expired' });
    expect(await after.view('gone')).toMatchObject({ status: 'killed' });
    expect(JSON.stringify(after.store.entries('agents'))).not.toContain('at1.');
  });

  test('leaves an automation that it cannot read any more idle until its token ends', async () => {
    const room = await startedRoom();
    await room.spawn(WHEN_HOT);
    await room.runner[Symbol.asyncDispose]();
    const [entry] = room.store.entries('agents');
    room.store.set('agents', 'auto', { ...(entry?.value as JsonObject), config: { trigger: 'moon' } });
    const after = await restarted(room);
    expect(await after.view('auto')).toMatchObject({ status: 'failing', last_error: { code: 'VALIDATION_ERROR' } });
    await after.pass(86_400);
    expect(await after.view('auto')).toMatchObject({ status: 'expired' });
  });

  test('runs nothing when the mark of a run cannot be written', async () => {
    const room = await startedRoom();
    await room.report(20);
    await room.spawn(WHEN_HOT);
    room.store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    };
    await room.report(26);
    expect(room.calls).toHaveLength(0);
  });
});
