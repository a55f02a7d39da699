import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { PeopleReach } from '../../src/core/notices.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { ApprovalNotices, uniqueName } from '../../src/notices/approval-notices.ts';
import { AGENT, makeApprovals, requestOf } from '../auth/approvals/approval-fixture.ts';
import { KilledStore } from '../killed-store.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { noticeParts, PAGE, reachFake, type Sent } from './notices-fixture.ts';

const SOON_MS = 500;
const LAMP = { permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' } as const;

const hubName = (id: string) => (id === 'hub-2' ? 'garage' : undefined);

/** The notices of a hub over its approvals; a hub that is started again has the same store and clock. */
async function startNotices(
  approvals: Awaited<ReturnType<typeof makeApprovals>>,
  reach: PeopleReach,
  store: KeyValueStore = approvals.store,
) {
  const { clock, queue, approvers, events } = approvals;
  const personsFor = () => [...new Set(approvers.list().map(({ person }) => person))];
  const { outbox, publisher, start, pass, notices: stored } = noticeParts({ clock, store, reach, personsFor });
  const logger = silentLogger;
  const notices = new ApprovalNotices({ clock, store, logger, events, approvals: queue, notices: stored, publisher, hubName });
  await start();
  await notices.start();
  outbox.resume();
  return { outbox, notices, stored, pass };
}

async function home(answer?: (message: Sent) => Promise<void>) {
  const approvals = await makeApprovals();
  const ann = await approvals.enrol('ann');
  const reach = reachFake(answer);
  return { ...approvals, ann, reach, ...(await startNotices(approvals, reach)) };
}

describe('a request for approval', () => {
  test('reaches who may approve within half a second, with what, who, where, until when and a link that shows it', async () => {
    const { file, pass, reach } = await home();
    const view = await file();
    await pass(SOON_MS);
    expect(reach.sent).toMatchObject([{ way: 'phone', recipient: 'ann', title: 'Approval needed', urgency: 'high' }]);
    const [{ message, link } = { message: '', link: '' }] = reach.sent;
    expect(message).toMatch(/^kitchen wants: .*\(pin: \[secret\]\).*Unlock Front door \(Hall\)\. Decide until \d\d:\d\d\.$/);
    expect(link).toBe(`${PAGE}/#/approvals/${view.approval_id}`);
  });

  test('of an agent of another hub says which hub, and has the id of a hub that is not known', async () => {
    const { file, pass, reach } = await home();
    await file(requestOf({ principal: { ...AGENT, id: 'cook@hub-2/helper' } }));
    await file(requestOf({ callHash: '12'.repeat(32), principal: { ...AGENT, id: 'cook@hub-3' } }));
    await pass(SOON_MS);
    expect(reach.sent.map(({ message }) => message.split(' wants:')[0])).toEqual(['cook/helper of the hub "garage"', 'cook@hub-3']);
  });

  test('that may wait until another day says which', async () => {
    const clock = new ManualClock(new Date(2026, 4, 1, 23, 55).getTime());
    const approvals = await makeApprovals(clock);
    await approvals.enrol('ann');
    const reach = reachFake();
    const { pass } = await startNotices(approvals, reach);
    await approvals.file();
    await pass(SOON_MS);
    expect(reach.sent[0]?.message).toMatch(/Decide until 00:05 on 2 May 2026\.$/);
  });

  test('goes over further ways only if it is still open after 30 s', async () => {
    const { file, pass, reach, say, ann } = await home();
    await file();
    await pass(29_000);
    expect(reach.sent.map(({ way }) => way)).toEqual(['phone']);
    await pass(2_000);
    expect(reach.sent.map(({ way }) => way)).toEqual(['phone', 'mail']);
    const decided = await file(requestOf({ callHash: '12'.repeat(32), principal: { ...AGENT, id: 'cellar' } }));
    await pass(SOON_MS);
    await say(decided, ann);
    await pass(60_000);
    expect(reach.sent.map(({ way }) => way)).toEqual(['phone', 'mail', 'phone']);
  });

  test('waits for more like it that follow one another closely, for a second at most', async () => {
    const { file, pass, reach } = await home();
    for (let count = 10; count < 14; count++) {
      await file(requestOf({ callHash: String(count).repeat(32) }));
      await pass(300);
    }
    expect(reach.sent).toHaveLength(1);
    expect(reach.sent[0]?.message).toContain('(4 requests like this wait)');
  });

  test('and nine more of the same agent, tool and device are one message with their number', async () => {
    const { file, pass, reach } = await home();
    for (let count = 10; count < 20; count++) await file(requestOf({ callHash: String(count).repeat(32) }));
    await pass(SOON_MS);
    expect(reach.sent.map(({ message }) => message)).toEqual([expect.stringContaining('(10 requests like this wait)')]);
  });

  test('for another device, or with a higher risk, is a message of its own: lamps hide no door', async () => {
    const { file, pass, reach } = await home();
    const lamp = (count: number) => requestOf({ callHash: String(count).repeat(32), effects: [LAMP], toolId: 'core:control@1.0.0' });
    for (let count = 10; count < 18; count++) await file(lamp(count));
    await file(requestOf({ callHash: '99'.repeat(32), toolId: 'core:control@1.0.0', effects: [LAMP, { ...LAMP, risk: 'dangerous' }] }));
    await file();
    await pass(SOON_MS);
    expect(reach.sent).toHaveLength(3);
    expect(new Set(reach.sent.map(({ link }) => link)).size).toBe(3);
  });

  test('is told to everybody who may approve and is reached, and to nobody else', async () => {
    const { file, pass, reach, enrol } = await home();
    for (const person of ['bob', 'eve']) await enrol(person);
    await file();
    await pass(SOON_MS);
    expect(reach.sent.map(({ recipient, way }) => `${recipient} ${way}`).sort()).toEqual(['ann phone', 'bob mail']);
  });

  test('that was approved is told anew, once, when the key that approved it is removed, also if it was told before', async () => {
    const { file, pass, reach, enrol, say, approvers, stored } = await home();
    const bob = await enrol('bob');
    const view = await file();
    await say(view, bob);
    await pass(60_000);
    expect(reach.sent).toEqual([]);
    const [key] = approvers.keysOf('bob');
    await approvers.remove(String(key?.keyId));
    await pass(SOON_MS);
    expect(reach.sent.map(({ recipient, way }) => `${recipient} ${way}`)).toEqual(['ann phone']);
    expect(reach.sent[0]?.link).toBe(`${PAGE}/#/approvals/${view.approval_id}`);
    await pass(60_000);
    expect(reach.sent.map(({ way }) => way)).toEqual(['phone', 'mail']);
    expect(stored.open('approval').map(({ persons }) => persons)).toEqual([['ann']]);
    const { approval_id: told } = await file(requestOf({ callHash: '12'.repeat(32), principal: { ...AGENT, id: 'cellar' } }));
    const eve = await enrol('eve');
    const later = await file(requestOf({ callHash: '34'.repeat(32), principal: { ...AGENT, id: 'attic' } }));
    await pass(SOON_MS);
    await say(later, eve);
    await approvers.remove(String(approvers.keysOf('eve')[0]?.keyId));
    await pass(SOON_MS);
    const ofAnn = reach.sent.filter(({ recipient, way }) => recipient === 'ann' && way === 'phone');
    const about = (id: string) => ofAnn.filter(({ link }) => link.endsWith(id)).map(({ id: message }) => message);
    expect([about(told).length, new Set(about(later.approval_id)).size, about(later.approval_id).length]).toEqual([1, 2, 2]);
  });

  test('that waits again because it needs another person now is told anew', async () => {
    const { file, pass, reach, enrol, say } = await home();
    const bob = await enrol('bob');
    await say(await file(), bob);
    await pass(60_000);
    await file(requestOf({ personsNeeded: 2 }));
    await pass(SOON_MS);
    expect(reach.sent.map(({ recipient, way }) => `${recipient} ${way}`).sort()).toEqual(['ann phone', 'bob mail']);
  });

  test('that a provider does not take is sent again with the same id until it is too late; one that it may have taken is not', async () => {
    const codes: AtmoError['code'][] = ['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE'];
    const tried: string[] = [];
    const { file, pass, outbox } = await home(async ({ id, way }) => {
      if (way !== 'phone') return;
      tried.push(id);
      const code = codes.shift();
      if (code) throw new AtmoError(code, 'no');
    });
    await file();
    await pass(SOON_MS);
    await pass(2_000);
    await pass(4_000);
    expect([tried.length, new Set(tried).size]).toEqual([3, 1]);
    codes.push('OUTCOME_UNKNOWN');
    await file(requestOf({ principal: { ...AGENT, id: 'cellar' } }));
    for (let count = 0; count < 5; count++) await pass(10_000);
    expect(tried).toHaveLength(4);
    expect(
      outbox
        .list()
        .map(({ state }) => state)
        .sort(),
    ).toEqual(['sent', 'sent', 'sent', 'unknown']);
  });
});

describe('a hub that is killed', () => {
  test('tells nothing of a request that was decided before the next start', async () => {
    const { queue, approvers, enrol, say, restart, ...first } = await makeApprovals();
    const ann = await enrol('ann');
    const before = await startNotices({ queue, approvers, enrol, say, restart, ...first }, reachFake());
    const view = await first.file();
    await before.notices[Symbol.asyncDispose]();
    await before.outbox[Symbol.asyncDispose]();
    await say(view, ann, 'deny');
    const again = await restart();
    const reach = reachFake();
    const after = await startNotices(again, reach);
    await after.pass(60_000);
    expect(reach.sent).toEqual([]);
  });

  // Writes of the notice about a request that waits again: its id, the deliveries over two ways, the notice, its id again, and its group.
  test.each([1, 2, 3, 4, 5, 6])('at write %i of a request that waits again tells it after the next start, by one id', async (writes) => {
    const approvals = await makeApprovals();
    await approvals.enrol('ann');
    const bob = await approvals.enrol('bob');
    const first = await startNotices(approvals, reachFake());
    await approvals.say(await approvals.file(), bob);
    await first.notices[Symbol.asyncDispose]();
    await first.outbox[Symbol.asyncDispose]();
    await approvals.approvers.remove(String(approvals.approvers.keysOf('bob')[0]?.keyId));
    const killed = new KilledStore(approvals.store, writes);
    const sent: Sent[] = [];
    const before = await startNotices(approvals, reachFake(), killed).catch(() => undefined);
    killed.isDead = true;
    await before?.notices[Symbol.asyncDispose]();
    await before?.outbox[Symbol.asyncDispose]();
    const reach = reachFake(async (message) => void sent.push(message));
    for (let starts = 0; starts < 2; starts++) {
      const after = await startNotices(approvals, reach);
      await after.pass(SOON_MS);
      await after.pass(31_000);
      expect(after.stored.open('approval')).toHaveLength(1);
      await after.notices[Symbol.asyncDispose]();
      await after.outbox[Symbol.asyncDispose]();
    }
    expect(sent.map(({ way }) => way)).toEqual(['phone', 'mail']);
  });

  // Writes of one request: the deliveries over two ways, its notice, its group, and two for each delivery that is sent.
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'at write %i of a request tells it after the next start, and repeats no message with another id',
    async (writes) => {
      const clock = new ManualClock();
      const approvals = await makeApprovals(clock, new MemoryKeyValueStore(clock));
      await approvals.enrol('ann');
      const killed = new KilledStore(approvals.store, writes);
      const sent: Sent[] = [];
      const reach = reachFake(async (message) => {
        if (killed.isDead) throw new AtmoError('SERVICE_UNAVAILABLE', 'killed');
        sent.push(message);
      });
      const before = await startNotices(approvals, reach, killed);
      await approvals.file();
      await before.pass(SOON_MS);
      await before.pass(31_000);
      killed.isDead = true;
      await before.notices[Symbol.asyncDispose]();
      await before.outbox[Symbol.asyncDispose]();

      const after = reachFake(async (message) => void sent.push(message));
      const next = await startNotices(approvals, after);
      await next.pass(SOON_MS);
      await next.pass(31_000);
      for (const way of ['phone', 'mail']) {
        const messages = sent.filter((message) => message.way === way);
        expect(messages.length, way).toBeGreaterThan(0);
        expect(new Set(messages.map(({ id }) => id)).size, way).toBe(1);
        expect(messages.length, way).toBeLessThan(3);
      }
      expect(next.outbox.list().map(({ state }) => state)).toEqual(['sent', 'sent']);
    },
  );
});

test('a hub that took the name of this one or of another one is called by its id, which nobody chooses', () => {
  const peers = [
    { id: 'hub-2', name: 'garage' },
    { id: 'hub-3', name: 'Garage' },
    { id: 'hub-4', name: 'home' },
    { id: 'hub-5', name: 'attic' },
  ];
  expect(['hub-2', 'hub-3', 'hub-4', 'hub-5', 'hub-6'].map((id) => uniqueName(id, peers, 'Home'))).toEqual([
    undefined,
    undefined,
    undefined,
    'attic',
    undefined,
  ]);
});
