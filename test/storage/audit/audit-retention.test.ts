import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { oldestToPrune } from '../../../src/storage/audit/audit-database.ts';
import { AuditFront } from '../../../src/storage/audit/audit-front.ts';
import { WalSync } from '../../../src/storage/audit/audit-store.ts';
import { AuditFixture } from '../audit-fixture.ts';

const DAY_MS = 86_400_000;

async function fillFast(fixture: AuditFixture, store: Awaited<ReturnType<AuditFixture['open']>>, calls: number): Promise<void> {
  await Promise.all(Array.from({ length: calls }, () => fixture.call()).flatMap((entries) => entries.map((entry) => store.record(entry))));
}

describe('what is kept', () => {
  test('old rows are pruned in slices, the rest still verifies, and the chain has a note', async () => {
    await using fixture = new AuditFixture();
    const first = await fixture.open();
    await fillFast(fixture, first, 1_300);
    const old = first.head();
    await fixture.close();
    fixture.journal.clock.advance(31 * DAY_MS);
    const store = await fixture.open({ keepDays: 30 });
    await fillFast(fixture, store, 700);
    await store.prune();
    expect(store.read({ limit: 1, kind: 'note' })[0]?.content).toMatchObject({ event: 'audit.pruned', data: { until_seq: 2601 } });
    expect(await store.verify()).toMatchObject({ intact: true, rows: 1 + 1_400 + 3 });
    expect(await store.verify(old)).toMatchObject({ intact: true });
    expect(await store.verify({ seq: 5, hash: old.hash })).toMatchObject({
      problem: { reason: expect.stringContaining('no longer be compared') },
    });
    await fixture.close();
    expect(await (await fixture.open()).verify()).toMatchObject({ intact: true });
    expect(fixture.warnings()).toEqual([]);
  });

  test('the oldest rows go when the file is too large, the newest thousand stay in any case', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open({ maxBytes: 400_000 });
    await fillFast(fixture, store, 2_000);
    await store.prune();
    const { rows } = await store.verify();
    expect(rows).toBeGreaterThan(999);
    expect(rows).toBeLessThan(2_100);
  });

  test('is looked at every hour where nothing is written', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const prune = vi.spyOn(store, 'prune');
    const sync = vi.spyOn(WalSync.prototype, 'now').mockResolvedValue();
    const pass = async (minutes: number) => {
      for (let step = 0; step < minutes * 6; step++) {
        fixture.journal.clock.advance(10_000);
        await nextTurn();
      }
      return prune.mock.calls.length;
    };
    const before = await pass(1);
    expect([await pass(58), await pass(2), await pass(58)]).toEqual([before, before + 1, before + 1]);
    sync.mockRestore();
  });

  test('the look for rows to prune, which comes every ten seconds, does not read the whole table', async () => {
    await using fixture = new AuditFixture();
    await fillFast(fixture, await fixture.open(), 1_300);
    await fixture.close();
    using database = new DatabaseSync(fixture.path);
    const prepared = vi.spyOn(database, 'prepare');
    expect(oldestToPrune((sql) => database.prepare(sql), { maxBytes: 1e9, olderThanMs: 0 })).toBeUndefined();
    const queries = prepared.mock.calls.map(([sql]) => sql).filter((sql) => sql.startsWith('SELECT'));
    expect(queries.length).toBeGreaterThan(1);
    const plans = queries.flatMap((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...sql.matchAll(/\?/g).map(() => 0)));
    expect(plans.filter(({ detail }) => String(detail).startsWith('SCAN entry'))).toEqual([]);
  });
});

describe('reading', () => {
  test('filters by time, agent, tool, request, trace and kind, newest first, across many blocks', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const startMs = fixture.journal.clock.now();
    for (let hour = 0; hour < 6; hour++) {
      await fillFast(fixture, store, 200);
      const [intent, outcome] = fixture.call({ requestId: `rare-${hour}`, toolId: `x:rare_${hour}@1.0.0` });
      await store.record(intent);
      await store.record({ ...outcome, kind: 'refusal' });
      fixture.journal.clock.advance(3_600_000);
    }
    expect(store.read({ request: 'rare-2', limit: 10 }).map(({ kind }) => kind)).toEqual(['refusal', 'intent']);
    expect(store.read({ tool: 'x:rare_4@1.0.0', limit: 10 })).toHaveLength(2);
    expect(store.read({ agent: 'nobody', limit: 10 })).toEqual([]);
    expect(store.read({ kind: 'refusal', limit: 10 }).map(({ request }) => request)).toEqual([5, 4, 3, 2, 1, 0].map((n) => `rare-${n}`));
    const hour = store.read({ sinceMs: startMs + 3_600_000, untilMs: startMs + 3_600_000, limit: 1_000 });
    expect(hour).toHaveLength(402);
    const seqs = hour.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
    const [intent] = fixture.call({ requestId: 'traced', traceId: 'trace-of-one' });
    await store.record({ ...intent, before: { lamp: { '1/OnOff/OnOff': false } } });
    expect(store.read({ trace: 'trace-of-one', limit: 10 }).map(({ content }) => content.before)).toEqual([
      { lamp: { '1/OnOff/OnOff': false } },
    ]);
    expect(store.read({ before: 5, limit: 2 }).map(({ seq }) => seq)).toEqual([4, 3]);
  });
});

describe('the calls that touched a device', () => {
  test('and those of a trace are found across many blocks, also in blocks of earlier versions and in a damaged row', async () => {
    await using fixture = new AuditFixture();
    const first = await fixture.open();
    const touching = (requestId: string, device: string) => {
      const effects = [{ permission: `device:control:${device}`, risk: 'low', target: `${device}/1/OnOff/On`, device }] as never;
      return fixture.call({ requestId, effects, before: { [device]: { '1/OnOff/OnOff': false } } })[0];
    };
    await first.record(touching('hall-1', 'hall'));
    await fillFast(fixture, first, 200);
    await first.record(touching('hall-2', 'hall'));
    await first.record(touching('attic-1', 'attic'));
    const { seq } = first.head();
    await fillFast(fixture, first, 300);
    await first.record(touching('hall-3', 'hall'));
    const found = (store: typeof first) => store.read({ devices: ['hall'], limit: 10 }).map(({ request }) => request);
    expect(found(first)).toEqual(['hall-3', 'hall-2', 'hall-1']);
    expect(first.read({ devices: ['hall'], after: seq, limit: 10 }).map(({ request }) => request)).toEqual(['hall-3']);
    expect(first.read({ trace: 'trace-hall-2', limit: 10 })).toHaveLength(1);
    // An earlier version wrote only the keys of agents, tools and requests.
    const earlier = await fixture.edit((database) => {
      database.exec("UPDATE block SET keys = x''; UPDATE entry SET content = '{' WHERE seq = 4");
    });
    expect(earlier.read({ trace: 'trace-hall-2', kind: 'intent', limit: 10 })).toHaveLength(1);
    expect(found(earlier)).toEqual(['hall-3', 'hall-2', 'hall-1']);
  });

  test('are named in a block by the keys that files of earlier builds have too', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const traceId = '0123456789abcdef0123456789abcdef';
    const [intent] = fixture.call({ requestId: 'request-1', traceId });
    await store.record({ ...intent, effects: intent.effects.map((effect) => ({ ...effect, device: parseDeviceId('lamp') })) });
    await store.record({ ...intent, before: { lamp: { '1/OnOff/OnOff': 'x'.repeat(100_000) } } });
    for (let row = 0; row < 300; row++) await store.record(fixture.note('filler'));
    store.read({ limit: 1 });
    await fixture.close();
    using database = new DatabaseSync(fixture.path);
    const { keys } = database.prepare('SELECT keys FROM block').get() ?? {};
    const bytes = Uint8Array.from(keys as Uint8Array);
    const names = ['lamp-bot', 'matter:lamp_turn_on@1.0.0', 'request-1', traceId].map((name, index) => crc32(name, index + 1));
    expect([...new Uint32Array(bytes.buffer)].sort()).toEqual([...names, crc32('', 4), crc32('lamp', 5), crc32('', 5)].sort());
  });

  test('are looked for only in blocks that name the device or the trace', async () => {
    await using fixture = new AuditFixture();
    await fillFast(fixture, await fixture.open(), 300);
    const trace = 'moved-to-a-block-without-it';
    const store = await fixture.edit((database) => database.prepare('UPDATE entry SET trace = ? WHERE seq = 9').run(trace));
    expect(store.read({ trace, limit: 10 })).toEqual([]);
  });
});

describe('a disk that refuses', () => {
  test('fails every waiting entry, and the audit log resumes by itself and notes the number of missing rows', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const append = vi.spyOn(AuditFront.prototype, 'append').mockImplementation(() => {
      throw new AtmoError('STORAGE_FAILED', 'the disk is full');
    });
    const lost = await Promise.allSettled([1, 2, 3].map((n) => store.record(fixture.note('n', { n }))));
    append.mockRestore();
    expect(lost.map((entry) => entry.status === 'rejected' && entry.reason.code)).toEqual(Array(3).fill('STORAGE_FAILED'));
    await store.record(fixture.note('again'));
    expect(store.read({ limit: 2 }).map(({ content }) => content)).toEqual([
      { event: 'again', data: {} },
      { event: 'audit.resumed', data: { not_written: 3 } },
    ]);
    expect(await store.verify()).toMatchObject({ intact: true });
    expect(fixture.warnings()).toEqual(['audit.rows_not_written']);
  });
});
