import { beforeEach, describe, expect, test, vi } from 'vitest';
import { makeIdentity, SimulatedAuthority, type SimulatedIdentity } from '../../../scripts/simulation/simulated-authority.ts';
import { MAX_FILTER_BYTES, MAX_SUMMARY_BYTES, type SiteSummary, siteSummaryCodec } from '../../../src/codec/messages/site.ts';
import { makeFilter } from '../../../src/mesh/sites/site-words.ts';
import { SummaryStore } from '../../../src/mesh/sites/summary-store.ts';
import { ManualClock } from '../../manual-clock.ts';

const NOW_MS = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;
const EMPTY = { hashes: 1, bits: new Uint8Array(8) };

let clock: ManualClock;
let authority: SimulatedAuthority;
let border: SimulatedIdentity;
let isTrusted: boolean;
let store: SummaryStore;

beforeEach(() => {
  clock = new ManualClock(NOW_MS);
  authority = new SimulatedAuthority();
  border = makeIdentity();
  isTrusted = true;
  store = storeOf();
});

/** Store of a hub of the site `home` that knows these hubs of its site. */
function storeOf(own: readonly SimulatedIdentity[] = []): SummaryStore {
  return new SummaryStore({
    site: 'home',
    certificates: authority,
    isOfOwnSite: (id) => own.some(({ hubId }) => hubId === id),
    clock,
    time: { now: () => clock.now(), isTrusted: () => isTrusted },
  });
}

function signed(changes: Partial<SiteSummary> = {}, identity = border, key = identity.privateKey): Uint8Array {
  const summary: SiteSummary = {
    site: 'garage',
    hubId: identity.hubId,
    epoch: 1,
    sequence: 1,
    timeMs: clock.now(),
    ttlSeconds: 7_200,
    certificate: authority.certify(identity),
    borders: [{ id: identity.hubId, addresses: [] }],
    hubs: 1,
    filter: EMPTY,
    ...changes,
  };
  return siteSummaryCodec.sign(summary, key);
}

describe('the store of summaries', () => {
  test('keeps the newest summary of each border member and finds its words', () => {
    const filter = makeFilter('garage', new Set(['door', 'lamp']));
    expect(store.receive(signed())).toEqual({ name: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(store.receive(signed({ sequence: 2, filter }))).toHaveProperty('name');
    expect([...store.others().keys()]).toEqual(['garage']);
    expect([store.mayHave('garage', 'lamp'), store.mayHave('garage', 'boat'), store.mayHave('attic', 'lamp')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(store.names().size).toBe(1);
  });

  test('refuses one that is too large, and the largest one fits', () => {
    expect(store.receive(new Uint8Array(MAX_SUMMARY_BYTES + 1))).toBe('oversized');
    const addresses = ['a'.repeat(253), 'b'.repeat(253)];
    const borders = [{ id: border.hubId, addresses }];
    expect(store.receive(signed({ borders, filter: { hashes: 16, bits: new Uint8Array(MAX_FILTER_BYTES) } }))).toHaveProperty('name');
    const bits = new Uint8Array(MAX_FILTER_BYTES + 1);
    expect(() => signed({ filter: { hashes: 1, bits } })).toThrow('filter.bits');
  });

  test('refuses bytes that are no summary, and one that another key signed', () => {
    expect(store.receive(Uint8Array.of(1, 2, 3))).toBe('malformed');
    expect(store.receive(signed({}, border, makeIdentity().privateKey))).toBe('forged');
    expect(store.names().size).toBe(0);
  });

  test('refuses one that is older than the newest of its signer, also after that one has expired', () => {
    const old = signed({ sequence: 4 });
    const newest = signed({ sequence: 5 });
    expect(store.receive(newest)).toHaveProperty('name');
    expect([store.receive(old), store.receive(newest)]).toEqual(['stale', 'stale']);
    clock.advance(2 * HOUR_MS);
    store.sweep();
    expect(store.names().size).toBe(0);
    expect([store.receive(old), store.receive(newest)]).toEqual(['stale', 'stale']);
    expect(store.receive(signed({ epoch: 2 }))).toHaveProperty('name');
  });

  test('refuses one that was made long ago or in the future, unless this hub does not know the time', () => {
    const times = [clock.now() - 4 * HOUR_MS, clock.now() + 2 * HOUR_MS];
    expect(times.map((timeMs) => store.receive(signed({ timeMs })))).toEqual(['outside_time', 'outside_time']);
    isTrusted = false;
    expect(times.map((timeMs, sequence) => store.receive(signed({ timeMs, sequence })))).toEqual([
      { name: expect.any(String) },
      { name: expect.any(String) },
    ]);
  });

  test('refuses one of a hub that is not of that site', () => {
    const neighbour = makeIdentity();
    const own = storeOf([neighbour]);
    expect(own.receive(signed({}, neighbour))).toBe('not_of_site');
    expect(own.receive(signed({ site: 'home' }))).toBe('not_of_site');
    expect(own.receive(signed({ site: 'home' }, neighbour))).toHaveProperty('name');
    expect(own.receive(signed({ borders: [{ id: neighbour.hubId, addresses: [] }] }))).toBe('not_a_border');
  });

  test('refuses one of a removed member, and forgets what it had signed', () => {
    expect(store.receive(signed())).toHaveProperty('name');
    authority.revoke(border.hubId);
    expect(store.receive(signed({ sequence: 2 }))).toBe('not_a_member');
    store.recheck();
    expect(store.others().size).toBe(0);
  });

  test('verifies signers without keeping their certificates', () => {
    const admit = vi.spyOn(authority, 'admit');
    expect(store.receive(signed())).toHaveProperty('name');
    store.recheck();
    expect([store.names().size, admit.mock.calls]).toEqual([1, []]);
  });

  test('refuses one with the certificate of another hub', () => {
    expect(store.receive(signed({ certificate: authority.certify(makeIdentity()) }))).toBe('not_a_member');
    expect(store.receive(signed({ certificate: new SimulatedAuthority().certify(border) }))).toBe('not_a_member');
  });

  test('keeps the summaries of a site when other members speak for it', () => {
    const liars = Array.from({ length: 6 }, () => makeIdentity());
    expect(store.receive(signed())).toHaveProperty('name');
    const results = liars.map((liar) => store.receive(signed({}, liar)));
    expect(results.filter((result) => result === 'too_many_sites')).toHaveLength(3);
    expect(store.receive(signed({ sequence: 2 }))).toHaveProperty('name');
    expect(store.borders().has(border.hubId)).toBe(true);
  });
});
