import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { signStatement } from '../../../src/codec/approval-statement.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { journalParts } from '../../storage/storage-services.ts';
import { AGENT, makeApprovals, makePerson, OWNER, requestOf, statementFor } from './approval-fixture.ts';

const MINUTE_MS = 60_000;
const refusal = (code: string, text = '') => expect.objectContaining({ code, message: expect.stringContaining(text) });

describe('one approval', () => {
  test('lets exactly one call through', async () => {
    const { queue, enrol, file, say, viewOf } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    expect(view).toMatchObject({ state: 'pending', agent_id: 'kitchen', needed: 1, given: 0, params: { pin: '[secret]' } });
    expect(await say(view, ann)).toMatchObject({ state: 'approved', given: 1 });
    expect(await queue.check(requestOf())).toEqual({ state: 'approved', approvalId: view.approval_id, by: ['ann'] });
    expect(viewOf(view.approval_id).state).toBe('used');
    const next = await queue.check(requestOf());
    expect(next).toMatchObject({ state: 'pending', given: 0 });
    expect(next.approvalId).not.toBe(view.approval_id);
  });

  test('serves one of many calls that come at the same moment', async () => {
    const { queue, approved } = await makeApprovals();
    await approved();
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => queue.check(requestOf())));
    expect(verdicts.filter(({ state }) => state === 'approved')).toHaveLength(1);
  });

  test('is given by nobody whose role is not that of an approver any more, or whose time has ended', async () => {
    const { store, clock, enrol, file, say, viewOf } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    const record = { title: 'Ann', role: 'child', untilMs: clock.now() + MINUTE_MS };
    store.set('people', 'ann', record);
    await expect(say(view, ann)).rejects.toThrow(refusal('PERMISSION_DENIED', 'role is child'));
    store.set('people', 'ann', { ...record, role: 'adult', untilMs: clock.now() });
    await expect(say(view, ann)).rejects.toThrow(refusal('PERMISSION_DENIED', 'not admitted'));
    store.set('people', 'ann', { ...record, role: 'adult', leaving: true });
    await expect(say(view, ann)).rejects.toThrow(refusal('PERMISSION_DENIED', 'being removed'));
    expect(viewOf(view.approval_id)).toMatchObject({ state: 'pending', given: 0 });
    store.set('people', 'ann', { ...record, role: 'adult' });
    expect(await say(view, ann)).toMatchObject({ state: 'approved' });
  });

  test('is not used up by looking', async () => {
    const { queue, approved } = await makeApprovals();
    await approved();
    expect((await queue.peek(requestOf())).state).toBe('approved');
    expect((await queue.peek(requestOf())).state).toBe('approved');
    expect((await queue.check(requestOf())).state).toBe('approved');
  });

  test('serves nobody but the principal that asked', async () => {
    const { queue, approved } = await makeApprovals();
    await approved();
    const others: Principal[] = [{ ...AGENT, id: 'garden' }, { ...AGENT, id: 'kitchen/child' }, { ...AGENT, kind: 'hub' }, OWNER];
    for (const principal of others) expect((await queue.check(requestOf({ principal }))).state).toBe('pending');
    expect((await queue.check(requestOf())).state).toBe('approved');
  });

  test('comes back when the call dispatched nothing, and not after a crash or too late', async () => {
    const { queue, enrol, file, say, clock, restart } = await makeApprovals();
    const ann = await enrol('ann');
    const { approval_id: id, ...view } = await file();
    await say({ approval_id: id, ...view }, ann);
    await queue.check(requestOf());
    queue.giveBack(id);
    expect((await queue.check(requestOf())).state).toBe('approved');
    const afterCrash = await restart();
    afterCrash.queue.giveBack(id);
    expect(afterCrash.viewOf(id).state).toBe('used');
    clock.advance(10 * MINUTE_MS);
    queue.giveBack(id);
    expect((await queue.check(requestOf())).state).toBe('pending');
  });

  test('waits under one id while the same call is repeated', async () => {
    const { queue, file } = await makeApprovals();
    const { approval_id: id } = await file();
    for (let time = 0; time < 5; time++) expect((await queue.check(requestOf())).approvalId).toBe(id);
    expect(queue.list()).toHaveLength(1);
  });
});

describe('several persons', () => {
  test('two have to agree where two are needed, across a restart', async () => {
    const { enrol, file, say, restart } = await makeApprovals();
    const [ann, ben] = [await enrol('ann'), await enrol('ben')];
    const request = requestOf({ personsNeeded: 2 });
    const view = await file(request);
    expect(await say(view, ann)).toMatchObject({ state: 'pending', given: 1 });
    const later = await restart();
    expect(await later.queue.check(request)).toMatchObject({ state: 'pending', approvalId: view.approval_id, needed: 2, given: 1 });
    expect(await later.say(view, ben)).toMatchObject({ state: 'approved', given: 2 });
    const last = await later.restart();
    expect(await last.queue.check(request)).toMatchObject({ state: 'approved', by: ['ann', 'ben'] });
    expect((await (await last.restart()).queue.check(request)).state).toBe('pending');
  });

  test('the same person counts once, with whichever of her keys', async () => {
    const { queue, approvers, enrol, file, say } = await makeApprovals();
    const ann = await enrol('ann');
    const laptop = makePerson('ann');
    await approvers.enrol({ person: 'ann', key: laptop.raw, label: 'laptop' });
    const request = requestOf({ personsNeeded: 2 });
    const view = await file(request);
    await say(view, ann);
    await expect(say(view, ann)).rejects.toEqual(refusal('CONFLICT', 'counts once'));
    await expect(say(view, laptop)).rejects.toEqual(refusal('CONFLICT', 'counts once'));
    expect(await queue.check(request)).toMatchObject({ state: 'pending', given: 1 });
  });

  test('a rule that asks for more persons later is heeded', async () => {
    const { queue, approved } = await makeApprovals();
    await approved();
    expect(await queue.check(requestOf({ personsNeeded: 2 }))).toMatchObject({ state: 'pending', needed: 2, given: 1 });
    expect(await queue.check(requestOf())).toMatchObject({ state: 'pending', needed: 2 });
  });
});

test('a request that the disk does not let end is logged once, and again only after the disk took it', async () => {
  const { clock, store, file, viewOf } = await makeApprovals();
  const warn = vi.spyOn(silentLogger, 'warn');
  const logged = () => warn.mock.calls.filter(([event]) => event === 'approval.not_closed').length;
  const expireOnFullDisk = () => {
    const refused = vi.spyOn(store, 'set').mockImplementation(() => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    });
    clock.advance(3_600_000);
    refused.mockRestore();
  };
  const first = await file();
  expireOnFullDisk();
  expect(logged()).toBe(1);
  clock.advance(30_000);
  expect(viewOf(first.approval_id).state).toBe('expired');
  await file();
  expireOnFullDisk();
  expect(logged()).toBe(2);
  warn.mockRestore();
});

test('a request whose time is over is listed as expired, also while the disk refuses to close it', async () => {
  const { clock, store, file, queue, viewOf } = await makeApprovals();
  const { approval_id: id } = await file();
  const idsIn = (state: 'pending' | 'expired') => queue.list(state).map(({ view }) => view.approval_id);
  const refused = vi.spyOn(store, 'set').mockImplementation(() => {
    throw new AtmoError('STORAGE_FAILED', 'The disk is full');
  });
  expect([viewOf(id).state, idsIn('pending'), idsIn('expired')]).toEqual(['pending', [id], []]);
  clock.advance(3_600_000);
  expect([viewOf(id).state, idsIn('pending'), idsIn('expired')]).toEqual(['expired', [], [id]]);
  refused.mockRestore();
});

describe('on a real disk', () => {
  test('what was asked, given, used and denied is there after each reopening', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'atmo-approvals-'));
    const clock = new ManualClock();
    const reopened = async <T>(work: (setup: Awaited<ReturnType<typeof makeApprovals>>) => Promise<T>): Promise<T> => {
      const journal = { clock, logger: silentLogger, events: new EventBus('hub:test', clock), ...journalParts(directory) };
      await using store = new StateStore(journal, { directory, snapshotDirectory: directory, skipsCopyAtStop: true });
      await store.start();
      return await work(await makeApprovals(clock, store));
    };
    try {
      const ann = await reopened(({ enrol }) => enrol('ann'));
      const view = await reopened(({ file }) => file());
      await reopened(({ say, viewOf }) => say(viewOf(view.approval_id), ann));
      expect(await reopened(({ queue }) => queue.check(requestOf()))).toMatchObject({ state: 'approved', approvalId: view.approval_id });
      const next = await reopened(({ file }) => file());
      expect(next.approval_id).not.toBe(view.approval_id);
      await reopened(({ say }) => say(next, ann, 'deny'));
      expect(await reopened(({ queue }) => queue.check(requestOf()))).toMatchObject({ state: 'denied', by: 'ann' });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('a denial', () => {
  test('by one person ends the request, is told to the caller and cannot be approved away', async () => {
    const { queue, enrol, file, say, clock } = await makeApprovals();
    const [ann, ben] = [await enrol('ann'), await enrol('ben')];
    const request = requestOf({ personsNeeded: 2 });
    const view = await file(request);
    await say(view, ann);
    expect(await say(view, ben, 'deny')).toMatchObject({ state: 'denied', denied_by: 'ben' });
    await expect(say(view, ann)).rejects.toEqual(
      refusal('CONFLICT', `was denied by ben; the same call is refused until ${view.expires_at}`),
    );
    expect(await queue.check(request)).toEqual({ state: 'denied', approvalId: view.approval_id, by: 'ben', expiresAt: view.expires_at });
    clock.advance(10 * MINUTE_MS);
    expect((await queue.check(request)).state).toBe('pending');
  });

  test('takes back an approval that was not used yet', async () => {
    const { queue, enrol, file, say } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    await say(view, ann);
    await say(view, ann, 'deny');
    expect((await queue.check(requestOf())).state).toBe('denied');
  });

  test('of a newer request stands against an approval that was given back', async () => {
    const { queue, enrol, file, say } = await makeApprovals();
    const ann = await enrol('ann');
    const first = await file();
    await say(first, ann);
    await queue.check(requestOf());
    await say(await file(), ann, 'deny');
    queue.giveBack(first.approval_id);
    expect((await queue.check(requestOf())).state).toBe('denied');
  });
});

describe('who asks never approves', () => {
  test('an agent by the name of a person, nor its children', async () => {
    const { queue, enrol, file, say } = await makeApprovals();
    const ann = await enrol('ann');
    for (const id of ['ann', 'ann/helper', 'ann/helper/deep']) {
      const request = requestOf({ principal: { ...AGENT, id } });
      const reason =
        id === 'ann' ? 'who asks never approves; another approver has to' : "it acts under ann's login; another approver has to";
      await expect(say(await file(request), ann)).rejects.toEqual(refusal('PERMISSION_DENIED', reason));
      expect((await queue.check(request)).state).toBe('pending');
    }
    await say(await file(requestOf({ principal: { ...AGENT, id: 'annabel' } })), ann);
  });

  test('the owner may, an agent that is called owner may not', async () => {
    const { queue, enrol, file, say } = await makeApprovals();
    const owner = await enrol('owner');
    const request = requestOf({ principal: OWNER });
    await say(await file(request), owner);
    expect((await queue.check(request)).state).toBe('approved');
    const impostor = requestOf({ principal: { ...AGENT, id: 'owner' } });
    await expect(say(await file(impostor), owner)).rejects.toEqual(refusal('PERMISSION_DENIED'));
  });

  test('nor does a key that a token of its chain is bound to, at the request or at its use', async () => {
    const { queue, enrol, file, say } = await makeApprovals();
    const ann = await enrol('ann');
    const token = { id: 't', chain: ['t'], text: '', expiresAtMs: 0, keys: [ann.raw], rateLimits: [] };
    const bound = requestOf({ principal: { ...AGENT, token } });
    await expect(say(await file(bound), ann)).rejects.toEqual(refusal('PERMISSION_DENIED'));
    const unbound = requestOf({ callHash: 'cd'.repeat(32) });
    await say(await file(unbound), ann);
    expect((await queue.check({ ...unbound, principal: { ...AGENT, token } })).state).toBe('pending');
    expect((await queue.check(unbound)).state).toBe('approved');
  });
});

describe('what is refused', () => {
  test('a signature over anything but this statement', async () => {
    const { enrol, file, say, viewOf } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    const alterations = [
      { approval_id: 'f'.repeat(32) },
      { decision: 'deny' },
      { tool: 'matter:door_lock@1.0.0' },
      { call_hash: 'cd'.repeat(32) },
      { hub: 'hub-fedcba9876543210' },
      { expires_at: '2030-01-01T00:00:00.000Z' },
      { person: 'ben' },
    ] as const;
    for (const change of alterations) {
      await expect(say(view, ann, 'approve', change)).rejects.toEqual(refusal('PERMISSION_DENIED', 'not one by ann'));
    }
    expect(viewOf(view.approval_id)).toMatchObject({ state: 'pending', given: 0 });
  });

  test('a signature that was made for another request, another decision or by another person', async () => {
    const { queue, enrol, file } = await makeApprovals();
    const [ann, ben] = [await enrol('ann'), await enrol('ben')];
    const view = await file();
    const other = await file(requestOf({ callHash: 'cd'.repeat(32) }));
    const decide = (signature: string, person = 'ann', decision: 'approve' | 'deny' = 'approve') =>
      queue.decide({ approvalId: view.approval_id, decision, person, signature });
    const good = signStatement(statementFor(view, 'ann'), ann.key);
    await expect(decide(signStatement(statementFor(other, 'ann'), ann.key))).rejects.toEqual(refusal('PERMISSION_DENIED'));
    await expect(decide(good, 'ben')).rejects.toEqual(refusal('PERMISSION_DENIED'));
    await expect(decide(good, 'ann', 'deny')).rejects.toEqual(refusal('PERMISSION_DENIED'));
    await expect(decide(signStatement(statementFor(view, 'ann'), ben.key))).rejects.toEqual(refusal('PERMISSION_DENIED'));
    await expect(decide(good, 'mallory')).rejects.toEqual(refusal('PERMISSION_DENIED', 'has no approver key'));
    const altered = `${good.startsWith('A') ? 'B' : 'A'}${good.slice(1)}`;
    for (const text of ['', 'AA', `${good}A`, `${good}=`, good.toUpperCase(), altered]) {
      await expect(decide(text)).rejects.toEqual(refusal('PERMISSION_DENIED'));
    }
    expect(await decide(good)).toMatchObject({ state: 'approved' });
  });

  test('a thousand approvals of altered arguments: none executes', async () => {
    const { queue, enrol, clock, viewOf } = await makeApprovals();
    const ann = await enrol('ann');
    let executed = 0;
    for (let round = 0; round < 1_000; round++) {
      const hash = round.toString(16).padStart(64, '0');
      const altered = `${hash.slice(0, -1)}${hash.endsWith('f') ? '0' : 'f'}`;
      const { approvalId } = await queue.check(requestOf({ callHash: hash }));
      const statement = { ...statementFor(viewOf(approvalId), 'ann'), call_hash: altered };
      await queue
        .decide({ approvalId, decision: 'approve', person: 'ann', signature: signStatement(statement, ann.key) })
        .catch(() => undefined);
      for (const callHash of [hash, altered]) if ((await queue.check(requestOf({ callHash }))).state === 'approved') executed++;
      if (round % 4 === 3) clock.advance(10 * MINUTE_MS);
    }
    expect(executed).toBe(0);
  });

  test('an approved call whose arguments or reach are others than shown', async () => {
    const { queue, approved } = await makeApprovals();
    await approved();
    const attic = { permission: 'device:control:attic', risk: 'dangerous', target: 'attic/1/DoorLock/UnlockDoor' } as const;
    expect((await queue.check(requestOf({ callHash: 'cd'.repeat(32) }))).state).toBe('pending');
    expect((await queue.check(requestOf({ effects: [...requestOf().effects, attic] }))).state).toBe('pending');
    expect((await queue.check(requestOf({ toolId: 'matter:other@1.0.0' }))).state).toBe('pending');
    expect((await queue.check(requestOf())).state).toBe('approved');
  });

  test('unknown, used and expired requests', async () => {
    const { queue, enrol, file, say, clock } = await makeApprovals();
    const ann = await enrol('ann');
    await expect(queue.decide({ approvalId: 'f'.repeat(32), decision: 'approve', person: 'ann', signature: 'AA' })).rejects.toEqual(
      refusal('NOT_FOUND'),
    );
    const used = await file();
    await say(used, ann);
    await queue.check(requestOf());
    await expect(say(used, ann)).rejects.toEqual(refusal('CONFLICT', 'has been used'));
    const late = await file();
    clock.advance(10 * MINUTE_MS);
    await expect(say(late, ann)).rejects.toEqual(refusal('CONFLICT', 'has expired'));
  });

  test('a key that was enrolled after the request, or the same key enrolled anew', async () => {
    const { approvers, enrol, file, say, clock } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    clock.correctBy(-5 * MINUTE_MS);
    const late = await enrol('ben');
    clock.correctBy(5 * MINUTE_MS);
    await expect(say(view, late)).rejects.toEqual(refusal('PERMISSION_DENIED', 'enrolled after the request'));
    const { keyId } = approvers.keysOf('ann')[0] ?? { keyId: '' };
    await approvers.remove(keyId);
    await expect(say(view, ann)).rejects.toEqual(refusal('PERMISSION_DENIED', 'has no approver key'));
    await approvers.enrol({ person: 'ann', key: ann.raw, label: 'phone' });
    await expect(say(view, ann)).rejects.toEqual(refusal('PERMISSION_DENIED', 'enrolled after the request'));
  });

  test('an approval whose key was removed before its use', async () => {
    const { queue, approvers, enrol, file, say } = await makeApprovals();
    const ann = await enrol('ann');
    await enrol('ben');
    await say(await file(), ann);
    await approvers.remove(approvers.keysOf('ann')[0]?.keyId ?? '');
    expect(await queue.check(requestOf())).toMatchObject({ state: 'pending', given: 0 });
    await approvers.enrol({ person: 'ann', key: ann.raw, label: 'phone' });
    expect(await queue.check(requestOf())).toMatchObject({ state: 'pending', given: 0 });
  });
});

describe('time', () => {
  test('an approval expires ten minutes after the request, restart or not', async () => {
    const { queue, clock, restart, approved } = await makeApprovals();
    await approved();
    clock.advance(10 * MINUTE_MS - 1);
    expect((await queue.peek(requestOf())).state).toBe('approved');
    const later = await restart();
    expect((await later.queue.peek(requestOf())).state).toBe('approved');
    clock.advance(1);
    expect((await queue.check(requestOf())).state).toBe('pending');
    expect((await (await restart()).queue.check(requestOf())).state).toBe('pending');
  });

  test('a clock that is turned back gives no more time with the first of two approvals', async () => {
    const { clock, enrol, file, say, viewOf } = await makeApprovals();
    const [ann, ben] = [await enrol('ann'), await enrol('ben')];
    const view = await file(requestOf({ personsNeeded: 2 }));
    clock.advance(9 * MINUTE_MS);
    clock.correctBy(-5 * MINUTE_MS);
    await say(view, ann);
    clock.advance(MINUTE_MS);
    await expect(say(view, ben)).rejects.toThrow();
    expect(viewOf(view.approval_id).state).toBe('expired');
  });

  test('a clock that is turned back revives nothing', async () => {
    const { queue, enrol, file, say, clock, viewOf, restart } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    await say(view, ann);
    clock.correctBy(-9 * MINUTE_MS);
    clock.advance(10 * MINUTE_MS);
    expect((await queue.check(requestOf())).approvalId).not.toBe(view.approval_id);
    expect(viewOf(view.approval_id).state).toBe('expired');
    clock.correctBy(-51 * MINUTE_MS);
    expect((await restart()).viewOf(view.approval_id).state).toBe('expired');
  });

  test('a restart with a clock from before the request finds it expired', async () => {
    const { clock, restart, approved } = await makeApprovals();
    const { view } = await approved();
    clock.correctBy(-5 * MINUTE_MS);
    expect((await restart()).viewOf(view.approval_id).state).toBe('expired');
  });

  test('a store that was copied to another hub approves nothing there', async () => {
    const { clock, store, approved } = await makeApprovals();
    const { view } = await approved();
    const elsewhere = await makeApprovals(clock, store, 'hub-fedcba9876543210');
    expect(elsewhere.viewOf(view.approval_id).state).toBe('expired');
  });
});

describe('bounds', () => {
  test('an agent and its children have ten requests in all, denied ones counted, and get room again', async () => {
    const { queue, enrol, file, say, clock } = await makeApprovals();
    const ann = await enrol('ann');
    const ask = (index: number, id = 'kitchen') =>
      requestOf({ callHash: index.toString(16).padStart(64, '0'), principal: { ...AGENT, id } });
    await say(await file(ask(0)), ann, 'deny');
    for (let index = 1; index < 10; index++) await queue.check(ask(index, index % 2 ? 'kitchen' : `kitchen/child-${index}`));
    await expect(queue.check(ask(10))).rejects.toEqual(refusal('RESOURCE_EXCEEDED'));
    await expect(queue.check(ask(10, 'kitchen/new'))).rejects.toEqual(refusal('RESOURCE_EXCEEDED'));
    expect((await queue.check(ask(3))).state).toBe('pending');
    expect((await queue.check(ask(10, 'garden'))).state).toBe('pending');
    clock.advance(10 * MINUTE_MS);
    expect((await queue.check(ask(10))).state).toBe('pending');
  });

  test('a hundred wait in all, and the owner can ask still', async () => {
    const { queue } = await makeApprovals();
    const ask = (index: number, principal: Principal) =>
      queue.check(requestOf({ callHash: index.toString(16).padStart(64, '0'), principal }));
    for (let index = 0; index < 100; index++) await ask(index, { ...AGENT, id: `agent-${index % 10}` });
    await expect(ask(100, { ...AGENT, id: 'late' })).rejects.toEqual(refusal('RESOURCE_EXCEEDED', '100 in all'));
    expect((await ask(100, OWNER)).state).toBe('pending');
  });

  test.each(['used', 'withdrawn'])('%s requests are forgotten before they fill the store', async (state) => {
    const { queue, enrol, file, say, viewOf, store } = await makeApprovals();
    const owner = await enrol('owner');
    for (let index = 0; index < 1_050; index++) {
      const request = requestOf({ callHash: index.toString(16).padStart(64, '0'), principal: OWNER });
      const view = await file(
        state === 'used' ? request : { ...request, job: { id: `job-${index}`, approvalId: `approval-${index}`, hasAsked: false } },
      );
      await say(view, owner);
      if (state === 'used') await queue.check(request);
      else queue.withdraw(view.approval_id);
      expect(viewOf(view.approval_id).state).toBe(state);
    }
    expect(store.entries('approvals').length).toBeLessThanOrEqual(1_000);
  });

  test('expired requests are forgotten an hour later', async () => {
    const { queue, clock } = await makeApprovals();
    for (let index = 0; index < 50; index++) {
      await queue.check(requestOf({ callHash: index.toString(16).padStart(64, '0'), principal: OWNER }));
      clock.advance(10 * MINUTE_MS);
    }
    expect(queue.list().length).toBeLessThanOrEqual(8);
  });
});

describe('what is told', () => {
  test('the journal has each step with who and what, and the evidence', async () => {
    const { queue, enrol, file, say, notes, clock } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file();
    await say(view, ann);
    const { approvalId } = await queue.check(requestOf());
    await say(await file(requestOf({ callHash: 'cd'.repeat(32) })), ann, 'deny');
    await file(requestOf({ callHash: 'ef'.repeat(32) }));
    clock.advance(10 * MINUTE_MS);
    expect(notes.map(({ event }) => event)).toEqual([
      'approver.enrolled',
      'approval.requested',
      'approval.given',
      'approval.used',
      'approval.requested',
      'approval.denied',
      'approval.requested',
      'approval.expired',
    ]);
    expect(notes[2]).toMatchObject({
      principalId: 'ann',
      traceId: 'trace-1',
      data: { approval_id: approvalId, agent_id: 'kitchen', tool: view.tool, call_hash: view.call_hash, person: 'ann' },
    });
    expect(notes[2]?.data.signature).toBe(signStatement(statementFor(view, 'ann'), ann.key));
    expect(notes[1]?.principalId).toBe('kitchen');
  });

  test('admins hear of requests and decisions without parameters or signatures', async () => {
    const { enrol, file, say, heard, clock } = await makeApprovals();
    const ann = await enrol('ann');
    const view = await file(requestOf({ params: { area: 'hall-of-secrets' } }));
    await say(view, ann);
    await say(await file(requestOf({ callHash: 'cd'.repeat(32) })), ann, 'deny');
    await file(requestOf({ callHash: 'ef'.repeat(32) }));
    clock.advance(10 * MINUTE_MS);
    await settled();
    expect(heard.map(({ type, data }) => [type, data.state ?? data.needed])).toEqual([
      ['approval.requested', 1],
      ['approval.decided', 'approved'],
      ['approval.requested', 1],
      ['approval.decided', 'denied'],
      ['approval.requested', 1],
      ['approval.decided', 'expired'],
      ['approval.decided', 'expired'],
    ]);
    expect(JSON.stringify(heard)).not.toMatch(/hall-of-secrets|signature/);
  });
});
