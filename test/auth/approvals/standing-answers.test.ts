import { describe, expect, test, vi } from 'vitest';
import { signStatement } from '../../../src/codec/approval-statement.ts';
import {
  APPROVAL_ANSWERS,
  type ApprovalDecision,
  type ApprovalRequest,
  type ApprovalView,
  isApproving,
} from '../../../src/core/auth/approvals.ts';
import type { Effect, Principal } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { withToken } from '../../calls/pipeline-fixture.ts';
import { KilledStore } from '../../killed-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { seededRandom } from '../../seeded-random.ts';
import { AGENT, HUB, makeApprovals, OWNER, type Person, requestOf, statementFor } from './approval-fixture.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LAMP: Effect = { permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' };
const kitchen = withToken(AGENT);
const PROGRAM = { kind: 'cmd', program: '/bin/ls', args: [], powers: [], versions: [] } as const;

function lampRequest(extra: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return requestOf({ principal: kitchen, toolId: 'matter:lamp_on@1.0.0', title: 'Turn on', params: {}, effects: [LAMP], ...extra });
}

const refusal = (code: string, text = '') => expect.objectContaining({ code, message: expect.stringContaining(text) });

describe('the answers that a request takes', () => {
  const { plan } = requestOf();
  const read: Effect = { permission: 'device:read:lamp', risk: 'none', target: 'lamp/1/OnOff/OnOff' };
  const step = { ...plan, targets: ['lamp/1/OnOff/On'] };
  test.each<[string, Partial<ApprovalRequest>, readonly ApprovalDecision[]]>([
    ['a lamp', {}, ['approve', 'approve_for_hour', 'deny', 'refuse']],
    ['a lock', { effects: requestOf().effects }, ['approve', 'deny', 'refuse']],
    ['a lock that is only locked', { effects: [{ ...LAMP, target: 'door/1/DoorLock/LockDoor' }] }, ['approve', 'deny', 'refuse']],
    ['a valve', { effects: [{ ...LAMP, target: 'lamp/1/ValveConfigurationAndControl/Open' }] }, ['approve', 'deny', 'refuse']],
    ['a plug that opens a garage', { effects: [{ ...LAMP, risk: 'dangerous' }] }, ['approve', 'deny', 'refuse']],
    ['a program', { effects: [], plan: { ...plan, program: PROGRAM } }, ['approve', 'deny']],
    ['administration', { effects: [{ permission: 'admin:hub', risk: 'dangerous', target: 'hub:backup' }] }, ['approve', 'deny']],
    ['two persons', { personsNeeded: 2 }, ['approve', 'deny', 'refuse']],
    ['the owner', { principal: OWNER }, ['approve', 'approve_for_hour', 'deny']],
    ['a reading', { effects: [read] }, ['approve', 'approve_for_hour', 'deny']],
    ['a step with a lamp', { plan: { ...plan, steps: [step] } }, ['approve', 'approve_for_hour', 'deny', 'refuse']],
    [
      'a step with a lock',
      { plan: { ...plan, steps: [{ ...step, targets: ['door/1/DoorLock/UnlockDoor'] }] } },
      ['approve', 'deny', 'refuse'],
    ],
    ['a step of unknown arguments', { plan: { ...plan, steps: [{ ...step, open: true }] } }, ['approve', 'deny', 'refuse']],
  ])('about %s', async (_, extra, answers) => {
    const { file } = await makeApprovals();
    expect((await file(lampRequest(extra))).answers).toEqual(answers);
  });

  test('are the only ones: an hour for a lock is refused, and nothing counts', async () => {
    const { enrol, file, say, viewOf, standing } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    await expect(say(view, ann, 'approve_for_hour')).rejects.toEqual(refusal('PERMISSION_DENIED', 'it takes approve, deny, refuse'));
    expect([viewOf(view.approval_id).state, standing.list()]).toEqual(['pending', []]);
  });
});

describe('how long a request waits', () => {
  const waits = { programs: 2 * HOUR_MS, administration: 3 * HOUR_MS, devices: 24 * HOUR_MS, other: 4 * HOUR_MS };
  const made = () => {
    const clock = new ManualClock();
    return makeApprovals(clock, new MemoryKeyValueStore(clock), HUB, waits);
  };

  test('is the setting of its kind, and ten minutes at most for a lock', async () => {
    const { file } = await made();
    const { plan } = requestOf();
    const admin: Effect = { permission: 'admin:hub', risk: 'dangerous', target: 'hub:backup' };
    const waitsOf = async (extra: Partial<ApprovalRequest>) => (await file(lampRequest(extra))).waits_for_s;
    expect(await waitsOf({})).toBe(86_400);
    expect(await waitsOf({ effects: requestOf().effects })).toBe(600);
    expect(await waitsOf({ effects: [], plan: { ...plan, program: PROGRAM } })).toBe(7_200);
    expect(await waitsOf({ effects: [admin] })).toBe(10_800);
    expect(await waitsOf({ effects: [LAMP, admin] })).toBe(10_800);
    expect(await waitsOf({ effects: [LAMP, ...requestOf().effects] })).toBe(600);
    expect(await waitsOf({ effects: [{ permission: 'net:read', risk: 'low', target: 'example.com' }] })).toBe(14_400);
  });

  test('says nothing about the approved call, which has ten minutes from the approval on', async () => {
    const { enrol, file, say, queue, clock } = await made();
    const ann = await enrol('ann');
    const view = await file(lampRequest());
    clock.advance(23 * HOUR_MS);
    const approved = await say(view, ann);
    expect(Date.parse(approved.usable_until ?? '') - clock.now()).toBe(10 * MINUTE_MS);
    clock.advance(9 * MINUTE_MS);
    expect((await queue.peek(lampRequest())).state).toBe('approved');
    clock.advance(2 * MINUTE_MS);
    expect(await queue.peek(lampRequest())).toMatchObject({ state: 'pending', given: 0 });
  });

  test('and a lock that was approved late is not opened after its ten minutes', async () => {
    const { enrol, file, say, queue, clock } = await made();
    const ann = await enrol('ann');
    const view = await file();
    clock.advance(9 * MINUTE_MS);
    await say(view, ann);
    clock.advance(MINUTE_MS);
    expect(await queue.peek(requestOf())).toMatchObject({ state: 'pending', given: 0 });
  });
});

/** A call that ann has allowed for an hour and that was not made yet. */
async function allowedForHour() {
  const setup = await makeApprovals();
  const ann = await setup.enrol('ann');
  const view = await setup.file(lampRequest());
  await setup.say(view, ann, 'approve_for_hour');
  const state = async (extra: Partial<ApprovalRequest> = {}) => (await setup.queue.peek(lampRequest(extra))).state;
  return { ...setup, view, state };
}

describe('an approval for an hour', () => {
  test('lets the same call through as often as it comes, with a note for each use, and ends with the hour', async () => {
    const { queue, notes, clock, standing, view } = await allowedForHour();
    for (let count = 0; count < 5; count++) expect((await queue.check(lampRequest())).state).toBe('approved');
    expect(queue.refusalOf(kitchen, [LAMP])).toBeUndefined();
    expect(notes.filter(({ event }) => event === 'approval.standing_used')).toHaveLength(4);
    expect(standing.list()).toMatchObject([{ approval_id: view.approval_id, answer: 'approve_for_hour', person: 'ann' }]);
    clock.advance(HOUR_MS - 1);
    expect((await queue.check(lampRequest())).state).toBe('approved');
    clock.advance(1);
    expect((await queue.check(lampRequest())).state).toBe('pending');
    expect(standing.list()).toEqual([]);
  });

  test('is for this agent, its token, these arguments and this effect alone', async () => {
    const { queue, state } = await allowedForHour();
    await queue.check(lampRequest());
    const others: readonly Partial<ApprovalRequest>[] = [
      { principal: { ...kitchen, id: 'garden' } },
      { principal: { ...kitchen, id: 'kitchen/child' } },
      { principal: withToken(AGENT, { id: 'bb', chain: ['bb'] }) },
      { principal: AGENT },
      { callHash: 'cd'.repeat(32) },
      { toolId: 'matter:lamp_off@1.0.0' },
      { effects: [{ ...LAMP, target: 'lamp/2/OnOff/On' }] },
      { personsNeeded: 2 },
    ];
    for (const other of others) expect(await state(other), JSON.stringify(other)).toBe('pending');
    expect(await state()).toBe('approved');
  });

  test('counts no more once its key is removed, or on another hub', async () => {
    const { approvers, state, enrol, queue, clock, store } = await allowedForHour();
    await queue.check(lampRequest());
    await enrol('ben');
    const elsewhere = await makeApprovals(clock, store, 'hub-ffffffffffffffff');
    expect((await elsewhere.queue.peek(lampRequest())).state).toBe('pending');
    const key = approvers.list().find(({ person }) => person === 'ann');
    await approvers.remove(key?.keyId ?? '');
    expect(await state()).toBe('pending');
  });

  test('ends with a clock that is turned back, and with a restart at an earlier time', async () => {
    const { clock, queue, restart } = await allowedForHour();
    await queue.check(lampRequest());
    clock.correctBy(-30 * MINUTE_MS);
    expect((await queue.peek(lampRequest())).state).toBe('pending');
    expect((await (await restart()).queue.peek(lampRequest())).state).toBe('pending');
  });

  test('can be removed by anybody who may, and stays removed over a restart', async () => {
    const { standing, view, queue, restart, notes } = await allowedForHour();
    await queue.check(lampRequest());
    await standing.remove(view.approval_id, { ...AGENT, id: 'ben' });
    expect(notes.map(({ event }) => event)).toContain('approval.standing_removed');
    expect((await queue.peek(lampRequest())).state).toBe('pending');
    expect((await restart()).standing.list()).toEqual([]);
    await expect(standing.remove(view.approval_id, OWNER)).rejects.toEqual(refusal('NOT_FOUND'));
  });
});

describe('an approval for an hour that was removed', () => {
  test('lets no first call through either, also after a restart', async () => {
    const { standing, view, queue, viewOf, restart, state } = await allowedForHour();
    await standing.remove(view.approval_id, OWNER);
    expect([await state(), viewOf(view.approval_id).state]).toEqual(['pending', 'withdrawn']);
    const after = await restart();
    expect(after.viewOf(view.approval_id).state).toBe('withdrawn');
    expect((await after.queue.check(lampRequest())).approvalId).not.toBe(view.approval_id);
    queue.giveBack(view.approval_id);
    expect(await state()).toBe('pending');
  });

  test('stays withdrawn while its disk is full, and when others make room', async () => {
    const { standing, view, queue, store, state } = await allowedForHour();
    await standing.remove(view.approval_id, OWNER);
    vi.spyOn(store, 'set').mockImplementation(() => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    });
    standing.makeRoom();
    await expect(queue.check(lampRequest())).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    vi.restoreAllMocks();
    expect(await state()).toBe('pending');
  });

  test('does not come back with a call that went by the hour and did nothing', async () => {
    const { standing, view, queue, viewOf, state } = await allowedForHour();
    await queue.check(lampRequest());
    expect((await queue.check(lampRequest())).approvalId).toBe(view.approval_id);
    queue.giveBack(view.approval_id);
    expect(viewOf(view.approval_id).state).toBe('used');
    await standing.remove(view.approval_id, OWNER);
    expect(await state()).toBe('pending');
  });
});

describe('a refused device', () => {
  async function refused() {
    const setup = await makeApprovals();
    const ann = await setup.enrol('ann');
    const view = await setup.file(lampRequest());
    expect(await setup.say(view, ann, 'refuse')).toMatchObject({ state: 'denied', denied_by: 'ann' });
    return { ...setup, view };
  }
  const child: Principal = { ...kitchen, id: 'kitchen/child' };

  test('is refused to the agent and those it made, whatever the call, and not to others; reading goes on', async () => {
    const { queue, view } = await refused();
    const other: Effect = { ...LAMP, target: 'lamp/1/LevelControl/MoveToLevel' };
    const known = { id: view.approval_id, by: 'ann', device: 'lamp' };
    for (const principal of [kitchen, child, AGENT]) expect(queue.refusalOf(principal, [other])).toEqual(known);
    for (const principal of [OWNER, { ...kitchen, id: 'kitchens' }]) expect(queue.refusalOf(principal, [other])).toBeUndefined();
    expect(queue.refusalOf(kitchen, [{ ...LAMP, permission: 'device:read:lamp' }])).toBeUndefined();
    expect(queue.refusalOf(kitchen, [{ ...LAMP, target: 'blind/1/OnOff/On' }])).toBeUndefined();
  });

  test('holds without an end, over restarts, until somebody else than the agent removes it', async () => {
    const { clock, restart } = await refused();
    clock.advance(400 * 24 * HOUR_MS);
    const { queue, standing } = await restart();
    const [answer] = standing.list();
    expect(answer).toMatchObject({ answer: 'refuse', summary: 'kitchen may not use Floor lamp (Hall)' });
    for (const principal of [kitchen, child]) {
      await expect(standing.remove(answer?.approval_id ?? '', principal)).rejects.toEqual(refusal('PERMISSION_DENIED'));
    }
    await standing.remove(answer?.approval_id ?? '', { ...AGENT, id: 'ben' });
    expect(queue.refusalOf(kitchen, [LAMP])).toBeUndefined();
    expect((await restart()).queue.refusalOf(kitchen, [LAMP])).toBeUndefined();
  });
});

test.each([
  ['approve_for_hour', 1],
  ['approve_for_hour', 2],
  ['refuse', 1],
  ['refuse', 2],
] as const)('an answer %s whose process ends at write %i is there after the next start, and stays removed', async (answer, writes) => {
  const clock = new ManualClock();
  const store = new MemoryKeyValueStore(clock);
  const before = await makeApprovals(clock, store);
  const ann = await before.enrol('ann');
  const view = await before.file(lampRequest());
  const killed = await makeApprovals(clock, new KilledStore(store, writes));
  await killed.say(view, ann, answer).catch(() => undefined);
  const after = await makeApprovals(clock, store);
  expect(after.standing.list()).toMatchObject([{ answer, approval_id: view.approval_id }]);
  await after.standing.remove(view.approval_id, OWNER);
  expect((await after.restart()).standing.list()).toEqual([]);
});

/** A decision that a person signed, as somebody on the way could see it. */
interface SeenDecision {
  readonly approvalId: string;
  readonly decision: ApprovalDecision;
  readonly person: string;
  readonly signature: string;
}

test('of 1,000 altered, replayed, swapped and stale decisions of all answers, none is accepted', async () => {
  const setup = await makeApprovals();
  const { enrol, clock, queue, standing } = setup;
  const random = seededRandom(20_261_127);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const [ann, ben] = [await enrol('ann'), await enrol('ben')];
  const sign = (view: ApprovalView, person: Person, decision: ApprovalDecision, change = {}): SeenDecision => {
    const signature = signStatement({ ...statementFor(view, person.name, decision), ...change }, person.key);
    return { approvalId: view.approval_id, decision, person: person.name, signature };
  };
  const newRequest = (round: number) => setup.file(lampRequest({ callHash: round.toString(16).padStart(64, '0') }));
  const attacks: Readonly<Record<string, (round: number) => Promise<SeenDecision>>> = {
    altered: async (round) => {
      const view = await newRequest(round);
      const hour = new Date(clock.now() + HOUR_MS).toISOString();
      const changes = [{ call_hash: 'ff'.repeat(32) }, { tool: 'matter:door_unlock@1.0.0' }, { hub: 'hub-1' }, { expires_at: hour }];
      return sign(view, ann, pick(APPROVAL_ANSWERS), pick([...changes, { approval_id: 'ee'.repeat(16) }, { person: 'ben' }]));
    },
    'of another answer': async (round) => {
      const view = await newRequest(round);
      const [said, signed] = [pick(APPROVAL_ANSWERS), pick(APPROVAL_ANSWERS)];
      const other = said === signed ? APPROVAL_ANSWERS[(APPROVAL_ANSWERS.indexOf(said) + 1) % APPROVAL_ANSWERS.length] : signed;
      return { ...sign(view, ann, other ?? 'deny'), decision: said };
    },
    'swapped between requests': async (round) => {
      const [first, second] = [await newRequest(round), await newRequest(round + 100_000)];
      return { ...sign(first, ann, pick(APPROVAL_ANSWERS)), approvalId: second.approval_id };
    },
    'swapped between persons': async (round) => ({ ...sign(await newRequest(round), ann, pick(APPROVAL_ANSWERS)), person: ben.name }),
    'with a bit turned': async (round) => {
      const decision = sign(await newRequest(round), ann, pick(APPROVAL_ANSWERS));
      const bytes = Buffer.from(decision.signature, 'base64url');
      const at = Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      return { ...decision, signature: bytes.toString('base64url') };
    },
    replayed: async (round) => {
      const decision = sign(await newRequest(round), ann, pick(APPROVAL_ANSWERS));
      await queue.decide(decision);
      for (const { approval_id: id } of standing.list()) await standing.remove(id, OWNER);
      return decision;
    },
    stale: async (round) => {
      const decision = sign(await newRequest(round), ann, pick(APPROVAL_ANSWERS));
      clock.advance(10 * MINUTE_MS);
      return decision;
    },
    'of an unknown key': async (round) => sign(await newRequest(round), { ...ben, name: 'ann' }, pick(APPROVAL_ANSWERS)),
  };
  const kinds = Object.keys(attacks);
  const accepted: string[] = [];
  for (let round = 0; round < 1_000; round++) {
    const kind = pick(kinds);
    const decision = (await attacks[kind]?.(round)) as SeenDecision;
    const before = JSON.stringify([queue.get(decision.approvalId)?.view, standing.list()]);
    const isTaken = await queue.decide(decision).then(
      () => true,
      () => false,
    );
    if (isTaken || JSON.stringify([queue.get(decision.approvalId)?.view, standing.list()]) !== before)
      accepted.push(`${kind} ${decision.decision}`);
    if (round % 3 === 2) clock.advance(11 * MINUTE_MS);
  }
  expect(accepted).toEqual([]);
  expect(isApproving('refuse')).toBe(false);
});
