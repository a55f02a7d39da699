import { beforeEach, describe, expect, test } from 'vitest';
import type { ServiceInstance } from '../../../src/mesh/discovery/discovery.ts';
import type { DnsRecord } from '../../../src/mesh/discovery/dns-message.ts';
import { ManualClock } from '../../manual-clock.ts';
import { FakeHost, FakeSegment, pass, settle } from './fake-segment.ts';

const TYPE = '_atmosphere-edge._tcp';
const TYPE_NAME = `${TYPE}.local`;
const QUESTION = { name: TYPE_NAME, type: 'PTR', wantsUnicast: false };

let clock: ManualClock;
let segment: FakeSegment;
let kitchen: FakeHost;
let cellar: FakeHost;
beforeEach(() => {
  clock = new ManualClock();
  segment = new FakeSegment();
  kitchen = host('hub-kitchen', '10.0.0.1/24', 'fe80::1/64');
  cellar = host('hub-cellar', '10.0.0.2/24', 'fe80::2/64');
});

function host(name: string, ...addresses: readonly string[]): FakeHost {
  const made = new FakeHost(name, clock);
  made.connect('eth0', segment, ...addresses);
  return made;
}

function advertise(at: FakeHost): AsyncDisposable {
  return at.dnsSd.advertise({ name: at.name, type: TYPE, port: 8082, txt: { v: '1' } });
}

/** What a host hears of others: present instances, and all news in order. */
function listen(at: FakeHost) {
  const present = new Map<string, ServiceInstance>();
  const news: string[] = [];
  const stop = new AbortController();
  at.dnsSd.browse(
    TYPE,
    {
      found: (service) => {
        if (service.name === at.name) return;
        present.set(service.name, service);
        news.push(`found ${service.name}`);
      },
      lost: (name) => {
        present.delete(name);
        news.push(`lost ${name}`);
      },
    },
    stop.signal,
  );
  return { present, news, stop };
}

const sentBy = (at: FakeHost, kind: 'query' | 'response') =>
  segment.sent.filter(({ from, message }) => from === at.name && message.kind === kind);

describe('two hosts on a segment', () => {
  test('see each other at once, with IPv4 and IPv6 addresses, the link-local one with its zone', async () => {
    await kitchen.start();
    await cellar.start();
    const heard = listen(kitchen);
    advertise(kitchen);
    advertise(cellar);
    await pass(clock, 50);
    expect([...heard.present.values()]).toEqual([
      { name: 'hub-cellar', type: TYPE, port: 8082, txt: { v: '1' }, addresses: ['fe80::2%eth0', '10.0.0.2'] },
    ]);
  });

  test('one that looks later is answered within a second of asking', async () => {
    await kitchen.start();
    await cellar.start();
    advertise(cellar);
    await pass(clock, 5_000);
    const heard = listen(kitchen);
    await pass(clock, 200);
    expect(heard.present.has('hub-cellar')).toBe(true);
  });

  test('one that leaves says goodbye and is lost a second later', async () => {
    await kitchen.start();
    await cellar.start();
    const heard = listen(kitchen);
    const service = advertise(cellar);
    await pass(clock, 3_000);
    await service[Symbol.asyncDispose]();
    await pass(clock, 2_500);
    expect(heard.present.size).toBe(0);
    expect(heard.news.at(-1)).toBe('lost hub-cellar');
    await pass(clock, 10_000, 1_000);
    expect(heard.news.filter((line) => line.startsWith('lost'))).toHaveLength(1);
  });

  test('one that falls silent is asked for near the end of its time, and then lost', async () => {
    await kitchen.start();
    await cellar.start();
    const heard = listen(kitchen);
    advertise(cellar);
    await pass(clock, 3_000);
    cellar.disconnect('eth0');
    await pass(clock, 90_000, 1_000);
    segment.sent.length = 0;
    await pass(clock, 25_000, 1_000);
    const asked = sentBy(kitchen, 'query').flatMap(({ message }) => message.questions.map(({ name, type }) => `${name} ${type}`));
    expect(asked).toEqual(expect.arrayContaining(['hub-cellar._atmosphere-edge._tcp.local SRV', 'hub-cellar.local A']));
    expect(heard.present.size).toBe(1);
    await pass(clock, 10_000, 1_000);
    expect(heard.present.size).toBe(0);
  });

  test('a new address is told at once, the old one taken back', async () => {
    await kitchen.start();
    await cellar.start();
    const heard = listen(kitchen);
    advertise(cellar);
    await pass(clock, 3_000);
    cellar.connect('eth0', segment, '10.0.0.77/24', 'fe80::2/64');
    await pass(clock, 2_500);
    expect(heard.present.get('hub-cellar')?.addresses).toEqual(['fe80::2%eth0', '10.0.0.77']);
  });

  test('asks ever more seldom, and tells what it knows so that nobody repeats it', async () => {
    await kitchen.start();
    await cellar.start();
    listen(kitchen);
    advertise(cellar);
    await pass(clock, 2_000);
    segment.sent.length = 0;
    await pass(clock, 60_000, 250);
    const four = sentBy(kitchen, 'query').filter(({ family }) => family === 'ipv4');
    expect(four.length).toBeGreaterThan(3);
    expect(four.length).toBeLessThan(7);
    expect(four[0]?.message.answers).toMatchObject([{ type: 'PTR', data: `hub-cellar.${TYPE_NAME}` }]);
    expect(sentBy(cellar, 'response')).toEqual([]);
  });
});

describe('interfaces', () => {
  test('that appear are announced on and searched within two seconds', async () => {
    const attic = new FakeSegment();
    const lonely = new FakeHost('hub-attic', clock);
    lonely.connect('wlan0', attic, '192.168.7.9/24');
    await lonely.start();
    await kitchen.start();
    advertise(lonely);
    advertise(kitchen);
    const heard = [listen(kitchen), listen(lonely)];
    await pass(clock, 5_000);
    expect(heard.map(({ present }) => present.size)).toEqual([0, 0]);
    kitchen.connect('wlan0', attic, '192.168.7.1/24');
    await pass(clock, 2_000);
    expect(heard[0]?.present.get('hub-attic')?.addresses).toEqual(['192.168.7.9']);
    // Only the address of the interface asked on.
    expect(heard[1]?.present.get('hub-kitchen')?.addresses).toEqual(['192.168.7.1']);
    kitchen.disconnect('wlan0');
    await pass(clock, 2_000);
    expect(heard[0]?.present.size).toBe(0);
  });

  test('one that fails is logged once, tried again, and stops no other', async () => {
    kitchen.openError = ({ family }) => (family === 'ipv6' ? Object.assign(new TypeError('no'), { code: 'EPERM' }) : undefined);
    kitchen.sendError = () => Object.assign(new TypeError('full'), { code: 'ENOBUFS' });
    await kitchen.start();
    await cellar.start();
    advertise(kitchen);
    const heard = listen(cellar);
    await pass(clock, 12_000);
    expect(heard.present.size).toBe(0);
    const failures = kitchen.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
    expect(failures.map(({ event, family, reason }) => [event, family, reason])).toEqual([
      ['discovery.link_failed', 'ipv6', 'EPERM'],
      ['discovery.send_failed', 'ipv4', 'ENOBUFS'],
    ]);
    kitchen.sendError = undefined;
    kitchen.openError = undefined;
    await pass(clock, 6_000);
    expect(heard.present.get('hub-kitchen')?.addresses).toEqual(['fe80::1%eth0', '10.0.0.1']);
  });

  test('a socket that breaks is opened again', async () => {
    await kitchen.start();
    await cellar.start();
    advertise(kitchen);
    segment.fail(kitchen, Object.assign(new TypeError('gone'), { code: 'ENETDOWN' }));
    const heard = listen(cellar);
    await pass(clock, 1_000);
    expect(heard.present.size).toBe(0);
    await pass(clock, 5_000);
    expect(heard.present.has('hub-kitchen')).toBe(true);
  });
});

describe('answers', () => {
  const asker = { host: '10.0.0.9', port: 5_353 };
  beforeEach(async () => {
    await kitchen.start();
    advertise(kitchen);
    await pass(clock, 3_000);
    segment.sent.length = 0;
  });

  test('are said to all, after a pause in which others may speak', async () => {
    segment.say({ kind: 'query', questions: [QUESTION] }, asker);
    await settle();
    expect(segment.sent).toEqual([]);
    await pass(clock, 120);
    expect(segment.sent).toHaveLength(1);
    expect(segment.sent[0]).toMatchObject({ family: 'ipv4', message: { answers: [{ type: 'PTR', ttlSeconds: 4_500, isUnique: false }] } });
    expect(segment.sent[0]?.to).toBeUndefined();
    const { additionals = [] } = segment.sent[0]?.message ?? {};
    expect(additionals.map(({ type, ttlSeconds, isUnique }) => [type, ttlSeconds, isUnique])).toEqual([
      ['SRV', 120, true],
      ['TXT', 4_500, true],
      ['A', 120, true],
      ['AAAA', 120, true],
      ['NSEC', 4_500, true],
      ['NSEC', 120, true],
    ]);
  });

  test('to one that claims the name for itself come at once', async () => {
    const name = `hub-kitchen.${TYPE_NAME}`;
    const claim: DnsRecord = { name, type: 'SRV', ttlSeconds: 120, isUnique: false, data: { target: 'other.local', port: 1 } };
    segment.say({ kind: 'query', questions: [{ name, type: 'ANY', wantsUnicast: false }], authorities: [claim] }, asker);
    await settle();
    expect(segment.sent[0]?.message.answers).toMatchObject([{ type: 'SRV', data: { target: 'hub-kitchen.local' } }, { type: 'TXT' }]);
  });

  test('are not repeated within a second, and not at all to who has heard them', async () => {
    segment.say({ kind: 'query', questions: [QUESTION] }, asker);
    await pass(clock, 150);
    segment.say({ kind: 'query', questions: [QUESTION] }, { ...asker, host: '10.0.0.8' });
    await pass(clock, 700);
    expect(segment.sent).toHaveLength(1);
    await pass(clock, 500);
    expect(segment.sent).toHaveLength(2);
    for (let last = 100; last < 200; last++) segment.say({ kind: 'query', questions: [QUESTION] }, { ...asker, host: `10.0.0.${last}` });
    await pass(clock, 5_000);
    expect(segment.sent.length).toBeLessThanOrEqual(4);
  });

  test('wait for the rest of what the asker knows', async () => {
    const known: DnsRecord = { name: TYPE_NAME, type: 'PTR', ttlSeconds: 4_000, isUnique: false, data: `hub-kitchen.${TYPE_NAME}` };
    const other = { ...known, data: `hub-other.${TYPE_NAME}` };
    segment.say({ kind: 'query', isTruncated: true, questions: [QUESTION], answers: [other] }, asker);
    await pass(clock, 200);
    segment.say({ kind: 'query', answers: [known] }, asker);
    await pass(clock, 2_000);
    expect(segment.sent).toEqual([]);
    segment.say({ kind: 'query', isTruncated: true, questions: [QUESTION], answers: [other] }, asker);
    await pass(clock, 600);
    expect(segment.sent).toHaveLength(1);
  });

  test('go to the asker alone when it wants so and all have heard them lately, else to all', async () => {
    const bytes = { kind: 'query', questions: [QUESTION] } as const;
    const { encodeDnsMessage } = await import('../../../src/mesh/discovery/dns-message.ts');
    const query = encodeDnsMessage(bytes);
    query.writeUInt16BE(0x8001, query.length - 2);
    segment.tell(query, asker);
    await pass(clock, 150);
    expect(segment.sent).toMatchObject([{ to: asker, message: { answers: [{ type: 'PTR' }] } }]);
    await pass(clock, 1_200_000, 10_000);
    segment.tell(query, asker);
    await pass(clock, 150);
    expect(segment.sent.at(-1)?.to).toBeUndefined();
  });

  test('to a plain resolver go to its own port, with its question, short-lived and without the bit it does not know', async () => {
    segment.say({ kind: 'query', id: 77, questions: [QUESTION] }, { host: '10.0.0.9', port: 40_000 });
    await settle();
    const [sent] = segment.sent;
    expect(sent).toMatchObject({ to: { host: '10.0.0.9', port: 40_000 }, message: { id: 77, questions: [QUESTION] } });
    const records = [...(sent?.message.answers ?? []), ...(sent?.message.additionals ?? [])];
    expect(records.every(({ ttlSeconds, isUnique }) => ttlSeconds <= 10 && !isUnique)).toBe(true);
    for (let count = 0; count < 200; count++) segment.say({ kind: 'query', questions: [QUESTION] }, { host: '10.0.0.9', port: 40_000 });
    await settle();
    expect(segment.sent.length).toBeLessThanOrEqual(51);
    expect(kitchen.dnsSd.drops().answer_rate).toBeGreaterThan(100);
  });

  test('to strangers from elsewhere are none', async () => {
    segment.say({ kind: 'query', questions: [QUESTION] }, { host: '8.8.8.8', port: 40_000 });
    await pass(clock, 500);
    expect(segment.sent).toEqual([]);
    expect(kitchen.dnsSd.drops().stranger).toBe(1);
  });

  test('contradict who takes the name of this hub, with one line in the log', async () => {
    const claim: DnsRecord = {
      name: `hub-kitchen.${TYPE_NAME}`,
      type: 'SRV',
      ttlSeconds: 120,
      isUnique: true,
      data: { target: 'copy.local', port: 8082 },
    };
    for (let count = 0; count < 5; count++) segment.say({ kind: 'response', answers: [claim] }, asker);
    await pass(clock, 500);
    expect(segment.sent).toHaveLength(1);
    expect(segment.sent[0]?.message.answers[1]).toMatchObject({ type: 'SRV', data: { target: 'hub-kitchen.local' } });
    const warnings = kitchen.lines.filter((line) => line.includes('discovery.name_taken'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('state directory copied');
  });
});

describe('hostile neighbours', () => {
  const liar = { host: '10.0.0.66', port: 5_353 };
  const instance = (name: string, target = 'liar.local', address = '10.0.0.66'): DnsRecord[] => [
    { name: TYPE_NAME, type: 'PTR', ttlSeconds: 4_500, isUnique: false, data: `${name}.${TYPE_NAME}` },
    { name: `${name}.${TYPE_NAME}`, type: 'SRV', ttlSeconds: 120, isUnique: true, data: { target, port: 8082 } },
    { name: target, type: 'A', ttlSeconds: 120, isUnique: true, data: address },
  ];

  test('cannot fill the list: 64 instances of one neighbour, 256 in all', async () => {
    await kitchen.start();
    const heard = listen(kitchen);
    for (let count = 0; count < 90; count++) segment.say({ kind: 'response', answers: instance(`fake-${count}`) }, liar);
    await settle();
    expect(heard.present.size).toBe(64);
    for (let count = 0; count < 900; count++) {
      segment.say({ kind: 'response', answers: instance(`more-${count}`) }, { ...liar, host: `10.0.0.${10 + (count % 40)}` });
    }
    expect(heard.present.size).toBe(256);
    expect(kitchen.dnsSd.drops().too_many_instances).toBe(26 + 900 - 192);
  });

  test('cannot send anybody to places beyond the link', async () => {
    await kitchen.start();
    const heard = listen(kitchen);
    segment.say({ kind: 'response', answers: instance('fake', 'liar.local', '93.184.216.34') }, liar);
    segment.say({ kind: 'response', answers: instance('fake', 'liar.local', '127.0.0.1') }, liar);
    await pass(clock, 1_000);
    expect(heard.present.size).toBe(0);
  });

  test('are not read when they flood, and the others still are', async () => {
    await kitchen.start();
    const heard = listen(kitchen);
    for (let count = 0; count < 5_000; count++) segment.tell(Buffer.from([count]), liar);
    segment.say({ kind: 'response', answers: instance('honest', 'honest.local', '10.0.0.5') }, { host: '10.0.0.5', port: 5_353 });
    expect([...heard.present.keys()]).toEqual(['honest']);
    expect(kitchen.dnsSd.drops()).toMatchObject({ malformed: 400, source_rate: 4_600 });
  });

  test('are not believed when they answer from another port', async () => {
    await kitchen.start();
    const heard = listen(kitchen);
    segment.say({ kind: 'response', answers: instance('fake') }, { ...liar, port: 5_354 });
    expect(heard.present.size).toBe(0);
  });
});

describe('a service', () => {
  test('that DNS cannot carry is refused with the reason', async () => {
    const good = { name: 'hub', type: TYPE, port: 1, txt: {} };
    expect(() => kitchen.dnsSd.advertise({ ...good, name: 'x'.repeat(64) })).toThrow(/1 to 63 bytes/);
    expect(() => kitchen.dnsSd.advertise({ ...good, name: 'a.b' })).toThrow(/no dot/);
    expect(() => kitchen.dnsSd.advertise({ ...good, type: 'http' })).toThrow(/_name\._tcp/);
    expect(() => kitchen.dnsSd.advertise({ ...good, txt: { a: 'x'.repeat(254) } })).toThrow(/255 bytes/);
  });

  test('is told no more to who has stopped listening', async () => {
    await kitchen.start();
    await cellar.start();
    const heard = listen(kitchen);
    heard.stop.abort();
    advertise(cellar);
    await pass(clock, 2_000);
    expect(heard.news).toEqual([]);
    expect(sentBy(kitchen, 'query')).toEqual([]);
  });

  test('of a host that stops is withdrawn with all its records', async () => {
    await kitchen.start();
    advertise(kitchen);
    await pass(clock, 2_000);
    segment.sent.length = 0;
    await kitchen.dnsSd[Symbol.asyncDispose]();
    await kitchen.dnsSd[Symbol.asyncDispose]();
    expect(segment.sent.map(({ family }) => family).sort()).toEqual(['ipv4', 'ipv6']);
    expect(segment.sent[0]?.message.answers.map(({ type, ttlSeconds }) => [type, ttlSeconds])).toEqual([
      ['PTR', 0],
      ['SRV', 0],
      ['TXT', 0],
      ['A', 0],
      ['AAAA', 0],
    ]);
  });
});
