import { beforeEach, describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { ConnectionManager } from '../../../src/mesh/discovery/connection-manager.ts';
import type { Discovery, ServiceListener } from '../../../src/mesh/discovery/discovery.ts';
import { hubService } from '../../../src/mesh/discovery/hub-discovery.ts';
import { InterfaceWatch } from '../../../src/mesh/discovery/network-interfaces.ts';
import type { KnownAddresses } from '../../../src/mesh/discovery/peer-addresses.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { FakeEngine } from './fake-engine.ts';
import { pass } from './fake-segment.ts';

const MESH = 'mesh-0011223344556677';
const hub = (number: number) => `hub-${number.toString(16).padStart(16, '0')}` as HubId;
const SELF = hub(100);
const LOW = hub(1);
const HIGH = hub(200);
const never = new AbortController().signal;

class FakeDiscovery implements Discovery {
  ear: ServiceListener | undefined;
  advertise(): AsyncDisposable {
    return { [Symbol.asyncDispose]: async () => {} };
  }
  browse(_type: string, ear: ServiceListener): void {
    this.ear = ear;
  }
  sight(id: HubId, ...addresses: readonly string[]): void {
    this.ear?.found({ ...hubService({ id, port: 8082, meshId: MESH }), addresses });
  }
}

let clock: ManualClock;
let engine: FakeEngine;
let discovery: FakeDiscovery;
let store: MemoryKeyValueStore;
let announced: KnownAddresses[];
let barred: Set<HubId>;
let lines: string[];
let interfaces: Record<string, never[]>;
beforeEach(() => {
  clock = new ManualClock();
  engine = new FakeEngine(SELF);
  discovery = new FakeDiscovery();
  store = new MemoryKeyValueStore(clock);
  announced = [];
  barred = new Set();
  lines = [];
  interfaces = {};
});

async function keeper(peers: readonly string[] = []): Promise<ConnectionManager> {
  const logger = createLogger('info', (line) => lines.push(line));
  const list = () =>
    ({
      eth0: [{ address: '10.0.0.100', cidr: '10.0.0.100/24', family: 'IPv4', internal: false, mac: '', netmask: '' }],
      ...interfaces,
    }) as never;
  const watch = new InterfaceWatch({ clock, logger, names: [], list });
  await watch.start();
  const made = new ConnectionManager(
    {
      clock,
      logger,
      engine: engine.asEngine,
      meshId: MESH,
      discovery,
      watch,
      store,
      announced: () => announced,
      isBarred: (id) => barred.has(id),
      random: () => 0.5,
    },
    { peers },
  );
  await made.start();
  return made;
}

const connected = () => engine.peers().map(({ id }) => id);

describe('hubs that are seen', () => {
  test('are connected at once by the one with the lower id', async () => {
    await keeper();
    engine.answers.set('10.0.0.2:8082', HIGH);
    discovery.sight(HIGH, '10.0.0.2');
    await pass(clock, 10, 1);
    expect(connected()).toEqual([HIGH]);
  });

  test('are left the first word when their id is lower, but not for long', async () => {
    await keeper();
    engine.answers.set('10.0.0.1:8082', LOW);
    discovery.sight(LOW, '10.0.0.1');
    await pass(clock, 450);
    expect(engine.tried).toEqual([]);
    await pass(clock, 100);
    expect(connected()).toEqual([LOW]);
  });

  test('are not tried when they came by themselves, belong elsewhere, were removed, or are this hub', async () => {
    await keeper();
    discovery.sight(LOW, '10.0.0.1');
    engine.arrive(LOW, '10.0.0.1:40000');
    discovery.sight(SELF, '10.0.0.100');
    barred.add(HIGH);
    discovery.sight(HIGH, '10.0.0.2');
    discovery.ear?.found({ ...hubService({ id: hub(3), port: 8082, meshId: 'mesh-other' }), addresses: ['10.0.0.3'] });
    await pass(clock, 10_000);
    expect(engine.tried).toEqual([]);
  });

  test('are tried at one address after the other, a silent one delaying the next by a quarter second', async () => {
    await keeper();
    engine.answers.set('[fd00::2]:8082', 'silence');
    engine.answers.set('10.0.0.2:8082', HIGH);
    discovery.sight(HIGH, '10.0.0.2', 'fd00::2');
    await pass(clock, 240, 10);
    expect(engine.tried).toEqual(['[fd00::2]:8082']);
    await pass(clock, 20, 10);
    expect(connected()).toEqual([HIGH]);
  });
});

describe('a hub that does not answer', () => {
  test('is tried for ever, ever more seldom, half a minute apart at most', async () => {
    await keeper();
    discovery.sight(HIGH, '10.0.0.2');
    await pass(clock, 600_000, 250);
    const before = engine.tried.length;
    await pass(clock, 300_000, 250);
    expect(engine.tried.length - before).toBe(10);
  });

  test('is tried at once when it shows up again, when it has a new address, and when an interface changes', async () => {
    const kept = await keeper();
    discovery.sight(HIGH, '10.0.0.2');
    await pass(clock, 600_000, 250);
    engine.tried.length = 0;
    discovery.sight(HIGH, '10.0.0.2');
    await pass(clock, 20, 10);
    expect(engine.tried).toEqual(['10.0.0.2:8082']);
    await pass(clock, 600_000, 250);
    engine.tried.length = 0;
    announced = [{ id: HIGH, addresses: ['10.9.9.9:1'] }];
    kept.review();
    await pass(clock, 20, 10);
    expect(engine.tried).toEqual(['10.0.0.2:8082', '10.9.9.9:1']);
    await pass(clock, 600_000, 250);
    engine.tried.length = 0;
    interfaces.wlan0 = [{ address: '10.1.0.1', cidr: '10.1.0.1/24', family: 'IPv4', internal: false, mac: '', netmask: '' } as never];
    await pass(clock, 1_050);
    expect(engine.tried).toHaveLength(2);
  });

  test('that was lost is tried at least every three seconds in the first minute, and is back as soon as it answers', async () => {
    await keeper();
    engine.answers.set('10.0.0.2:8082', HIGH);
    discovery.sight(HIGH, '10.0.0.2');
    await pass(clock, 100);
    engine.answers.set('10.0.0.2:8082', 'silence');
    engine.lose(HIGH);
    engine.tried.length = 0;
    await pass(clock, 55_000);
    expect(engine.tried.length).toBeGreaterThan(17);
    engine.answers.set('10.0.0.2:8082', HIGH);
    await pass(clock, 3_000);
    expect(connected()).toEqual([HIGH]);
  });

  test('and has the lower id is waited for three seconds after a loss', async () => {
    await keeper();
    engine.answers.set('10.0.0.1:8082', LOW);
    discovery.sight(LOW, '10.0.0.1');
    await pass(clock, 600);
    engine.tried.length = 0;
    engine.lose(LOW);
    await pass(clock, 2_900);
    expect(engine.tried).toEqual([]);
    await pass(clock, 200);
    expect(connected()).toEqual([LOW]);
  });

  test('is sought where it was connected last, after a restart without discovery', async () => {
    const first = await keeper();
    engine.answers.set('10.0.0.2:8082', HIGH);
    discovery.sight(HIGH, '10.0.0.2');
    await pass(clock, 100);
    await first[Symbol.asyncDispose]();
    const answers = engine.answers;
    engine = new FakeEngine(SELF);
    for (const [address, answer] of answers) engine.answers.set(address, answer);
    await keeper();
    await pass(clock, 100);
    expect(connected()).toEqual([HIGH]);
  });
});

describe('a hub that refuses', () => {
  test('is left alone for five minutes in the end, however often it shows up, with one line in the log', async () => {
    const kept = await keeper();
    engine.answers.set('10.0.0.2:8082', 'refusal');
    for (let second = 0; second < 900; second++) {
      discovery.sight(HIGH, '10.0.0.2');
      await pass(clock, 1_000, 500);
    }
    expect(engine.tried.length).toBeGreaterThanOrEqual(4);
    expect(engine.tried.length).toBeLessThanOrEqual(6);
    expect(kept.refusals).toBe(engine.tried.length);
    expect(lines.filter((line) => line.includes('mesh.dial_refused'))).toHaveLength(1);
  });

  test('at one address is tried at its others', async () => {
    await keeper();
    engine.answers.set('[fd00::2]:8082', LOW);
    engine.answers.set('10.0.0.2:8082', HIGH);
    discovery.sight(HIGH, 'fd00::2', '10.0.0.2');
    await pass(clock, 50, 10);
    expect(connected()).toEqual([HIGH]);
  });
});

describe("the owner's addresses", () => {
  test('are tried without knowing who is there, kept connected, and never when they are this hub', async () => {
    await keeper(['10.0.7.1:8082', '10.0.0.100:8082', 'nonsense']);
    engine.answers.set('10.0.7.1:8082', LOW);
    await pass(clock, 50, 10);
    expect(connected()).toEqual([LOW]);
    expect(engine.tried).toEqual(['10.0.7.1:8082']);
    engine.lose(LOW);
    await pass(clock, 3_100);
    expect(connected()).toEqual([LOW]);
  });

  test('are tried for whoever is there when the hub that was there is not', async () => {
    await keeper(['10.0.7.1:8082']);
    engine.answers.set('10.0.7.1:8082', LOW);
    await pass(clock, 50, 10);
    engine.answers.set('10.0.7.1:8082', HIGH);
    engine.lose(LOW);
    await pass(clock, 120_000, 250);
    expect(connected()).toEqual([HIGH]);
  });
});

describe('a call that wants a hub', () => {
  test('connects it at once, also where it is not a neighbour, and says when it cannot', async () => {
    const kept = await keeper();
    announced = Array.from({ length: 40 }, (_, index) => ({ id: hub(300 + index), addresses: [`10.2.0.${index}:8082`] }));
    for (const { id, addresses } of announced) engine.answers.set(addresses[0] ?? '', id);
    kept.review();
    await pass(clock, 1_000);
    const near = new Set(connected());
    expect(near.size).toBeLessThanOrEqual(8);
    const far = announced.find(({ id }) => !near.has(id))?.id ?? SELF;
    await expect(kept.dialNow(far, never)).resolves.toMatchObject({ id: far });
    await expect(kept.dialNow(far, never)).resolves.toMatchObject({ id: far });
    await expect(kept.dialNow(hub(999), never)).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
    barred.add(hub(998));
    await expect(kept.dialNow(hub(998), never)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await pass(clock, 250_000, 1_000);
    expect(connected()).toContain(far);
    await pass(clock, 150_000, 1_000);
    expect(new Set(connected())).toEqual(near);
  });

  test('waits five seconds for a hub that has been silent for long', async () => {
    const kept = await keeper();
    engine.answers.set('10.0.0.2:8082', 'silence');
    discovery.sight(HIGH, '10.0.0.2');
    await pass(clock, 600_000, 1_000);
    while (engine.tried.length < 10) await pass(clock, 60_000, 1_000);
    // Between two tries, so that the call makes one of its own.
    const before = engine.tried.length;
    while (engine.tried.length === before) await pass(clock, 1_000, 1_000);
    await pass(clock, 12_000, 1_000);
    let outcome = 'waiting';
    void kept.dialNow(HIGH, never).catch((error: unknown) => {
      outcome = String((error as { code?: unknown }).code);
    });
    await pass(clock, 4_900, 100);
    expect(outcome).toBe('waiting');
    await pass(clock, 200, 100);
    expect(outcome).toBe('NODE_UNAVAILABLE');
  });

  test('waits no longer than it wants to', async () => {
    const kept = await keeper();
    engine.answers.set('10.0.0.2:8082', 'silence');
    announced = [{ id: HIGH, addresses: ['10.0.0.2:8082'] }];
    const stop = new AbortController();
    const answer = kept.dialNow(HIGH, stop.signal);
    stop.abort();
    await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('in a large mesh', () => {
  const members = Array.from({ length: 30 }, (_, index) => ({ id: hub(300 + index), addresses: [`10.2.0.${index}:8082`] }));

  test('a neighbour that cannot be reached is replaced, and tried on', async () => {
    announced = members;
    for (const { id, addresses } of members) engine.answers.set(addresses[0] ?? '', id);
    await keeper();
    await pass(clock, 3_000);
    const [first = SELF] = connected();
    const address = members.find(({ id }) => id === first)?.addresses[0] ?? '';
    const before = connected().length;
    engine.answers.set(address, 'nobody');
    engine.lose(first);
    await pass(clock, 30_000);
    expect(connected().length).toBe(before);
    engine.answers.set(address, first);
    await pass(clock, 6_000);
    expect(connected()).toContain(first);
  });

  test('made-up hubs do not displace real ones', async () => {
    announced = members;
    for (const { id, addresses } of members) engine.answers.set(addresses[0] ?? '', id);
    await keeper();
    await pass(clock, 3_000);
    const real = connected();
    for (let count = 0; count < 200; count++) discovery.sight(hub(10_000 + count), '10.0.0.66');
    await pass(clock, 120_000, 250);
    expect(connected()).toEqual(expect.arrayContaining([...real]));
    expect(engine.tried.length).toBeLessThan(600);
  });

  test('connections from when it was small end, on the word of the lower id, once they are spare for a minute', async () => {
    await keeper();
    for (const { id } of members) engine.arrive(id, '10.2.0.1:40000');
    engine.arrive(LOW, '10.0.0.1:40000');
    announced = [...members, { id: LOW, addresses: [] }];
    await pass(clock, 55_000, 500);
    expect(connected()).toHaveLength(31);
    await pass(clock, 10_000, 500);
    expect(connected().length).toBeLessThanOrEqual(9);
    expect(connected()).toContain(LOW);
  });
});

test('a keeper that has stopped tries nothing more', async () => {
  const kept = await keeper(['10.0.7.1:8082']);
  discovery.sight(HIGH, '10.0.0.2');
  await pass(clock, 1_000);
  await kept[Symbol.asyncDispose]();
  await kept[Symbol.asyncDispose]();
  engine.tried.length = 0;
  engine.arrive(HIGH, 'x');
  engine.lose(HIGH);
  await pass(clock, 60_000, 500);
  expect(engine.tried).toEqual([]);
});
