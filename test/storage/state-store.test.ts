import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { AuditLogFixture } from './storage-fixture.ts';

describe('small durable state', () => {
  test.each([[null], [false], [0], [''], ['ä\u{1f600}'], [[1, [2]]], [{ a: { b: [null] } }]])(
    '%j comes back as it was stored',
    async (value) => {
      await using fixture = new AuditLogFixture();
      const store = await fixture.state();
      store.set('space', 'key', value);
      expect(store.get('space', 'key')).toEqual(value);
    },
  );

  test('what was stored is there after a restart', async () => {
    await using fixture = new AuditLogFixture();
    const before = await fixture.state();
    before.set('agents', 'a', { n: 1 });
    await before[Symbol.asyncDispose]();
    expect((await fixture.state()).get('agents', 'a')).toEqual({ n: 1 });
  });

  test('spaces do not see each other, and entries are sorted by key', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('one', 'b', 2);
    store.set('one', 'a', 1);
    store.set('two', 'a', 3);
    expect(store.entries('one')).toEqual([
      { key: 'a', value: 1 },
      { key: 'b', value: 2 },
    ]);
    expect(store.entries('three')).toEqual([]);
  });

  test('the entries of a space follow each change of it, and the time to live of each', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    const entries = () => store.entries('s').map(({ key, value }) => `${key} ${value}`);
    store.set('s', 'a', 1, { ttlMs: 1000 });
    store.set('s', 'b', 2);
    expect(entries()).toEqual(['a 1', 'b 2']);
    store.set('s', 'b', 3);
    expect(entries()).toEqual(['a 1', 'b 3']);
    fixture.clock.advance(1000);
    expect(entries()).toEqual(['b 3']);
    store.delete('s', 'b');
    expect(entries()).toEqual([]);
    store.set('s', 'c', 'x'.repeat(20_000));
    expect(store.entries('s')).toHaveLength(1);
    store.set('s', 'c', 'y');
    expect(entries()).toEqual(['c y']);
  });

  test('a later value replaces the earlier one and its time to live', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('s', 'k', 1, { ttlMs: 10 });
    store.set('s', 'k', 2);
    fixture.clock.advance(60_000);
    expect(store.get('s', 'k')).toBe(2);
  });

  test('an entry ends with its time to live, everywhere, to the millisecond', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('s', 'k', 1, { ttlMs: 1000 });
    fixture.clock.advance(999);
    expect(store.get('s', 'k')).toBe(1);
    fixture.clock.advance(1);
    expect(store.get('s', 'k')).toBeUndefined();
    expect(store.entries('s')).toEqual([]);
    expect(store.delete('s', 'k')).toBe(false);
  });

  test('the sweep removes expired entries from the file and no others', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state({ sweepEveryMs: 60_000 });
    store.set('s', 'short', 'x'.repeat(1000), { ttlMs: 1000 });
    store.set('s', 'long', 1, { ttlMs: 3_600_000 });
    store.set('s', 'ever', 1);
    fixture.clock.advance(60_000);
    await store[Symbol.asyncDispose]();
    using database = new DatabaseSync(fixture.path('state.db'));
    expect(
      database
        .prepare('SELECT key FROM entry ORDER BY key')
        .all()
        .map((row) => row.key),
    ).toEqual(['ever', 'long']);
  });

  test('a deletion returns whether there was an entry', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('s', 'k', null);
    expect([store.delete('s', 'k'), store.delete('s', 'k')]).toEqual([true, false]);
    expect(store.get('s', 'k')).toBeUndefined();
  });

  test('a value beyond the bound is refused and the earlier one stays', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state({ maxValueBytes: 100 });
    store.set('s', 'k', 'small');
    expect(() => store.set('s', 'k', 'ä'.repeat(50))).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
    expect(store.get('s', 'k')).toBe('small');
  });

  test.each([
    ['', 'k'],
    ['s', ''],
    ['s', 'k'.repeat(257)],
    ['s', '\ud800'],
  ])('the name %j %j is refused', async (space, key) => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    expect(() => store.set(space, key, 1)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('a time to live of %d is refused', async (ttlMs) => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    expect(() => store.set('s', 'k', 1, { ttlMs })).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test('a stopped store throws SHUTTING_DOWN, and a second stop is harmless', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    await store[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    expect(() => store.get('s', 'k')).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }));
  });

  test('a file at its bound throws STORAGE_FAILED with the remedy, keeps its entries, and takes more once there is room', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state({ maxFileBytes: 64 * 1024 });
    let stored = 0;
    const fill = () => {
      for (; stored < 1000; stored++) store.set('s', `k${stored}`, 'x'.repeat(4000));
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining('Free space') }));
    expect(stored).toBeGreaterThan(3);
    expect(store.entries('s')).toHaveLength(stored);
    store.delete('s', 'k0');
    store.set('s', 'again', 'x'.repeat(3000));
    expect(store.get('s', 'again')).toHaveLength(3000);
  });
});
