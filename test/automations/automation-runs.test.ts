import { describe, expect, test } from 'vitest';
import type { ApprovalStatus } from '../../src/core/auth/approvals.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { makeApprovals } from '../auth/approvals/approval-fixture.ts';
import { approvalsSaying } from '../calls/approvals-fake.ts';
import { owner, settled } from '../calls/pipeline-fixture.ts';
import { type AgentFixture, codeOf, ENOUGH, LAMP_ON, restarted, SENSOR, startedFixture, WHEN_HOT } from './agent-fixture.ts';

const ON_CHANGE: JsonObject = {
  trigger: { type: 'reading', sensor_id: SENSOR, changes: true },
  actions: [{ ...LAMP_ON, params: { level: { trigger: 'value' } } }],
};
const UNREACHABLE = new AtmoError('DEVICE_UNREACHABLE', 'The lamp does not answer');

describe('a run', () => {
  test('is a call of the pipeline by the agent itself, under one trace', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...WHEN_HOT, actions: [LAMP_ON, LAMP_ON] });
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(2);
    expect(new Set(fixture.calls.map(({ traceId }) => traceId)).size).toBe(1);
    // A session is one run: what an automation does in months is no loop.
    for (const { sessionId, traceId } of fixture.calls) expect(sessionId).toBe(traceId);
    expect(fixture.audited.filter(({ principal }) => principal.id === 'auto' && principal.kind === 'agent')).toHaveLength(4);
    expect(await fixture.view('auto')).toMatchObject({ status: 'active', runs: 1, is_running: false });
  });

  test('stops at the first action that fails, unless its on_error is continue', async () => {
    const fixture = await startedFixture();
    let fails = 1;
    fixture.onLamp(async () => {
      if (fails-- > 0) throw UNREACHABLE;
      return {};
    });
    await fixture.report(20);
    await fixture.spawn({ ...WHEN_HOT, actions: [LAMP_ON, LAMP_ON] });
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(1);
    expect(await fixture.view('auto')).toMatchObject({ last_error: { code: 'DEVICE_UNREACHABLE' } });
    await fixture.spawn({ ...WHEN_HOT, actions: [{ ...LAMP_ON, on_error: 'continue' }, LAMP_ON] }, { name: 'dauntless' });
    fails = 1;
    await fixture.call('kill_agent', { agent_id: 'auto' });
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(3);
  });

  test('never overlaps another one: triggers during a run cause one more run, with the latest value', async () => {
    const fixture = await startedFixture();
    const gates: PromiseWithResolvers<void>[] = [];
    fixture.onLamp(async () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return {};
    });
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 0 });
    for (const value of [21, 22, 23, 24]) await fixture.report(value);
    expect(fixture.calls.map(({ params }) => params.level)).toEqual([21]);
    gates[0]?.resolve();
    await settled();
    expect(fixture.calls.map(({ params }) => params.level)).toEqual([21, 24]);
    gates[1]?.resolve();
    await settled();
    expect(fixture.calls).toHaveLength(2);
  });

  test('waits for the cooldown, and a trigger that would have to wait over a minute is dropped', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 30 });
    for (const value of [21, 22, 23]) await fixture.report(value);
    await fixture.pass(29);
    expect(fixture.calls.map(({ params }) => params.level)).toEqual([21]);
    await fixture.pass(1);
    expect(fixture.calls.map(({ params }) => params.level)).toEqual([21, 23]);
    const patient = await startedFixture();
    await patient.report(20);
    await patient.spawn({ ...ON_CHANGE, cooldown_seconds: 300 });
    for (const value of [21, 22]) await patient.report(value);
    await patient.pass(600);
    expect(patient.calls).toHaveLength(1);
  });

  test('waits for a cooldown that is longer than an hour', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 7200 });
    await fixture.report(21);
    await fixture.passMinutes(90);
    await fixture.report(22);
    expect(fixture.calls).toHaveLength(1);
    await fixture.passMinutes(30);
    await fixture.report(23);
    expect(fixture.calls).toHaveLength(2);
  });

  test('that waits is dropped when the cause of its trigger no longer holds', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...WHEN_HOT, cooldown_seconds: 30 });
    for (const value of [26, 20, 26, 20]) await fixture.report(value);
    await fixture.pass(60);
    expect(fixture.calls).toHaveLength(1);
  });

  test('counts for the limit per hour, and the limit is reported once', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 0, max_runs_per_hour: 3 });
    for (let value = 21; value < 40; value++) await fixture.report(value);
    expect(fixture.calls).toHaveLength(3);
    expect(await fixture.view('auto')).toMatchObject({ runs: 3, last_error: { code: 'RATE_LIMITED' } });
    await fixture.pass(3600);
    await fixture.report(50);
    expect(fixture.calls).toHaveLength(4);
  });
});

describe('an automation that is made to be a burden', () => {
  test('writes the progress of its waits to the disk at most a few hundred times an hour', async () => {
    const fixture = await startedFixture();
    const waits = { type: 'repeat', count: 100, actions: [{ type: 'wait', seconds: 30 }] };
    // Branches that begin at different seconds, so that each of their waits would be a write of its own.
    const branches = Array.from({ length: 8 }, (_, index) => [{ type: 'wait', seconds: 1 + index }, waits]);
    const nested = [1, 1.5].map((seconds) => [
      { type: 'wait', seconds },
      { type: 'parallel', branches },
    ]);
    const spawned = await fixture.spawn({ trigger: { type: 'webhook', name: 'go' }, actions: [{ type: 'parallel', branches: nested }] });
    expect(codeOf(spawned)).toBe('success');
    await fixture.call('post_to_webhook', { agent_id: 'auto', webhook: 'go' });
    let writes = 0;
    const set = fixture.store.set.bind(fixture.store);
    fixture.store.set = (space, ...rest) => {
      if (space === 'agents') writes += 1;
      set(space, ...rest);
    };
    for (let second = 0; second < 400; second++) await fixture.pass(1);
    // 60 at once, then one each 15 seconds, each of which a second one may take back. One for each beginning would be more than 200.
    expect(writes).toBeGreaterThan(20);
    expect(writes).toBeLessThanOrEqual(60 + (2 * 400) / 15 + 5);
  });

  test('is judged once for each thing that it looks at, however many of its waits one event checks', async () => {
    const fixture = await startedFixture();
    const flags = Array.from({ length: 6 }, (_, index) => `f${index}`);
    const wait = { type: 'wait_until', timeout_seconds: 3600, conditions: flags.map((flag) => ({ type: 'flag', flag })) };
    const branches = Array.from({ length: 8 }, () => [wait]);
    const actions = [{ type: 'parallel', branches: branches.map(() => [{ type: 'parallel', branches: branches.slice(0, 5) }]) }];
    const config = { trigger: { type: 'webhook', name: 'go' }, actions };
    expect(codeOf(await fixture.spawn(config, { permissions: [...ENOUGH, 'flag:read:*'] }))).toBe('success');
    await fixture.call('post_to_webhook', { agent_id: 'auto', webhook: 'go' });
    await settled();
    let judged = 0;
    const authorize = fixture.authorizer.authorize.bind(fixture.authorizer);
    fixture.authorizer.authorize = (principal, required) => {
      if (principal.id === 'auto') judged += 1;
      return authorize(principal, required);
    };
    fixture.house.flags.set({ name: 'f0', value: true, setBy: 'owner' });
    await settled();
    expect(judged).toBe(flags.length);
  });
});

test('an automation that waits for the end of a run that is in progress runs at its end', async () => {
  const fixture = await startedFixture();
  const go = { type: 'webhook', name: 'go' };
  await fixture.spawn({ trigger: go, actions: [{ type: 'wait', seconds: 60 }] }, { name: 'long' });
  await fixture.call('post_to_webhook', { agent_id: 'long', webhook: 'go' });
  await settled();
  await fixture.spawn({ trigger: { type: 'automation_ended', agent_id: 'long' }, actions: [LAMP_ON] });
  await fixture.pass(60);
  expect(fixture.calls).toHaveLength(1);
});

describe('failures', () => {
  test('five in a row suspend the automation for an hour; a successful run makes it active again', async () => {
    const fixture = await startedFixture();
    let isBroken = true;
    fixture.onLamp(async () => {
      if (isBroken) throw UNREACHABLE;
      return {};
    });
    await fixture.spawn({ ...WHEN_HOT }, { ttl_seconds: 86_400 });
    const cross = async () => {
      await fixture.report(20);
      await fixture.report(26);
    };
    for (let time = 0; time < 8; time++) await cross();
    expect(fixture.calls).toHaveLength(5);
    expect(await fixture.view('auto')).toMatchObject({ status: 'failing', last_error: { code: 'DEVICE_UNREACHABLE' } });
    expect(fixture.heard).toContainEqual(
      expect.objectContaining({ type: 'agent.changed', data: expect.objectContaining({ status: 'failing' }) }),
    );
    await fixture.pass(3600);
    await cross();
    await cross();
    expect(fixture.calls).toHaveLength(6);
    isBroken = false;
    await fixture.pass(3600);
    await cross();
    await cross();
    expect(fixture.calls).toHaveLength(8);
    expect(await fixture.view('auto')).toMatchObject({ status: 'active', runs: 8 });
  });

  test('suspend it no longer than an hour when the clock is set back', async () => {
    const fixture = await startedFixture();
    fixture.onLamp(async () => {
      throw UNREACHABLE;
    });
    fixture.clock.correctBy(86_400_000);
    await fixture.spawn(WHEN_HOT, { ttl_seconds: 7 * 86_400 });
    const cross = async () => {
      await fixture.report(20);
      await fixture.report(26);
    };
    for (let time = 0; time < 6; time++) await cross();
    expect(fixture.calls).toHaveLength(5);
    fixture.clock.correctBy(-50_000);
    await cross();
    expect(fixture.calls).toHaveLength(5);
    fixture.clock.correctBy(-3_600_000);
    await fixture.runner.renew('auto', 7 * 86_400_000, owner);
    await cross();
    expect(fixture.calls).toHaveLength(6);
  });

  test('without the permission any more is reported, and nothing runs', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn(WHEN_HOT);
    const authorize = fixture.authorizer.authorize.bind(fixture.authorizer);
    fixture.authorizer.authorize = (principal, required) =>
      required.includes(`sensor:read:${SENSOR}`) ? { allowed: false, required, reason: 'taken away' } : authorize(principal, required);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(0);
    expect(await fixture.view('auto')).toMatchObject({ last_error: { code: 'PERMISSION_DENIED' } });
  });
});

describe('a dangerous action', () => {
  const UNLOCK: JsonObject = { ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }, LAMP_ON] };
  const asking = async () => {
    let verdict: ApprovalStatus = {
      state: 'pending',
      approvalId: 'ap-1',
      expiresAt: '2026-01-01T00:10:00.000Z',
      waitsForS: 600,
      needed: 1,
      given: 0,
      summary: 'kitchen wants it',
      willDo: [],
    };
    const fixture = await startedFixture({ approvals: approvalsSaying(() => verdict) });
    await fixture.report(20);
    await fixture.spawn(UNLOCK);
    await fixture.report(26);
    const decide = async (state: string, next: ApprovalStatus = verdict) => {
      verdict = next;
      fixture.events.emit('approval.decided', 'ap-1', { approval_id: 'ap-1', state });
      await settled();
    };
    return { fixture, decide };
  };

  test('waits for people, is made once more when they approve, and the run goes on', async () => {
    const { fixture, decide } = await asking();
    expect(fixture.calls).toEqual([]);
    expect(await fixture.view('auto')).toMatchObject({ is_running: true });
    await decide('pending');
    expect(fixture.calls).toEqual([]);
    await decide('approved', { state: 'approved', approvalId: 'ap-1', by: ['owner'] });
    expect(fixture.calls.map(({ tool }) => tool)).toEqual(['lamp_unlock', 'lamp_turn_on']);
    expect(await fixture.view('auto')).toMatchObject({ runs: 1, is_running: false });
  });

  test('fails when they deny it, when nobody decides in time, and when it still is not allowed', async () => {
    const denied = await asking();
    await denied.decide('denied');
    const silent = await asking();
    await silent.fixture.pass(600);
    const unmoved = await asking();
    await unmoved.decide('approved');
    for (const { fixture } of [denied, silent, unmoved]) {
      expect(fixture.calls).toEqual([]);
      expect(await fixture.view('auto')).toMatchObject({ runs: 1, is_running: false, last_error: { code: 'APPROVAL_REQUIRED' } });
    }
  });

  test('does not outlive its agent', async () => {
    const { fixture, decide } = await asking();
    await fixture.call('kill_agent', { agent_id: 'auto' });
    await decide('approved', { state: 'approved', approvalId: 'ap-1', by: ['owner'] });
    expect(fixture.calls).toEqual([]);
  });
});

test('a dangerous action runs once a person has signed for it with a real key, and the next one waits again', async () => {
  const desk = await makeApprovals();
  const ann = await desk.enrol('ann');
  const fixture = await startedFixture({ clock: desk.clock, approvals: desk.queue });
  await fixture.report(20);
  await fixture.spawn({ ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }] });
  const approve = async () => {
    const [waiting] = desk.queue.list().filter(({ view }) => view.state === 'pending');
    expect(waiting).toMatchObject({ principalKey: 'agent:auto', view: { tool: 'matter:lamp_unlock@1.0.0' } });
    if (waiting) await desk.say(waiting.view, ann);
    for (const { type, subject, data } of desk.heard.splice(0)) fixture.events.emit(type, subject, data);
    await settled();
  };
  for (const runs of [1, 2]) {
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(runs - 1);
    await approve();
    expect(fixture.calls).toHaveLength(runs);
  }
  expect(await fixture.view('auto')).toMatchObject({ status: 'active', runs: 2 });
});

describe('a restart', () => {
  test('continues the automations with their counts', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn(WHEN_HOT);
    await fixture.report(26);
    await fixture.runner[Symbol.asyncDispose]();
    await fixture.report(20);
    await fixture.report(27);
    expect(fixture.calls).toHaveLength(1);
    const after = await restarted(fixture);
    await after.report(20);
    await after.report(26);
    expect(after.calls).toHaveLength(1);
    expect(await after.view('auto')).toMatchObject({ status: 'active', runs: 2 });
  });

  test.each(['killed', 'stopped'])('of a hub that was %s forgets neither the limit per hour nor the cooldown', async (how) => {
    let fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 0, max_runs_per_hour: 2 });
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 7200 }, { name: 'seldom' });
    const calls: unknown[] = [];
    const runsOf = async (after: AgentFixture) => [(await after.view('auto')).runs, (await after.view('seldom')).runs];
    for (let value = 21; value < 25; value++) {
      await fixture.report(value);
      await fixture.passMinutes(10);
      calls.push(await runsOf(fixture));
      if (how === 'stopped') await fixture.runner[Symbol.asyncDispose]();
      fixture = await restarted(fixture);
      await fixture.report(20);
    }
    expect(calls.at(-1)).toEqual([2, 1]);
    await fixture.passMinutes(30);
    await fixture.report(30);
    expect(await runsOf(fixture)).toEqual([3, 1]);
    await fixture.passMinutes(60);
    await fixture.report(31);
    expect(await runsOf(fixture)).toEqual([4, 2]);
  });

  test('by an edit, or by disabling and enabling, forgets neither of them', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    const config = { ...ON_CHANGE, cooldown_seconds: 0, max_runs_per_hour: 2 };
    await fixture.spawn(config);
    for (let value = 21; value < 25; value++) {
      await fixture.report(value);
      const edit = { agent_id: 'auto', config: { ...config, parameters: { level: { value } } } };
      if (value % 2 === 0) expect(codeOf(await fixture.call('edit_automation', edit))).toBe('success');
      else
        for (const enabled of [false, true])
          expect(codeOf(await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled }))).toBe('success');
      await fixture.report(20);
    }
    expect(await fixture.view('auto')).toMatchObject({ runs: 2 });
  });

  test.each(['forward', 'back'])('by an edit after the clock was set %s forgets neither, and waits no longer', async (way) => {
    const fixture = await startedFixture();
    await fixture.report(20);
    const edit = async (name: string, config: JsonObject, value: number) =>
      expect(
        codeOf(await fixture.call('edit_automation', { agent_id: name, config: { ...config, parameters: { level: { value } } } })),
      ).toBe('success');
    const [often, seldom] = [
      { ...ON_CHANGE, cooldown_seconds: 0, max_runs_per_hour: 1 },
      { ...ON_CHANGE, cooldown_seconds: 7200 },
    ];
    await fixture.spawn(often, { ttl_seconds: 7 * 86_400 });
    await fixture.spawn(seldom, { name: 'seldom', ttl_seconds: 7 * 86_400 });
    await fixture.report(21);
    await fixture.passMinutes(50);
    // A clock that was ahead by less than a token allows, and one that was behind.
    fixture.clock.correctBy(way === 'forward' ? 86_400_000 : -55_000);
    await edit('auto', often, 1);
    await edit('seldom', seldom, 1);
    const runs = async () => [(await fixture.view('auto')).runs, (await fixture.view('seldom')).runs];
    await fixture.report(22);
    expect(await runs()).toEqual([1, 1]);
    await fixture.passMinutes(10);
    await fixture.report(23);
    expect(await runs()).toEqual([2, 1]);
    await fixture.passMinutes(60);
    await fixture.report(24);
    expect(await runs()).toEqual([3, 2]);
  });

  test('after a run of which the time was not known forgets neither the limit per hour nor the cooldown', async () => {
    const fixture = await startedFixture({ isTimeTrusted: () => false });
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 7200 }, { ttl_seconds: 7 * 86_400 });
    await fixture.report(21);
    fixture.clock.correctBy(86_400_000);
    const after = await restarted(fixture);
    await after.report(20);
    await after.passMinutes(100);
    await after.report(22);
    expect(await after.view('auto')).toMatchObject({ runs: 1 });
    await after.passMinutes(30);
    await after.report(23);
    expect(await after.view('auto')).toMatchObject({ runs: 2 });
  });

  test('after which the clock is behind lets an automation run after an hour at the latest', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 0, max_runs_per_hour: 1 });
    await fixture.report(21);
    const record = fixture.runner.directory.require('auto');
    const year = 365 * 86_400_000;
    fixture.store.set('agents', 'auto', { ...record, recentRuns: [{ atMs: fixture.clock.now() + year, runs: 1 }] } as unknown as Json);
    const after = await restarted(fixture);
    await after.report(20);
    await after.report(22);
    expect(await after.view('auto')).toMatchObject({ runs: 1 });
    await after.passMinutes(60);
    await after.report(23);
    expect(await after.view('auto')).toMatchObject({ runs: 2 });
  });

  test('keeps an automation of many runs an hour to its limit, with few bytes on the disk', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...ON_CHANGE, cooldown_seconds: 0, max_runs_per_hour: 500 });
    for (let run = 0; run < 400; run++) {
      await fixture.report(21 + run);
      if (run % 10 === 0) await fixture.pass(60);
    }
    const { recentRuns = [] } = fixture.runner.directory.require('auto');
    expect(recentRuns.length).toBeLessThanOrEqual(60);
    const after = await restarted(fixture);
    for (let run = 0; run < 200; run++) await after.report(1000 + run);
    expect(await after.view('auto')).toMatchObject({ runs: 500 });
  });

  test('does not wait for a call that never ends', async () => {
    const fixture = await startedFixture();
    fixture.onLamp(() => new Promise(() => {}));
    await fixture.report(20);
    await fixture.spawn(WHEN_HOT);
    await fixture.report(26);
    const stopped = fixture.runner[Symbol.asyncDispose]();
    await fixture.pass(1);
    await stopped;
    const after = await restarted(fixture);
    const error = { code: 'OUTCOME_UNKNOWN' };
    expect(await after.view('auto')).toMatchObject({ status: 'active', runs: 1, is_running: false, last_error: error });
    expect(after.calls).toEqual([]);
  });

  test('after a crash in the middle of a run does not repeat it, and reports that it was not finished', async () => {
    const fixture = await startedFixture();
    fixture.onLamp(() => new Promise(() => {}));
    await fixture.report(20);
    await fixture.spawn(WHEN_HOT);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(1);
    const after = await restarted(fixture);
    await after.report(26);
    await after.pass(3600);
    expect(after.calls).toHaveLength(0);
    expect(await after.view('auto')).toMatchObject({ is_running: false, last_error: { code: 'OUTCOME_UNKNOWN' } });
  });

  test('finds that a token has ended meanwhile', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT, { name: 'short', ttl_seconds: 60 });
    await fixture.spawn(WHEN_HOT, { name: 'gone', ttl_seconds: 3600 });
    await fixture.runner[Symbol.asyncDispose]();
    const [gone] = fixture.issuer.list().filter(({ agentId }) => agentId === 'gone');
    fixture.issuer.revoke(gone?.id ?? '');
    fixture.clock.advance(600_000);
    const after = await restarted(fixture);
    expect(await after.view('short')).toMatchObject({ status: 'expired' });
    expect(await after.view('gone')).toMatchObject({ status: 'killed' });
    expect(after.runner.directory.records()).toMatchObject([{ ended: { cause: 'token_invalid' } }, { ended: { cause: 'lifetime_over' } }]);
    expect(JSON.stringify(after.store.entries('agents'))).not.toContain('at1.');
  });

  test.each(['while the hub runs', 'before the hub starts'])('runs again after a clock that was behind %s is right', async (when) => {
    const first = await startedFixture();
    await first.report(20);
    await first.spawn(WHEN_HOT);
    first.clock.advance(-600_000);
    const fixture = when === 'while the hub runs' ? first : await restarted(first);
    await fixture.report(20);
    await fixture.report(26);
    expect(await fixture.view('auto')).toMatchObject({ status: 'active', runs: 0 });
    expect(fixture.calls).toEqual([]);
    fixture.clock.advance(600_000);
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(1);
  });

  test('leaves an automation whose configuration it cannot read idle until its token ends', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT, { ttl_seconds: 86_400 });
    await fixture.runner[Symbol.asyncDispose]();
    const [entry] = fixture.store.entries('agents');
    fixture.store.set('agents', 'auto', { ...(entry?.value as JsonObject), config: { trigger: 'moon' } });
    const after = await restarted(fixture);
    expect(await after.view('auto')).toMatchObject({ status: 'failing', last_error: { code: 'VALIDATION_ERROR' } });
    await after.pass(86_400);
    expect(await after.view('auto')).toMatchObject({ status: 'expired' });
  });

  test('runs nothing when the mark of a run cannot be written', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn(WHEN_HOT);
    fixture.store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    };
    await fixture.report(26);
    expect(fixture.calls).toHaveLength(0);
  });
});
