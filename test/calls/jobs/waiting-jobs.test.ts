import { describe, expect, test } from 'vitest';
import { IdempotencyStore } from '../../../src/calls/idempotency-store.ts';
import { JobStore } from '../../../src/calls/jobs/job-store.ts';
import { WaitingJobs } from '../../../src/calls/jobs/waiting-jobs.ts';
import type { JobView } from '../../../src/calls/request-and-answer.ts';
import type { ApprovalDecision } from '../../../src/core/auth/approvals.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { KeyValueStore } from '../../../src/core/storage/key-value-store.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { makeApprovals, makePerson, type Person } from '../../auth/approvals/approval-fixture.ts';
import { KilledStore } from '../../killed-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { agent, makePipeline, makeTool, PLAIN_VAULT, settled, withToken } from '../pipeline-fixture.ts';

const MINUTE_MS = 60_000;
const me = withToken({ ...agent('device:control:*'), id: 'kitchen' });
const ann = makePerson('ann');
const ben = makePerson('ben');

/** What the tool did to the lamp, over all processes of the hub. */
type Lamp = JsonObject[];

/** A tool that changes a lamp. In a process that was killed it does nothing. */
function lampTool(lamp: Lamp, isDead: () => boolean, extra: Partial<RegisteredTool> = {}): RegisteredTool {
  const tool = makeTool({
    name: 'lamp_on',
    namespace: 'matter',
    execution: { side_effects: true, async_allowed: true },
    requires: { permissions: ['device:control:lamp'] },
    parameters: { type: 'object', properties: { level: { type: 'integer' }, pin: { type: 'string', 'x-secret': true } } },
    effects: () => [{ permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' }],
    handler: async (params): Promise<Json> => {
      if (isDead()) return new Promise(() => {});
      return { done: lamp.push(params) };
    },
  });
  return { ...tool, ...extra };
}

interface HubParts {
  readonly clock: ManualClock;
  readonly store: KeyValueStore;
  readonly lamp: Lamp;
  readonly persons?: number;
  readonly tool?: Partial<RegisteredTool>;
  readonly vault?: typeof PLAIN_VAULT;
}

/** One process of a hub whose owner wants people to approve the lamp. */
async function startHub({ clock, store, lamp, persons = 1, tool = {}, vault = PLAIN_VAULT }: HubParts) {
  const approvals = await makeApprovals(clock, store);
  const { events, queue } = approvals;
  const jobs = new JobStore({ store, clock, events });
  jobs.recover();
  const rules = { judge: () => ({ kind: 'approve', rule: 'ask first', persons }) as const };
  const idempotency = new IdempotencyStore({ store, clock, hasLostState: false });
  const setup = makePipeline({ clock, approvals: queue, rules, events, jobs, idempotency, vault });
  setup.registry.register(lampTool(lamp, () => store instanceof KilledStore && store.isDead, tool));
  const waiting = new WaitingJobs({ events, logger: silentLogger, jobs, approvals: queue, vault, pipeline: setup.pipeline });
  await waiting.start();

  async function start(params: JsonObject = { level: 7 }, principal: Principal = me, extra = {}) {
    return setup.pipeline.callAsync({ principal, tool: 'lamp_on', params, waitsForApproval: true, ...extra });
  }
  /** Starts a job that waits. */
  async function wait(params?: JsonObject, principal?: Principal): Promise<JobView> {
    const answer = await start(params, principal);
    if (answer.kind !== 'job') throw new Error(JSON.stringify(answer));
    return answer.job;
  }
  const open = () => queue.list().find(({ view }) => view.state === 'pending')?.view;
  /** Has a person answer the request that waits, and lets everything run. */
  async function say(person: Person, decision: ApprovalDecision): Promise<void> {
    const view = open();
    if (view) await approvals.say(view, person, decision);
    await settled();
  }
  const jobOf = (id: string) => jobs.get(id, me);
  return { ...approvals, ...setup, queue, jobs, waiting, start, wait, open, say, jobOf };
}

async function home(parts: Partial<HubParts> = {}) {
  const clock = new ManualClock();
  const store = new MemoryKeyValueStore(clock);
  const lamp: Lamp = [];
  const all = { clock, store, lamp, ...parts };
  const first = await makeApprovals(clock, store);
  for (const { name, raw } of [ann, ben]) await first.approvers.enrol({ person: name, key: raw, label: 'phone' });
  return { ...(await startHub(all)), restart: () => startHub(all), clock, store, lamp };
}

describe('a job that waits', () => {
  test('is shown to people as one that runs when they approve, and runs once then', async () => {
    const { wait, open, say, jobOf, lamp } = await home();
    const job = await wait();
    expect(job).toMatchObject({ status: 'waiting', approval_id: open()?.approval_id });
    expect(open()).toMatchObject({ runs_when_approved: true, job_id: job.job_id });
    await say(ann, 'approve');
    expect(jobOf(job.job_id)).toMatchObject({ status: 'succeeded', result: { done: 1 } });
    expect(lamp).toEqual([{ level: 7 }]);
  });

  test('runs nothing where the caller did not say so, and leaves its approval to no other call', async () => {
    const { pipeline, wait, open, say, lamp, queue } = await home();
    const call = { principal: me, tool: 'lamp_on', params: { level: 7 } };
    expect(await pipeline.callAsync(call)).toMatchObject({ kind: 'refused', answer: { error: { code: 'APPROVAL_REQUIRED' } } });
    const asked = open();
    expect(asked).toMatchObject({ runs_when_approved: false });
    await wait();
    expect(queue.list()).toHaveLength(2);
    expect(await pipeline.call(call)).toMatchObject({ error: { details: { approval_id: asked?.approval_id } } });
    await say(ann, 'approve');
    expect(await pipeline.call(call)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    expect(lamp).toHaveLength(1);
  });

  test('keeps its approval while another one is cancelled between the approval and the call', async () => {
    let cancelOther = () => {};
    const effects: RegisteredTool['effects'] = () => {
      cancelOther();
      return [{ permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' }];
    };
    const { wait, say, jobs, jobOf, lamp } = await home({ tool: { effects } });
    const other = await wait({ level: 8 });
    const approved = await wait();
    cancelOther = () => {
      cancelOther = () => {};
      jobs.cancel(other.job_id, me);
    };
    await say(ann, 'approve');
    expect([jobOf(approved.job_id).status, jobOf(other.job_id).status]).toEqual(['succeeded', 'cancelled']);
    expect(lamp).toEqual([{ level: 7 }]);
  });

  test('uses the approval that the same call had before it was made as a job', async () => {
    const { pipeline, start, say, lamp, queue } = await home();
    await pipeline.call({ principal: me, tool: 'lamp_on', params: { level: 7 } });
    await say(ann, 'approve');
    expect(await start()).toMatchObject({ kind: 'job' });
    await settled();
    expect([lamp, queue.list().map(({ view }) => view.state)]).toEqual([[{ level: 7 }], ['used']]);
  });

  test('is none for a call that runs at once: it is refused, and its caller repeats it', async () => {
    const { pipeline, jobs, open } = await home();
    const answer = await pipeline.call({ principal: me, tool: 'lamp_on', params: { level: 7 }, waitsForApproval: true });
    expect(answer).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    expect([jobs.waiting(), open()?.runs_when_approved]).toEqual([[], false]);
  });

  test('waits for as many persons as are needed', async () => {
    const { wait, say, jobOf, lamp, open, queue, ...approvals } = await home({ persons: 2 });
    const { job_id: id } = await wait();
    await say(ann, 'approve');
    expect([jobOf(id).status, lamp]).toEqual(['waiting', []]);
    await approvals.viewOf(queue.list()[0]?.view.approval_id ?? '');
    await say(ben, 'approve');
    expect([jobOf(id).status, lamp.length]).toEqual(['succeeded', 1]);
  });

  test.each<[string, string, (hub: Awaited<ReturnType<typeof home>>, id: string) => unknown]>([
    ['was denied', 'PERMISSION_DENIED', ({ say }) => say(ben, 'deny')],
    ['was refused its device', 'PERMISSION_DENIED', ({ say }) => say(ben, 'refuse')],
    ['nobody approved', 'TIMEOUT', ({ clock }) => clock.advance(11 * MINUTE_MS)],
    ['was cancelled', 'CANCELLED', ({ jobs }, id) => jobs.cancel(id, me)],
    ['lost its token', 'TOKEN_INVALID', ({ jobs }) => jobs.cancelOf('aa')],
  ])('that %s fails with %s, and its request is closed', async (_, code, act) => {
    const hub = await home();
    const { job_id: id } = await hub.wait();
    await act(hub, id as string);
    await settled();
    expect(hub.jobOf(id)).toMatchObject({ status: code === 'CANCELLED' ? 'cancelled' : 'failed', error: { code } });
    expect(hub.open()).toBeUndefined();
    expect(hub.lamp).toEqual([]);
  });

  test.each<[string, string, Partial<RegisteredTool>]>([
    ['definition has changed', 'CONFLICT', { implementation: () => 'another program' }],
    [
      'effects have changed',
      'CONFLICT',
      { effects: () => [{ permission: 'device:control:lamp', risk: 'low', target: 'lamp/2/OnOff/On' }] },
    ],
    ['tool is gone', 'TOOL_NOT_FOUND', makeTool({ name: 'other', namespace: 'matter' })],
    ['caller may not do it any more', 'PERMISSION_DENIED', { effects: () => [{ permission: 'door:open', risk: 'low', target: 'x' }] }],
  ])('whose %s fails with %s when it is approved, and its approval serves nothing else', async (_, code, tool) => {
    const { wait, clock, store, lamp } = await home();
    const { job_id: id } = await wait();
    const changed = await startHub({ clock, store, lamp, tool });
    await changed.say(ann, 'approve');
    expect(changed.jobOf(id)).toMatchObject({ status: 'failed', error: { code } });
    expect([lamp, changed.queue.list().map(({ view }) => view.state)]).toEqual([[], ['withdrawn']]);
  });

  test('meets its token again: one that ended while it waited ends the job', async () => {
    const open = () => {
      throw new AtmoError('TOKEN_EXPIRED', 'The token of kitchen has expired');
    };
    const { wait, say, jobOf, lamp } = await home({ vault: { ...PLAIN_VAULT, open } });
    const { job_id: id } = await wait();
    await say(ann, 'approve');
    expect([jobOf(id), lamp]).toMatchObject([{ status: 'failed', error: { code: 'TOKEN_EXPIRED' } }, []]);
  });

  test('ends with its request once its token is revoked by the hub that issued it', async () => {
    let isRevoked = false;
    const open: typeof PLAIN_VAULT.open = (...sealed) => {
      if (isRevoked) throw new AtmoError('TOKEN_INVALID', 'The token was revoked');
      return PLAIN_VAULT.open(...sealed);
    };
    const { wait, waiting, jobOf, queue } = await home({ vault: { ...PLAIN_VAULT, open } });
    const { job_id: id } = await wait();
    waiting.endInvalid();
    expect(jobOf(id)).toMatchObject({ status: 'waiting' });
    isRevoked = true;
    waiting.endInvalid('bb');
    expect(jobOf(id)).toMatchObject({ status: 'waiting' });
    waiting.endInvalid('aa');
    expect(jobOf(id)).toMatchObject({ status: 'failed', error: { code: 'TOKEN_INVALID' } });
    expect(queue.list()).toMatchObject([{ view: { state: 'withdrawn' } }]);
  });

  test('shows its secret parameters nowhere, and runs with them', async () => {
    const sealed: Json[] = [];
    const vault: typeof PLAIN_VAULT = {
      seal: (id, content) => {
        sealed.push({ ...content.call });
        return `sealed ${id} ${sealed.length - 1}`;
      },
      open: (_id, text) => ({ call: sealed[Number(text.split(' ')[2])] as JsonObject, principal: me }),
    };
    const { wait, say, store, lamp, heard, jobs, audited } = await home({ vault });
    await wait({ level: 1, pin: '493817' });
    await say(ann, 'approve');
    expect(lamp).toEqual([{ level: 1, pin: '493817' }]);
    const stored = ['jobs', 'approvals', 'idempotency'].flatMap((space) => store.entries(space));
    expect(JSON.stringify([stored, heard, jobs.list(me), audited])).not.toContain('493817');
  });

  test('that is too long to be stored is refused, and says how to call instead', async () => {
    const tool = {
      definition: {
        ...lampTool([], () => false).definition,
        execution: { ...lampTool([], () => false).definition.execution, maxParamsBytes: 1_000_000 },
      },
    };
    const { start, lamp, open } = await home({ tool });
    expect(await start({ level: 1, pin: 'x'.repeat(300_000) })).toMatchObject({
      kind: 'refused',
      answer: { error: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('call it without waiting') } },
    });
    expect([lamp, open()]).toEqual([[], undefined]);
  });

  test('is answered to a repeat with the same idempotency key, and waits once', async () => {
    const { start, queue, say, lamp } = await home();
    const [first, second] = [
      await start({ level: 3 }, me, { idempotencyKey: 'k' }),
      await start({ level: 3 }, me, { idempotencyKey: 'k' }),
    ];
    expect(second).toEqual(first);
    expect(queue.list()).toHaveLength(1);
    await say(ann, 'approve');
    expect(lamp).toHaveLength(1);
  });

  test('waits on while the hub stops, and runs after its next start', async () => {
    const { wait, pipeline, say, jobOf, restart, lamp } = await home();
    const { job_id: id } = await wait();
    await pipeline.drain(0);
    await say(ann, 'approve');
    expect([jobOf(id).status, lamp]).toEqual(['waiting', []]);
    const next = await restart();
    await settled();
    expect([next.jobOf(id).status, lamp.length]).toEqual(['succeeded', 1]);
  });
});

/** What happens after the start of a job; a process that is killed on the way does not come to the rest of it. */
const STORIES: Readonly<Record<string, { readonly persons?: number; readonly answers: readonly (readonly [Person, ApprovalDecision])[] }>> =
  {
    'approved once': { answers: [[ann, 'approve']] },
    'approved for an hour': { answers: [[ann, 'approve_for_hour']] },
    'approved by two': {
      persons: 2,
      answers: [
        [ann, 'approve'],
        [ben, 'approve'],
      ],
    },
    denied: { answers: [[ben, 'deny']] },
    refused: { answers: [[ben, 'refuse']] },
    'approved by one of two': { persons: 2, answers: [[ann, 'approve']] },
    'answered by nobody': { answers: [] },
  };

/** Tells one story to hubs that are killed at a write each, one after the other, and then to one that lives on. */
async function killedStory(name: string, kills: readonly number[]) {
  const { persons = 1, answers } = STORIES[name] ?? { answers: [] };
  const { clock, store, lamp, waiting } = await home({ persons });
  await waiting[Symbol.asyncDispose]();
  let acknowledged: JobView['job_id'] | undefined;
  let killed = 0;
  for (const [index, writes] of kills.entries()) {
    const process = new KilledStore(store, writes);
    const hub = await startHub({ clock, store: process, lamp, persons }).catch(() => undefined);
    const started = index === 0 ? await hub?.start({ level: 5 }, me, { idempotencyKey: 'k' }).catch(() => undefined) : undefined;
    if (!process.isDead && started?.kind === 'job') acknowledged = started.job.job_id;
    for (const [person, decision] of answers) if (!process.isDead) await hub?.say(person, decision).catch(() => undefined);
    await settled();
    killed += process.isDead ? 1 : 0;
    process.isDead = true;
  }
  const last = await startHub({ clock, store, lamp, persons });
  await settled();
  for (const [person, decision] of answers) await last.say(person, decision).catch(() => undefined);
  return { last, lamp, acknowledged, killed };
}

describe('a hub that is killed between the request and the run', () => {
  const once = Object.keys(STORIES).flatMap((name) => Array.from({ length: 9 }, (_, index) => [name, [index + 1]] as const));
  const twice = [2, 3, 4, 5, 6].flatMap((first) => [1, 2, 3, 4].map((second) => ['approved once', [first, second]] as const));
  let kills = 0;

  test.each([...once, ...twice])(
    'of a job that is %s, at write %j: nothing is lost, doubled or approved by itself',
    async (name, writes) => {
      const { last, lamp, acknowledged, killed } = await killedStory(name, writes);
      kills += killed;
      const isApproved = name.startsWith('approved') && name !== 'approved by one of two';
      expect(lamp.length).toBeLessThanOrEqual(isApproved ? 1 : 0);
      // Nobody was told of the job, so it may be lost; but then it never runs.
      if (acknowledged === undefined) return;
      const job = last.jobOf(acknowledged);
      if (isApproved) {
        const isHonest = job.status === 'failed' && ['OUTCOME_UNKNOWN', 'SHUTTING_DOWN'].includes(job.error?.code ?? '');
        expect(isHonest || (job.status === 'succeeded' && lamp.length === 1), JSON.stringify(job)).toBe(true);
        if (job.error?.code === 'SHUTTING_DOWN') expect(lamp).toEqual([]);
      } else if (name === 'denied' || name === 'refused') {
        expect(job).toMatchObject({ status: 'failed', error: { code: 'PERMISSION_DENIED' } });
      } else expect(job.status).toBe('waiting');
      if (name === 'refused') expect(last.standing.list()).toMatchObject([{ answer: 'refuse' }]);
    },
  );

  test('is killed at 50 points or more by these tests', () => {
    expect(kills).toBeGreaterThanOrEqual(50);
  });
});
