import { expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import { QuestionStore } from '../../src/notices/question-store.ts';
import { RemovedPersons } from '../../src/notices/removed-persons.ts';
import { en } from '../../src/notices/texts/en.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { aboutDevice, household, reachFake, type Sent } from './notices-fixture.ts';

const LEAK = aboutDevice('leak', 'Cellar');
const BATTERY = aboutDevice('battery', 'Door');

/** A household of ann and bob whose providers take nothing yet. `remove` is what the hub does with who leaves. */
async function home(store = new MemoryKeyValueStore(new ManualClock()), persons = ['ann', 'bob']) {
  const phone = { isOpen: false };
  const reach = reachFake(async () => {
    if (!phone.isOpen) throw new AtmoError('SERVICE_UNAVAILABLE', 'Not now');
  });
  const parts = await household({ store, reach, personsFor: () => persons });
  const questions = new QuestionStore({ ...parts, personsFor: () => persons, nameOf: (id) => id });
  await questions.start();
  const listeners = new Set<(name: string) => void>();
  const onRemoved = (listener: (name: string) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const stores = [parts.outbox, parts.notices, parts.settings, questions];
  const removed = new RemovedPersons({ people: { onRemoved, isKnown: (name) => persons.includes(name) }, stores });
  await removed.start();
  const remove = (name: string) => {
    persons.splice(persons.indexOf(name), 1);
    for (const listener of listeners) listener(name);
  };
  return { ...parts, phone, questions, persons, removed, remove, store };
}

async function filled() {
  const setup = await home();
  const { publisher, settings, notices, questions, pass } = setup;
  settings.setLanguage('bob', 'de', 'person');
  publisher.begin(LEAK);
  publisher.begin(BATTERY);
  await pass(0);
  publisher.end(BATTERY.name);
  notices.markRead('bob', undefined);
  const { id } = questions.ask({ agentId: 'watch', person: 'bob', text: 'Shall I?', answers: ['yes'], timeoutMs: 3_600_000 });
  return { ...setup, question: id };
}

test('who is added under the name of a removed person gets nothing of that person', async () => {
  const { remove, persons, notices, outbox, settings, questions, question, phone, pass, sent, store } = await filled();
  expect(notices.recent('bob')).toHaveLength(3);
  remove('bob');
  persons.push('bob');
  phone.isOpen = true;
  await pass(120_000);
  expect([notices.recent('bob'), settings.languageOf('bob'), outbox.list().filter(({ person }) => person === 'bob')]).toEqual([
    [],
    'en',
    [],
  ]);
  expect(() => questions.answer(question, 'yes', 'bob')).toThrow('Nobody asked bob');
  expect(sent.map(({ recipient }) => recipient)).toEqual(['ann', 'ann']);
  expect(
    JSON.stringify(['notices.recent', 'notices.deliveries', 'notices.rules', 'notices.questions'].map((space) => store.entries(space))),
  ).not.toContain('bob');
});

test('a new person of the name is told of what lasts, as anybody who joins', async () => {
  const { remove, persons, notices, publisher, phone, pass, sent } = await filled();
  remove('bob');
  persons.push('bob');
  phone.isOpen = true;
  publisher.begin(LEAK);
  await pass(120_000);
  expect(notices.recent('bob').map(({ kind, isRead }) => [kind, isRead])).toEqual([['leak', false]]);
  expect(sent.filter(({ recipient }) => recipient === 'bob')).toMatchObject([{ kind: 'leak', title: en.leak.title }]);
});

/** The ids of the messages that bob got. */
const idsOfBob = (sent: readonly Sent[]) => sent.filter(({ recipient }) => recipient === 'bob').map(({ id }) => id);

test('a new person of the name is told once, by messages that no receiver takes for a repeat', async () => {
  const first = await home();
  first.phone.isOpen = true;
  first.publisher.begin(LEAK);
  await first.pass(0);
  first.remove('bob');
  first.persons.push('bob');
  first.publisher.begin(LEAK);
  await first.pass(0);
  const again = await home(first.store);
  again.phone.isOpen = true;
  again.publisher.begin(LEAK);
  await again.pass(120_000);
  const ids = [...idsOfBob(first.sent), ...idsOfBob(again.sent)];
  expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
});

test('so is one after a removal that the next start completed, also of a message that was sent long before', async () => {
  const first = await home();
  first.phone.isOpen = true;
  first.publisher.begin(LEAK);
  await first.pass(0);
  for (const { key } of first.store.entries('notices.deliveries')) first.store.delete('notices.deliveries', key);
  const after = await home(first.store, ['ann']);
  after.phone.isOpen = true;
  after.persons.push('bob');
  after.publisher.begin(LEAK);
  await after.pass(120_000);
  const ids = [...idsOfBob(first.sent), ...idsOfBob(after.sent)];
  expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
});

test('what a removal left, because the hub ended in it, goes at the next start', async () => {
  const { store } = await filled();
  const after = await home(store, ['ann']);
  after.persons.push('bob');
  expect([after.notices.recent('bob'), after.settings.languageOf('bob'), after.notices.recent('ann').length]).toEqual([[], 'en', 2]);
});

test('nobody is forgotten after the hub stopped', async () => {
  const { removed, remove, notices } = await filled();
  await removed[Symbol.asyncDispose]();
  remove('bob');
  expect(notices.recent('bob')).toHaveLength(3);
});
