import { describe, expect, test } from 'vitest';
import { RevocationList } from '../../../src/auth/tokens/revocation-list.ts';
import { encodeCbor } from '../../../src/codec/cbor.ts';
import { signSign1 } from '../../../src/codec/cose-sign1.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { keyPair, refusalOf, tokenServices } from './token-fixture.ts';

const ID = '00112233445566778899aabbccddeeff';
const AAD = Buffer.from('atmosphere-edge revocation v1');
const HOUR_MS = 3_600_000;

/** A token of the hub of the list, whose statements all count. */
const tokenOf = (...chain: readonly string[]) => ({ chain, keys: [], issuer: 'hub-x' });

const NO_RECORDS = { end: () => {} };

describe('the revocation list', () => {
  test('says once that a token ended, and tells whoever listens', async () => {
    const { revocations, clock } = await tokenServices();
    const heard: string[] = [];
    revocations.onRevoked(() => {
      throw new Error('a listener of no use');
    });
    const stop = revocations.onRevoked((id) => heard.push(id));
    expect(revocations.revoke(ID, clock.now() + HOUR_MS)).toBe(true);
    expect(revocations.revoke(ID, clock.now() + HOUR_MS)).toBe(false);
    stop();
    revocations.revoke('ff'.repeat(16), clock.now() + HOUR_MS);
    expect(heard).toEqual([ID]);
    expect(revocations.firstRevoked(tokenOf('ab', ID))).toBe(ID);
  });

  test.each(['', 'x', ID.toUpperCase(), ID.slice(1), `${ID}0`, 'g'.repeat(32)])('%j is no id of a token', async (id) => {
    const { revocations, clock } = await tokenServices();
    expect(refusalOf(() => revocations.revoke(id, clock.now() + HOUR_MS))?.code).toBe('VALIDATION_ERROR');
  });

  test('survives a restart, and is kept until nobody would believe the token any more', async () => {
    const first = await tokenServices();
    first.revocations.revoke(ID, first.clock.now() + HOUR_MS);
    const second = await tokenServices(first);
    expect(second.revocations.firstRevoked(tokenOf(ID))).toBe(ID);
    first.clock.advance(HOUR_MS + 60_000);
    expect((await tokenServices(first)).revocations.firstRevoked(tokenOf(ID))).toBe(ID);
    first.clock.advance(300_000);
    const last = await tokenServices(first);
    expect(last.revocations.firstRevoked(tokenOf(ID))).toBeUndefined();
    expect([last.revocations.statements(), first.store.entries('access.revocations')]).toEqual([[], []]);
  });

  test('holds over a restart on a board whose clock stood in 1970 when the token was revoked', async () => {
    const machine = new ManualClock(1_000_000);
    const store = new MemoryKeyValueStore(machine);
    const trusted = { isTrusted: false, nowMs: Date.UTC(2026, 0, 1) };
    const time = { now: () => trusted.nowMs, isTrusted: () => trusted.isTrusted };
    const { hub, issuers } = await tokenServices();
    const parts = { hub, issuers, records: NO_RECORDS, store, clock: machine, time, logger: silentLogger };
    const before = new RevocationList(parts);
    before.revoke(ID, trusted.nowMs + HOUR_MS);
    // The network tells the time: the machine's clock jumps by 56 years.
    machine.advance(trusted.nowMs);
    trusted.isTrusted = true;
    const after = new RevocationList(parts);
    await after.start();
    expect(after.firstRevoked(tokenOf(ID))).toBe(ID);
  });

  test('nothing is forgotten while the clock is not trusted', async () => {
    const { hub, issuers, store } = await tokenServices();
    const clock = { isTrusted: true, nowMs: Date.UTC(2026, 0, 1) };
    const time = { now: () => clock.nowMs, isTrusted: () => clock.isTrusted };
    const list = new RevocationList({ hub, issuers, records: NO_RECORDS, store, clock: new ManualClock(), time, logger: silentLogger });
    list.revoke(ID, clock.nowMs + HOUR_MS);
    Object.assign(clock, { isTrusted: false, nowMs: clock.nowMs + 24 * HOUR_MS });
    list.revoke('ff'.repeat(16), clock.nowMs + HOUR_MS);
    expect(list.firstRevoked(tokenOf(ID))).toBe(ID);
  });

  test('what cannot be written has ended all the same, and goes on to others; said again, it is written', async () => {
    const { store, hub, issuers, time, clock } = await tokenServices();
    const set = store.set.bind(store);
    const revocations = new RevocationList({ hub, issuers, records: NO_RECORDS, store, clock, time, logger: silentLogger });
    const heard: string[] = [];
    revocations.onRevoked((id) => heard.push(id));
    store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'disk full');
    };
    expect(() => revocations.revoke(ID, clock.now() + HOUR_MS)).toThrow('disk full');
    expect([revocations.firstRevoked(tokenOf(ID)), heard, revocations.statements().length]).toEqual([ID, [ID], 1]);
    expect(() => revocations.revoke(ID, clock.now() + HOUR_MS)).toThrow('disk full');
    store.set = set;
    expect(revocations.revoke(ID, clock.now() + HOUR_MS)).toBe(true);
    expect(revocations.revoke(ID, clock.now() + HOUR_MS)).toBe(false);
    expect([revocations.statements().length, store.entries('access.revocations').length, heard]).toEqual([1, 1, [ID]]);
  });

  test('a token is revoked while the clock is ahead and not trusted, also for the time after that', async () => {
    const { hub, issuers, store } = await tokenServices();
    const clock = { isTrusted: false, nowMs: Date.UTC(2099, 0, 1) };
    const time = { now: () => clock.nowMs, isTrusted: () => clock.isTrusted };
    const list = new RevocationList({ hub, issuers, records: NO_RECORDS, store, clock: new ManualClock(), time, logger: silentLogger });
    expect(list.revoke(ID, Date.UTC(2026, 6, 1))).toBe(true);
    Object.assign(clock, { isTrusted: true, nowMs: Date.UTC(2026, 0, 1) });
    expect(list.firstRevoked(tokenOf(ID))).toBe(ID);
  });

  test('what the disk refused is written at the end of the hub, if the disk takes it then', async () => {
    const { store, hub, issuers, time, clock } = await tokenServices();
    const set = store.set.bind(store);
    const revocations = new RevocationList({ hub, issuers, records: NO_RECORDS, store, clock, time, logger: silentLogger });
    store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'disk full');
    };
    expect(() => revocations.revoke(ID, clock.now() + HOUR_MS)).toThrow('disk full');
    store.set = set;
    await revocations[Symbol.asyncDispose]();
    expect(store.entries('access.revocations').map(({ key }) => key)).toEqual([ID]);
  });

  test('what has ended and cannot be deleted does not keep a token from being revoked, here or by another hub, nor the hub from starting', async () => {
    const other = await tokenServices();
    const setup = await tokenServices();
    const { store, clock, revocations, issuers } = setup;
    issuers.set(other.hub.hubId, other.hub.publicKey);
    const [first, second] = ['aa'.repeat(16), 'bb'.repeat(16)] as const;
    revocations.revoke(ID, clock.now() + HOUR_MS);
    clock.advance(72 * HOUR_MS);
    other.clock.advance(72 * HOUR_MS);
    other.revocations.revoke(second, other.clock.now() + HOUR_MS);
    const [statement = new Uint8Array()] = other.revocations.statements();
    const refuse = () => {
      throw new AtmoError('STORAGE_FAILED', 'disk full');
    };
    Object.assign(store, { set: refuse, delete: refuse });
    expect(() => revocations.revoke(first, clock.now() + HOUR_MS)).toThrow('disk full');
    expect(revocations.firstRevoked(tokenOf(first))).toBe(first);
    expect(revocations.merge(statement)).toBe(true);
    expect(revocations.firstRevoked({ ...tokenOf(second), issuer: other.hub.hubId })).toBe(second);
    await expect(tokenServices(setup)).resolves.toBeDefined();
  });

  test('what the disk refused is written as soon as it takes writes again', async () => {
    const { store, hub, issuers, time, clock } = await tokenServices();
    const set = store.set.bind(store);
    const revocations = new RevocationList({ hub, issuers, records: NO_RECORDS, store, clock, time, logger: silentLogger });
    store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'disk full');
    };
    expect(() => revocations.revoke(ID, clock.now() + HOUR_MS)).toThrow('disk full');
    clock.advance(60_000);
    store.set = set;
    expect(store.entries('access.revocations')).toEqual([]);
    clock.advance(30_000);
    expect(store.entries('access.revocations').map(({ key }) => key)).toEqual([ID]);
  });

  test('a damaged entry still ends the token that it was about', async () => {
    const setup = await tokenServices();
    setup.store.set('access.revocations', ID, 'damaged');
    expect((await tokenServices(setup)).revocations.firstRevoked(tokenOf(ID))).toBe(ID);
  });
});

describe('merging lists', () => {
  test('a statement of a trusted hub is taken once, lasts over a restart and goes on to others', async () => {
    const other = await tokenServices();
    const setup = await tokenServices();
    setup.issuers.set(other.hub.hubId, other.hub.publicKey);
    other.revocations.revoke(ID, other.clock.now() + HOUR_MS);
    const [statement = new Uint8Array()] = other.revocations.statements();
    expect([setup.revocations.merge(statement), setup.revocations.merge(statement)]).toEqual([true, false]);
    expect(setup.revocations.firstRevoked({ ...tokenOf(ID), issuer: other.hub.hubId })).toBe(ID);
    expect(setup.revocations.statements().map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual([
      Buffer.from(statement).toString('hex'),
    ]);
    expect((await tokenServices(setup)).revocations.firstRevoked({ ...tokenOf(ID), issuer: other.hub.hubId })).toBe(ID);
  });

  test('of two statements about one token by one hub, all hubs keep the same one, in whatever order they come', async () => {
    const other = await tokenServices();
    const statementUntil = async (expiresAtMs: number) => {
      const { revocations } = await tokenServices({ ...other, store: new MemoryKeyValueStore(other.clock) });
      revocations.revoke(ID, expiresAtMs);
      return revocations.statements()[0] ?? new Uint8Array();
    };
    const nowMs = other.clock.now();
    const [short, long] = [await statementUntil(nowMs + HOUR_MS), await statementUntil(nowMs + 2 * HOUR_MS)];
    for (const order of [
      [short, long, short],
      [long, short, long],
    ]) {
      const setup = await tokenServices();
      setup.issuers.set(other.hub.hubId, other.hub.publicKey);
      for (const statement of order) setup.revocations.merge(statement);
      expect(setup.revocations.statements().map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual([
        Buffer.from(long).toString('hex'),
      ]);
      expect((await tokenServices(setup)).revocations.statements().map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual([
        Buffer.from(long).toString('hex'),
      ]);
    }
  });

  test('a full disk neither keeps a statement of another hub from counting nor has the neighbours send it without end', async () => {
    const other = await tokenServices();
    const setup = await tokenServices();
    setup.issuers.set(other.hub.hubId, other.hub.publicKey);
    other.revocations.revoke(ID, other.clock.now() + HOUR_MS);
    const [statement = new Uint8Array()] = other.revocations.statements();
    const spread: string[] = [];
    setup.revocations.onRevoked((id) => spread.push(id));
    setup.store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'disk full');
    };
    expect([setup.revocations.merge(statement), setup.revocations.merge(statement)]).toEqual([true, false]);
    expect([spread, setup.revocations.statements().length]).toEqual([[ID], 1]);
    expect(setup.revocations.firstRevoked({ ...tokenOf(ID), issuer: other.hub.hubId })).toBe(ID);
  });

  test.each<[string, (setup: Awaited<ReturnType<typeof tokenServices>>) => Uint8Array]>([
    ['nothing', () => new Uint8Array()],
    ['a stranger', (setup) => statement(setup.hub.hubId, keyPair(), setup.clock.now())],
    ['a hub that is not trusted', (setup) => statement('hub-0000000000000000', keyPair(), setup.clock.now())],
    [
      'the hub, for another use',
      (setup) => statement(setup.hub.hubId, setup.hub, setup.clock.now(), Buffer.from('atmosphere-edge token v1')),
    ],
  ])('a statement of %s is refused', async (_, make) => {
    const setup = await tokenServices();
    expect(refusalOf(() => setup.revocations.merge(make(setup)))?.code).toBe('VALIDATION_ERROR');
    expect(setup.revocations.statements()).toEqual([]);
  });

  describe('whose statement counts', () => {
    async function said() {
      const [setup, other] = [await tokenServices(), await tokenServices()];
      setup.issuers.set(other.hub.hubId, other.hub.publicKey);
      other.revocations.revoke(ID, other.clock.now() + HOUR_MS);
      for (const text of other.revocations.statements()) setup.revocations.merge(text);
      const ends = (chain: readonly string[], keys: readonly string[], issuer = 'hub-x') =>
        setup.revocations.firstRevoked({ chain, keys, issuer }) !== undefined;
      return { setup, other, ends };
    }

    test('that of the hub that issued the root', async () => {
      const { other, ends } = await said();
      expect(ends([ID], [], other.hub.hubId)).toBe(true);
      expect(ends(['ab', ID], [], other.hub.hubId)).toBe(true);
    });

    test('that of a hub with a key of the chain, for its own link and what comes from it, not for what it comes from', async () => {
      const { other, ends } = await said();
      const strangers = keyPair().publicKey;
      expect(ends([ID, 'ab'], [other.hub.publicKey, strangers])).toBe(true);
      expect(ends(['ab', ID], [strangers, other.hub.publicKey])).toBe(true);
      expect(ends([ID, 'ab'], [strangers, other.hub.publicKey])).toBe(false);
    });

    test('that of no other hub, not even for a token of this one; what this hub says counts for all', async () => {
      const { setup, ends } = await said();
      expect(ends([ID], [setup.hub.publicKey], setup.hub.hubId)).toBe(false);
      expect(setup.revocations.revoke(ID, setup.clock.now() + HOUR_MS)).toBe(true);
      expect(ends([ID], [], 'hub-x')).toBe(true);
      expect(setup.revocations.statements()).toHaveLength(2);
    });

    test('also after the hub that said so is trusted no more, and over a restart', async () => {
      const { setup, other } = await said();
      setup.issuers.delete(other.hub.hubId);
      const later = await tokenServices(setup);
      expect(later.revocations.firstRevoked({ chain: [ID], keys: [], issuer: other.hub.hubId })).toBe(ID);
    });
  });

  test('listeners hear who said so', async () => {
    const [setup, other] = [await tokenServices(), await tokenServices()];
    setup.issuers.set(other.hub.hubId, other.hub.publicKey);
    const heard: string[][] = [];
    setup.revocations.onRevoked((...said) => heard.push(said));
    other.revocations.revoke(ID, other.clock.now() + HOUR_MS);
    setup.revocations.merge(other.revocations.statements()[0] ?? new Uint8Array());
    expect(heard).toEqual([[ID, other.hub.hubId]]);
  });

  test('another hub can fill neither the disk nor the future', async () => {
    const setup = await tokenServices();
    const other = keyPair();
    setup.issuers.set('hub-other', other.publicKey);
    const say = (id: string, atMs: number) => setup.revocations.merge(statement('hub-other', other, atMs, AAD, id));
    expect(refusalOf(() => say(ID, setup.clock.now() + 500 * 24 * HOUR_MS))?.code).toBe('VALIDATION_ERROR');
    for (let count = 0; count < 4096; count++) say(count.toString(16).padStart(32, '0'), setup.clock.now());
    expect(refusalOf(() => say('ff'.repeat(16), setup.clock.now()))?.code).toBe('RESOURCE_EXCEEDED');
    expect(setup.revocations.revoke('ee'.repeat(16), setup.clock.now() + HOUR_MS)).toBe(true);
  });

  test('a statement about a token that has long ended is not kept', async () => {
    const setup = await tokenServices();
    expect(setup.revocations.merge(statement(setup.hub.hubId, setup.hub, setup.clock.now() - 2 * HOUR_MS))).toBe(false);
    expect(setup.revocations.statements()).toEqual([]);
  });
});

function statement(
  issuer: string,
  { privateKey }: ReturnType<typeof keyPair>,
  atMs: number,
  externalAad: Uint8Array = AAD,
  id = ID,
): Uint8Array {
  const content = new Map<number, string | number | Uint8Array>([
    [1, issuer],
    [2, Uint8Array.from(Buffer.from(id, 'hex'))],
    [3, Math.floor(atMs / 1000) + 3600],
  ]);
  return signSign1({ payload: encodeCbor(content), key: privateKey, externalAad });
}
