import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import { inLanguage, type NoticeRule, type PeopleReach } from '../../src/core/notices.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { aboutDevice, household, PAGE, reachFake, type Sent, way } from './notices-fixture.ts';

const LEAK = aboutDevice('leak', 'Cellar');
const BATTERY = aboutDevice('battery', 'Door');
const SMOKE = aboutDevice('smoke', 'Hall');
const told = (sent: readonly Sent[]) => sent.map(({ recipient, way: address }) => `${recipient} ${address}`).sort();

/** A time of day in the zone of the machine, in milliseconds since 1970. */
const at = (hours: number, minutes = 0, day = 1) => new Date(2026, 4, day, hours, minutes).getTime();

async function rulesOf(rules: readonly NoticeRule[], startMs = at(12)) {
  const clock = new ManualClock(startMs);
  const home = await household({ clock, personsFor: () => ['ann'] });
  home.settings.setRules('ann', rules);
  return home;
}

describe('a notice', () => {
  test('of danger goes to everybody over all ways at once, with a link that shows it', async () => {
    const { publisher, pass, sent } = await household();
    publisher.begin(LEAK);
    await pass(0);
    expect(told(sent)).toEqual(['ann mail', 'ann phone', 'bob mail']);
    expect(sent[0]).toMatchObject({
      kind: 'leak',
      urgency: 'critical',
      message: 'Cellar senses water. Turn off the water and go and look.',
      link: `${PAGE}/#/devices/cellar`,
    });
  });

  test('is told to each person in the language that the person chose, or else in that of the page; a list has it in both', async () => {
    const { publisher, pass, sent, settings, notices } = await household({ personsFor: () => ['ann', 'bob'] });
    settings.setLanguage('ann', 'de', 'page');
    settings.setLanguage('bob', 'de', 'page');
    settings.setLanguage('bob', 'en', 'person');
    settings.setLanguage('bob', 'de', 'page');
    settings.setRules('ann', []);
    publisher.begin(BATTERY);
    await pass(0);
    const messages = sent.map(({ recipient, title, message }) => [recipient, title, message]).toSorted();
    expect(messages).toEqual([
      ['ann', 'Batterie schwach', 'Die Batterie von Door ist schwach.'],
      ['bob', 'Battery low', 'The battery of Door is low.'],
    ]);
    expect(JSON.stringify(sent)).not.toContain('translations');
    const [listed] = notices.recent('ann');
    expect(listed && [inLanguage(listed, 'de').title, inLanguage(listed, 'en').title]).toEqual(['Batterie schwach', 'Battery low']);
  });

  test('of anything else goes over the first way, and to all browsers of that way', async () => {
    const reach = reachFake(async () => {}, { ann: [way('push', ['push:1', 'push:2']), way('mail')], bob: [way('mail')] });
    const { publisher, pass, sent } = await household({ reach });
    publisher.begin(BATTERY);
    await pass(600_000);
    expect(told(sent)).toEqual(['ann push:1', 'ann push:2', 'bob mail']);
  });

  test('goes over the next way when the first refuses, or did not work three times', async () => {
    let code: AtmoError['code'] = 'SERVICE_REFUSED';
    const reach = reachFake(async ({ way: address }) => {
      if (address === 'phone') throw new AtmoError(code, 'no');
    });
    const { publisher, pass, sent } = await household({ reach, personsFor: () => ['ann'] });
    publisher.begin(BATTERY);
    await pass(0);
    await pass(0);
    expect(told(sent)).toEqual(['ann mail']);
    code = 'SERVICE_UNAVAILABLE';
    publisher.begin({ ...BATTERY, name: 'battery/window' });
    await pass(0);
    await pass(2_000);
    expect(sent).toHaveLength(1);
    await pass(4_000);
    await pass(0);
    expect(told(sent)).toEqual(['ann mail', 'ann mail']);
  });

  test('is told once while its subject lasts, again when it came back, each time with another id', async () => {
    const { publisher, pass, sent } = await household({ personsFor: () => ['bob'] });
    for (let count = 0; count < 5; count++) publisher.begin(LEAK);
    await pass(0);
    publisher.end(LEAK.name);
    publisher.end(LEAK.name);
    publisher.begin(LEAK);
    await pass(0);
    expect(sent).toHaveLength(2);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(2);
  });

  test('that lasts goes, once, to who joins the household later or seemed to have left it by a clock that was ahead', async () => {
    const persons = ['bob'];
    const { publisher, pass, sent, notices } = await household({ personsFor: () => persons });
    publisher.begin(LEAK);
    await pass(0);
    expect(told(sent)).toEqual(['bob mail']);
    persons.push('ann');
    for (let count = 0; count < 3; count++) {
      publisher.begin(LEAK);
      await pass(60_000);
    }
    expect(told(sent)).toEqual(['ann mail', 'ann phone', 'bob mail']);
    expect(notices.recent('ann').map(({ id }) => id)).toEqual(notices.recent('bob').map(({ id }) => id));
    publisher.end(LEAK.name);
    persons.push('eve');
    await pass(60_000);
    expect(notices.recent('eve')).toEqual([]);
  });

  test('that ended before it was sent is not sent', async () => {
    const { publisher, pass, sent } = await household();
    publisher.begin(LEAK);
    publisher.end(LEAK.name);
    await pass(60_000);
    expect(sent).toEqual([]);
  });

  test('is in the list of those whom it concerns, read or not, with its end', async () => {
    const { publisher, notices, clock } = await household({ personsFor: (kind) => (kind === 'leak' ? ['ann', 'eve'] : ['ann']) });
    publisher.begin(LEAK);
    clock.advance(1_000);
    publisher.begin(BATTERY);
    publisher.end(LEAK.name);
    expect(notices.recent('eve')).toMatchObject([{ kind: 'leak', isRead: false, endedMs: clock.now() }]);
    expect(notices.recent('ann').map(({ kind }) => kind)).toEqual(['battery', 'leak']);
    expect(notices.markRead('ann', [notices.recent('ann')[0]?.id ?? ''])).toBe(1);
    expect(notices.markRead('ann', undefined)).toBe(1);
    expect(notices.recent('ann').map(({ isRead }) => isRead)).toEqual([true, true]);
    expect(notices.recent('eve')).toMatchObject([{ isRead: false }]);
    expect(notices.recent('bob')).toEqual([]);
  });

  test('tells the pages of the persons whom it concerns that their list has changed, and those of nobody else', async () => {
    const { publisher, notices, events } = await household({ personsFor: () => ['ann'] });
    const told: string[] = [];
    events.listen(({ subject }) => told.push(subject), ['notice.changed']);
    publisher.begin(LEAK);
    publisher.end(LEAK.name);
    notices.markRead('ann', undefined);
    notices.markRead('ann', undefined);
    notices.markRead('bob', undefined);
    expect(told).toEqual(['ann', 'ann', 'ann']);
  });

  test('is not told again by a hub that was started again, and ended ones of more than 500 are forgotten', async () => {
    const first = await household();
    first.publisher.begin(LEAK);
    await first.pass(0);
    const { clock, store } = first;
    const second = await household({ clock, store });
    second.publisher.begin(LEAK);
    await second.pass(60_000);
    expect(second.sent).toEqual([]);
    for (let count = 0; count < 600; count++) {
      second.publisher.begin({ ...BATTERY, name: `battery/${count}` });
      second.publisher.end(`battery/${count}`);
    }
    expect((await household({ clock, store })).notices.recent('ann')).toHaveLength(500);
  });
});

describe('the id of a notice', () => {
  const DAY_MS = 86_400_000;

  test('is another one when its subject comes back, though the former notice is forgotten', async () => {
    const clock = new ManualClock();
    const first = await household({ clock, personsFor: () => ['bob'] });
    first.publisher.begin(BATTERY);
    first.publisher.end(BATTERY.name);
    await first.pass(31 * DAY_MS);
    const later = await household({ clock, store: first.store, personsFor: () => ['bob'] });
    later.publisher.begin(BATTERY);
    expect(first.notices.recent('bob')[0]?.id).not.toBe(later.notices.recent('bob')[0]?.id);
  });

  test('stays when the disk took its messages and not the notice itself, so that none is sent twice', async () => {
    const clock = new ManualClock();
    const memory = new MemoryKeyValueStore(clock);
    const disk = { isFull: true };
    const store: KeyValueStore = {
      get: (space, key) => memory.get(space, key),
      entries: (space) => memory.entries(space),
      delete: (space, key) => memory.delete(space, key),
      set: (space, ...rest) => {
        if (disk.isFull && space === 'notices.recent') throw new AtmoError('STORAGE_FAILED', 'The disk is full');
        memory.set(space, ...rest);
      },
    };
    const first = await household({ clock, store, personsFor: () => ['bob'] });
    first.publisher.begin(BATTERY);
    await first.pass(0);
    disk.isFull = false;
    const second = await household({ clock, store, personsFor: () => ['bob'] });
    second.publisher.begin(BATTERY);
    await second.pass(60_000);
    expect([first.sent.length, second.sent.length]).toEqual([1, 0]);
    second.publisher.end(BATTERY.name);
    second.publisher.begin(BATTERY);
    await second.pass(60_000);
    expect(second.sent).toHaveLength(1);
  });
});

describe('a message', () => {
  test('that was being sent when the hub stopped is sent by the next start with the same id, though the channel cannot say what became of it', async () => {
    const clock = new ManualClock();
    const ids: string[] = [];
    const stopped: PeopleReach = {
      ...reachFake(),
      send: (_, { id }, signal) => {
        ids.push(id);
        const unknown = new AtmoError('OUTCOME_UNKNOWN', 'The connection was closed');
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(unknown)));
      },
    };
    const first = await household({ clock, reach: stopped, personsFor: () => ['bob'] });
    first.publisher.begin(BATTERY);
    await first.pass(0);
    await first.outbox[Symbol.asyncDispose]();
    const second = await household({ clock, store: first.store, personsFor: () => ['bob'] });
    await second.pass(0);
    expect([...ids, ...second.sent.map(({ id }) => id)]).toEqual([ids[0], ids[0]]);
  });

  test('that waits is not sent to a person whom it concerns no more', async () => {
    const persons = ['ann', 'bob'];
    const reach = reachFake(async () => {
      if (persons.length === 2) throw new AtmoError('SERVICE_UNAVAILABLE', 'Not now');
    });
    const { publisher, outbox, pass, sent } = await household({ reach, personsFor: () => persons });
    publisher.begin(BATTERY);
    await pass(0);
    persons.pop();
    await pass(60_000);
    expect(told(sent)).toEqual(['ann phone']);
    expect(outbox.list().map(({ person, state }) => `${person} ${state}`)).toEqual(['ann sent', 'bob dropped']);
  });
});

describe('a message that could not be sent', () => {
  const DAY_MS = 86_400_000;

  /** A household whose ways fail until `isDown` is false. `ann` belongs to it for a day. */
  async function waiting() {
    const clock = new ManualClock();
    const world = { isDown: true, isTrusted: true, isListed: true };
    const reach = reachFake(async () => {
      if (world.isDown) throw new AtmoError('SERVICE_UNAVAILABLE', 'Not now');
    });
    const endMs = clock.now() + DAY_MS;
    const persons = () => (clock.now() < endMs ? ['ann', 'bob'] : ['bob']);
    const personsFor = () => (world.isListed ? persons() : []);
    return { ...(await household({ clock, reach, personsFor, time: { isTrusted: () => world.isTrusted } })), world };
  }

  test('waits for a person whose time is over by a wrong clock, and is sent when the clock is right', async () => {
    const { clock, publisher, pass, sent, world } = await waiting();
    publisher.begin(LEAK);
    await pass(0);
    clock.correctBy(2 * DAY_MS);
    Object.assign(world, { isDown: false, isTrusted: false });
    await pass(60_000);
    expect(told(sent)).toEqual(['bob mail']);
    clock.correctBy(-2 * DAY_MS);
    world.isTrusted = true;
    await pass(60_000);
    expect(told(sent)).toEqual(['ann mail', 'ann phone', 'bob mail']);
  });

  test('waits while nobody is known whom it concerns', async () => {
    const { publisher, pass, sent, world } = await waiting();
    publisher.begin(LEAK);
    await pass(0);
    Object.assign(world, { isDown: false, isListed: false });
    await pass(60_000);
    expect(sent).toEqual([]);
    world.isListed = true;
    await pass(60_000);
    expect(told(sent)).toEqual(['ann mail', 'ann phone', 'bob mail']);
  });

  test('is tried again after its pause, though the clock was set back meanwhile', async () => {
    const { clock, publisher, pass, sent, world } = await waiting();
    clock.correctBy(DAY_MS / 2);
    publisher.begin(LEAK);
    await pass(0);
    clock.correctBy(-DAY_MS / 2);
    world.isDown = false;
    await pass(60_000);
    expect(told(sent)).toEqual(['ann mail', 'ann phone', 'bob mail']);
  });
});

describe('a person', () => {
  test('chooses ways by kind; the first rule that fits counts', async () => {
    const { publisher, pass, sent } = await rulesOf([
      { kinds: ['battery'], ways: ['mail'] },
      { kinds: ['battery', 'update'], ways: ['phone'] },
    ]);
    publisher.begin(BATTERY);
    publisher.begin({ ...BATTERY, kind: 'update', name: 'update/1' });
    await pass(0);
    expect(sent.map(({ kind, way: address }) => [kind, address])).toEqual([
      ['battery', 'mail'],
      ['update', 'phone'],
    ]);
  });

  test('who is not told in some hours is told after them, unless it is over by then', async () => {
    const { publisher, pass, sent, clock } = await rulesOf([{ from: '22:00', to: '07:00', ways: [] }], at(23));
    publisher.begin(BATTERY);
    publisher.begin({ ...BATTERY, name: 'battery/window' });
    publisher.end('battery/window');
    await pass(at(6, 59, 2) - clock.now());
    expect(sent).toEqual([]);
    await pass(60_000);
    expect(told(sent)).toEqual(['ann phone']);
    publisher.begin({ ...BATTERY, name: 'battery/at-seven' });
    await pass(0);
    expect(sent).toHaveLength(2);
  });

  test('is silenced for ever by a rule without hours, but for danger and approvals only by one that names them', async () => {
    const { publisher, pass, sent, settings } = await rulesOf([{ ways: [] }]);
    publisher.begin(BATTERY);
    publisher.begin(LEAK);
    publisher.begin(SMOKE);
    await pass(86_400_000);
    expect(sent.map(({ kind }) => kind)).toEqual(['leak', 'leak', 'smoke', 'smoke']);
    expect(settings.choose('ann', 'approval', at(12)).ways).toHaveLength(2);
    settings.setRules('ann', [{ kinds: ['smoke', 'approval'], ways: [] }]);
    expect(settings.choose('ann', 'approval', at(12)).ways).toEqual([]);
    expect(settings.choose('ann', 'smoke', at(12)).ways).toEqual([]);
    for (const kind of ['leak', 'lock'] as const) expect(settings.choose('ann', kind, at(12)).ways).toHaveLength(2);
  });

  test('whose chosen ways are all gone is told as without a choice', async () => {
    const { publisher, pass, sent } = await rulesOf([{ ways: ['push'] }]);
    publisher.begin(BATTERY);
    await pass(0);
    expect(told(sent)).toEqual(['ann phone']);
  });

  test.each<[string, NoticeRule]>([
    ['one end of the hours alone', { from: '22:00', ways: ['phone'] }],
    ['hours that are none', { from: '24:00', to: '07:00', ways: ['phone'] }],
    ['hours without length', { from: '07:00', to: '07:00', ways: ['phone'] }],
    ['a way that does not reach the person', { ways: ['pager'] }],
  ])('cannot choose %s', async (_name, rule) => {
    const { settings } = await household();
    expect(() => settings.setRules('ann', [rule])).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    expect(settings.rulesOf('ann')).toEqual([]);
  });
});
