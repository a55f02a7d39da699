import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { HubError } from '../../../src/web/api/hub-client.ts';
import { type NoticeView, OwnNotices } from '../../../src/web/api/notices.ts';

const notice = (id: string, more: Partial<NoticeView> = {}): NoticeView => ({
  notice_id: id,
  kind: 'leak',
  urgency: 'critical',
  title: 'Water leak',
  text: 'Cellar senses water.',
  path: '/#/devices/cellar',
  at: '2026-05-01T12:00:00.000Z',
  is_read: false,
  ...more,
});

/** A hub with these notices. `answer` lets one request after the other go on. */
function hubWith(notices: readonly NoticeView[]) {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  let listed = notices;
  const hub = {
    get: async <Answer>(path: string): Promise<Answer> => {
      asked.push(`GET ${path}`);
      await new Promise<void>((go) => waiting.push(go));
      return { notices: listed } as Answer;
    },
    post: async <Answer>(path: string, body?: JsonObject): Promise<Answer> => {
      asked.push(`POST ${path} ${JSON.stringify(body)}`);
      return {} as Answer;
    },
  };
  const answer = async () => {
    waiting.shift()?.();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  const list = (next: readonly NoticeView[]) => {
    listed = next;
  };
  return { hub, asked, answer, list };
}

test('the badge counts unread notices, without the requests that the page Approvals counts', async () => {
  const { hub, answer } = hubWith([notice('1'), notice('2', { is_read: true }), notice('3', { kind: 'approval' })]);
  const notices = new OwnNotices(hub);
  const loaded = notices.load();
  await answer();
  await loaded;
  expect(notices.all).toHaveLength(3);
  expect(notices.unread).toBe(1);
});

test('what changes while the list is loaded is asked for once more, however often it changes', async () => {
  const { hub, asked, answer, list } = hubWith([]);
  const notices = new OwnNotices(hub);
  const loads = [notices.load(), notices.load(), notices.load()];
  await answer();
  list([notice('1')]);
  await answer();
  await Promise.all(loads);
  expect(asked).toHaveLength(2);
  expect(notices.all.map(({ notice_id: id }) => id)).toEqual(['1']);
});

test('a notice is marked as read on the hub, and the list is asked for anew', async () => {
  const { hub, asked, answer } = hubWith([notice('1', { is_read: true })]);
  const marked = new OwnNotices(hub).markRead(['1']);
  await Promise.resolve();
  await answer();
  await marked;
  expect(asked).toEqual(['POST /api/v1/notices/read {"notice_ids":["1"]}', 'GET /api/v1/notices']);
});

test('a token that is no person of the household has no notices, and after sign-out nobody has any', async () => {
  const refused = {
    get: async () => Promise.reject(new HubError('PERMISSION_DENIED', 'no person')),
    post: async () => Promise.reject(new Error()),
  };
  const none = new OwnNotices(refused);
  await none.load();
  expect([none.all, none.isForPerson]).toEqual([[], false]);
  const { hub, answer } = hubWith([notice('1')]);
  const notices = new OwnNotices(hub);
  const loaded = notices.load();
  await answer();
  await loaded;
  notices.clear();
  expect([notices.all, notices.unread, notices.isForPerson]).toEqual([[], 0, true]);
});
