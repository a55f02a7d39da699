import { expect, test } from 'vitest';
import { EventBus } from '../../src/core/events.ts';
import type { NoticeKind } from '../../src/core/notices.ts';
import { NoticeStore } from '../../src/notices/notice-store.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';

function storeWithLeak() {
  const clock = new ManualClock();
  const store = new MemoryKeyValueStore(clock);
  const notices = new NoticeStore({ clock, store, events: new EventBus('hub:test', clock) });
  const put = (kind: NoticeKind, id: string, subject: string) => {
    const words = { title: 'Title', text: 'Text', path: '/#/notices', urgency: 'medium' } as const;
    clock.advance(1000);
    const notice = { id, kind, ...words, atMs: clock.now(), untilMs: clock.now() + 1000 };
    notices.put({ notice, subject, persons: ['ann'], readMs: {}, endedMs: clock.now() });
  };
  put('leak', 'leak', 'leak/cellar');
  const kept = (kind: NoticeKind) => notices.recent('ann').filter((one) => one.kind === kind).length;
  return { put, kept, notices, store };
}

test('messages and questions, however many, push out no notice of danger', () => {
  const { put, kept, store } = storeWithLeak();
  for (let count = 0; count < 600; count++) put('message', `m${count}`, `message/agent-${count % 40}#m${count}`);
  expect([kept('leak'), kept('message')]).toEqual([1, 500]);
  expect(store.entries('notices.recent')).toHaveLength(501);
});

test('an agent with all that it made pushes out only own messages', () => {
  const { put, kept, notices } = storeWithLeak();
  put('message', 'other', 'message/other#other');
  for (let count = 0; count < 80; count++) put('question', `q${count}`, `question/agent/child-${count}#q${count}`);
  expect([kept('message'), kept('question')]).toEqual([1, 50]);
  expect([notices.get('q29'), notices.get('q30')?.notice.id]).toEqual([undefined, 'q30']);
  expect(notices.countSaid('agent', 0)).toBe(50);
});
