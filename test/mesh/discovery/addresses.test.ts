import { describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import {
  type KnownAddresses,
  orderedAddresses,
  PeerAddressRegistry,
  PeerAddressStore,
} from '../../../src/mesh/discovery/peer-addresses.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const SELF = 'hub-0000000000000000' as HubId;
const PEER = 'hub-1111111111111111' as HubId;
const at = (host: string, port = 8082) => ({ host, port });

describe('the order of addresses', () => {
  test('takes turns between IPv6 and IPv4, ends a source with what is of one link, and names each once', () => {
    const seen = [at('10.0.0.1'), at('fe80::1%eth0'), at('10.0.0.2'), at('fd00::1')];
    const remembered = [at('192.168.0.1'), at('10.0.0.2')];
    expect(orderedAddresses([seen, remembered]).map(({ host }) => host)).toEqual([
      'fd00::1',
      '10.0.0.1',
      '10.0.0.2',
      'fe80::1%eth0',
      '192.168.0.1',
    ]);
  });

  test('names twelve at most', () => {
    expect(orderedAddresses([Array.from({ length: 40 }, (_, index) => at(`10.0.0.${index}`))])).toHaveLength(12);
  });
});

describe('remembered addresses', () => {
  const clock = new ManualClock();

  test('outlive a restart, the last one first, four of a hub', () => {
    const store = new MemoryKeyValueStore(clock);
    const before = new PeerAddressStore(store, clock);
    for (let last = 1; last < 7; last++) before.remember(PEER, at(`10.0.0.${last}`));
    before.remember(PEER, at('10.0.0.4'));
    const after = new PeerAddressStore(store, clock);
    expect(after.hubs()).toEqual([PEER]);
    expect(after.of(PEER)).toEqual([4, 6, 5, 3].map((last) => ({ ...at(`10.0.0.${last}`), expect: PEER })));
  });

  test('are written when they are new and once a day, not at each connection', () => {
    let writes = 0;
    const store = new MemoryKeyValueStore(clock);
    const counting = Object.assign(Object.create(store) as MemoryKeyValueStore, {
      entries: (space: string) => store.entries(space),
      set: () => {
        writes++;
      },
    });
    const remembered = new PeerAddressStore(counting, clock);
    for (let times = 0; times < 5; times++) remembered.remember(PEER, at('10.0.0.1'));
    expect(writes).toBe(1);
    clock.advance(86_400_000);
    remembered.remember(PEER, at('10.0.0.1'));
    expect(writes).toBe(2);
  });

  test('are those of 256 hubs at most, the oldest go, and damaged ones count as none', () => {
    const store = new MemoryKeyValueStore(clock);
    store.set('mesh-addresses', 'hub-damaged', ['what']);
    const remembered = new PeerAddressStore(store, clock);
    expect(remembered.of('hub-damaged' as HubId)).toEqual([]);
    for (let count = 0; count < 300; count++) {
      clock.advance(1);
      remembered.remember(`hub-${count}` as HubId, at('10.0.0.1'));
    }
    expect(store.entries('mesh-addresses')).toHaveLength(256);
    expect(remembered.hubs()).toContain('hub-299');
    expect(remembered.hubs()).not.toContain('hub-0');
  });
});

describe('the address book', () => {
  const clock = new ManualClock();
  function book(announced: readonly KnownAddresses[], barred: readonly HubId[] = []) {
    const remembered = new PeerAddressStore(new MemoryKeyValueStore(clock), clock);
    const own = () => new Set(['10.0.0.99:8082']);
    return {
      remembered,
      book: new PeerAddressRegistry({ self: SELF, remembered, announced: () => announced, own, isBarred: (id) => barred.includes(id) }),
    };
  }

  test('tries where a hub is seen, where the owner said, where it says it is, where it was', () => {
    const { book: pages, remembered } = book([{ id: PEER, addresses: ['10.0.0.3:8082', '[fe80::9]:8082', 'nonsense'] }]);
    remembered.remember(PEER, at('10.0.0.4'));
    pages.addConfigured(PEER, at('10.0.0.2'));
    pages.addDiscovered(PEER, [
      { ...at('10.0.0.1'), expect: PEER },
      { ...at('10.0.0.99'), expect: PEER },
    ]);
    expect(pages.addressesOf(PEER)).toEqual(['1', '2', '3', '4'].map((last) => ({ ...at(`10.0.0.${last}`), expect: PEER })));
    pages.removeDiscovered(PEER);
    expect(pages.addressesOf(PEER)[0]?.host).toBe('10.0.0.2');
  });

  test('tells hubs that are proven from hubs that were only seen, and never itself or one that was removed', () => {
    const barred = 'hub-2222222222222222' as HubId;
    const seen = 'hub-3333333333333333' as HubId;
    const { book: pages } = book(
      [PEER, SELF, barred].map((id) => ({ id, addresses: [] })),
      [barred],
    );
    for (const id of [seen, SELF, barred]) pages.addDiscovered(id, []);
    expect([...pages.proven()]).toEqual([PEER]);
    expect([...pages.all()]).toEqual([PEER, seen]);
  });
});
