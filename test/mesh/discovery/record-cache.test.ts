import { describe, expect, test } from 'vitest';
import type { AddressRecord, PtrRecord } from '../../../src/mesh/discovery/dns-message.ts';
import { RecordCache } from '../../../src/mesh/discovery/record-cache.ts';

const address = (data: string, ttlSeconds = 120): AddressRecord => ({ name: 'hub-a.local', type: 'A', ttlSeconds, isUnique: true, data });
const pointer: PtrRecord = { name: '_x._tcp.local', type: 'PTR', ttlSeconds: 100, isUnique: false, data: 'hub-a._x._tcp.local' };

describe('the record cache', () => {
  test('keeps a record for its time, whatever the case of its name', () => {
    const cache = new RecordCache();
    expect(cache.add(address('10.0.0.1'), 0)).toBe('added');
    expect(cache.of('HUB-A.local', 'A')).toHaveLength(1);
    expect(cache.of('hub-a.local', 'AAAA')).toEqual([]);
    expect(cache.expire(119_999)).toEqual([]);
    expect(cache.expire(120_000)).toEqual([address('10.0.0.1')]);
    expect(cache.of('hub-a.local', 'A')).toEqual([]);
  });

  test('asks again at 80, 85, 90 and 95 % of the time, once each', () => {
    const cache = new RecordCache();
    cache.add(pointer, 0);
    const askedAt: number[] = [];
    for (let ms = 0; ms < 100_000; ms += 1_000) if (cache.due(ms).length > 0) askedAt.push(ms);
    expect(askedAt).toEqual([80_000, 85_000, 90_000, 95_000]);
    expect(cache.add(pointer, 96_000)).toBe('refreshed');
    expect(cache.due(100_000)).toEqual([]);
    expect(cache.expire(195_999)).toEqual([]);
  });

  test('forgets a record one second after its goodbye, unless it comes back', () => {
    const cache = new RecordCache();
    expect(cache.add({ ...pointer, ttlSeconds: 0 }, 0)).toBe('ignored');
    cache.add(pointer, 0);
    expect(cache.add({ ...pointer, ttlSeconds: 0 }, 5_000)).toBe('withdrawn');
    expect(cache.expire(5_999)).toEqual([]);
    cache.add(pointer, 5_999);
    expect(cache.expire(6_000)).toEqual([]);
    cache.add({ ...pointer, ttlSeconds: 0 }, 7_000);
    expect(cache.expire(8_000)).toEqual([pointer]);
  });

  test('takes a set that its owner tells anew for the whole set', () => {
    const cache = new RecordCache();
    cache.add(address('10.0.0.1'), 0);
    cache.add(address('10.0.0.2'), 500);
    cache.add(address('10.0.0.3'), 1_200);
    expect(cache.expire(2_200).map(({ data }) => data)).toEqual(['10.0.0.1']);
    cache.add(pointer, 0);
    cache.add({ ...pointer, data: 'hub-b._x._tcp.local' }, 5_000);
    expect(cache.expire(50_000)).toEqual([]);
  });

  test('tells as known what has more than half its time left, and how much', () => {
    const cache = new RecordCache();
    cache.add(pointer, 0);
    expect(cache.known('_x._tcp.local', 40_000)).toEqual([{ ...pointer, ttlSeconds: 60 }]);
    expect(cache.known('_x._tcp.local', 50_000)).toEqual([]);
  });

  test('believes nothing for longer than a day and holds 4,096 records', () => {
    const cache = new RecordCache();
    cache.add({ ...pointer, ttlSeconds: 4_294_967_295 }, 0);
    expect(cache.expire(86_400_000)).toHaveLength(1);
    for (let index = 0; index < 5_000; index++) cache.add({ ...pointer, data: `hub-${index}` }, 0);
    expect(cache.of('_x._tcp.local', 'PTR')).toHaveLength(4_096);
    expect(cache.expire(100_000)).toHaveLength(4_096);
    expect(cache.add(pointer, 100_000)).toBe('added');
  });
});
