import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { genesis, nextLink } from '../../../src/storage/audit/audit-chain.ts';
import type { AuditStore } from '../../../src/storage/audit/audit-store.ts';
import { AuditFixture } from '../audit-fixture.ts';

const COLUMNS = ['at', 'kind', 'agent', 'tokens', 'tool', 'request', 'trace', 'content', 'hash'] as const;

const REQUEST = '0b0e7d0a-2f5c-4c1e-9d7b-6a1f4e3c2d10';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

/** Changes one byte or digit of one column of one row. */
function changeByte(database: DatabaseSync, seq: number, column: string, { at, by }: { at: number; by: number }): void {
  const value = database.prepare(`SELECT ${column} AS value FROM entry WHERE seq = ?`).get(seq)?.value;
  database.prepare(`UPDATE entry SET ${column} = ? WHERE seq = ?`).run(changed(value, at, by), seq);
}

/** Puts a value into one column of one row; returns whether another value is stored then than before. */
function replaceColumn(
  database: DatabaseSync,
  { seq, column, value }: { readonly seq: number; readonly column: string; readonly value: SQLInputValue },
): boolean {
  const stored = () => database.prepare(`SELECT typeof(${column}) AS type, ${column} AS value FROM entry WHERE seq = ?`).get(seq);
  const before = stored();
  database.prepare(`UPDATE OR IGNORE entry SET ${column} = ? WHERE seq = ?`).run(value, seq);
  return !isDeepStrictEqual(before, stored());
}

function changed(value: unknown, at: number, by: number): string | number | Uint8Array {
  if (value === null || value === undefined) return 1;
  if (typeof value === 'number') return value + by;
  const bytes = value instanceof Uint8Array ? Uint8Array.from(value) : Buffer.from(String(value));
  const place = at % bytes.length;
  bytes[place] = ((bytes[place] ?? 0) + by) % 128;
  return value instanceof Uint8Array ? bytes : Buffer.from(bytes).toString();
}

/** A closed journal of ten calls; `after` says what a check finds once its file was changed. */
async function tamperedWith(change: (database: DatabaseSync) => void) {
  await using fixture = new AuditFixture();
  const store = await fixture.open();
  await fixture.fill(store, 10);
  const again = await fixture.edit(change);
  return {
    check: await again.verify(),
    warnings: fixture.warnings(),
    notes: again.read({ limit: 5, kind: 'note' }),
    rows: again.read({ limit: 30 }),
  };
}

describe('a check of the chain', () => {
  test('finds nothing in a journal that nobody touched', async () => {
    expect(await tamperedWith(() => {})).toMatchObject({ check: { intact: true, rows: 22 }, warnings: [] });
  });

  test('finds a byte that was changed in any column of any row, and names the row', async () => {
    const place = fc.record({ seq: fc.integer({ min: 2, max: 21 }), column: fc.constantFrom(...COLUMNS), at: fc.nat(600) });
    await fc.assert(
      fc.asyncProperty(place, fc.integer({ min: 1, max: 127 }), async ({ seq, column, at }, by) => {
        const { check, warnings } = await tamperedWith((database) => changeByte(database, seq, column, { at, by }));
        expect(check).toMatchObject({ intact: false, problem: { seq } });
        expect(warnings).toContain('audit.log_damaged');
      }),
      { numRuns: 25 },
    );
  });

  test('finds what no hub would write in any column, and the rows can still be read', async () => {
    let tried = 0;
    for (const column of COLUMNS) {
      for (const value of ['{', '5', '', 1e300, -1, null, new Uint8Array([255])]) {
        let isChanged = false;
        const { check, rows } = await tamperedWith((database) => {
          isChanged = replaceColumn(database, { seq: 8, column, value });
        });
        expect(rows.map(({ seq }) => seq)).toContain(8);
        expect(check, `${column} = ${value}`).toMatchObject(isChanged ? { intact: false, problem: { seq: 8 } } : { intact: true });
        if (isChanged) tried++;
      }
    }
    expect(tried).toBeGreaterThan(COLUMNS.length * 5);
  });

  test.each([
    ['at', "'0x' || printf('%x', at)"],
    ['kind', "''"],
    ['kind', "x''"],
    ['request', `'${REQUEST}'`],
    ['trace', `'${TRACE}'`],
    ['trace', `x'01${TRACE}'`],
  ])('finds in %s what reads the same and a query would not find: %s', async (column, value) => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await Promise.all(fixture.call({ requestId: REQUEST, traceId: TRACE }).map((entry) => store.record(entry)));
    await fixture.fill(store, 3);
    expect(await store.verify()).toMatchObject({ intact: true });
    const again = await fixture.edit((database) => database.exec(`UPDATE entry SET ${column} = ${value} WHERE seq = 2`));
    expect(await again.verify()).toMatchObject({ intact: false, problem: { seq: 2 } });
  });

  test('says which note was replaced by what is no JSON, also if its hash was made to fit', async () => {
    for (const content of ['x', 'null', '[]']) {
      await using fixture = new AuditFixture();
      const store = await fixture.open();
      await fixture.fill(store, 10);
      const [began] = store.read({ limit: 30, kind: 'note' }).slice(-1);
      const { seq = 0, at = '', hub = '' } = began ?? {};
      const fields = { kind: 'note' as const, atMs: Date.parse(at), content };
      const { hash } = nextLink({ seq: seq - 1, hash: genesis(hub).hash }, hub, fields);
      const again = await fixture.edit((database) =>
        database.prepare('UPDATE entry SET content = ?, hash = ? WHERE seq = ?').run(content, Buffer.from(hash, 'hex'), seq),
      );
      expect(await again.verify()).toMatchObject({ intact: false, problem: { seq } });
    }
  });

  test('finds a changed word, in every row that uses it', async () => {
    const { check } = await tamperedWith((database) => database.exec("UPDATE word SET text = 'other-bot' WHERE text = 'lamp-bot'"));
    expect(check).toMatchObject({ intact: false, problem: { seq: 2 } });
  });

  test.each([
    [
      'changed',
      8,
      'itself was changed',
      "UPDATE entry SET content = replace(content, '40', '99') WHERE content LIKE '%params%' AND seq > 6",
    ],
    ['removed from the middle', 8, 'the rows 8 to 9 were removed', 'DELETE FROM entry WHERE seq IN (8, 9)'],
    ['exchanged', 8, 'does not follow', 'UPDATE entry SET seq = -seq WHERE seq IN (8, 10); UPDATE entry SET seq = 18 + seq WHERE seq < 0'],
    ['cut off at the end', 19, 'the rows 19 to 21 were cut off', 'DELETE FROM entry WHERE seq > 18'],
    ['removed from the beginning', 1, 'the rows 1 to 5 were removed', 'DELETE FROM entry WHERE seq < 6'],
    [
      'inserted',
      12,
      'does not follow',
      'UPDATE entry SET seq = -seq - 1 WHERE seq >= 12; UPDATE entry SET seq = -seq WHERE seq < 0; INSERT INTO entry SELECT 12, at, kind, agent, tokens, tool, request, trace, content, hash FROM entry WHERE seq = 5',
    ],
    [
      'appended',
      22,
      'put in',
      'INSERT INTO entry SELECT 22, at, kind, agent, tokens, tool, request, trace, content, hash FROM entry WHERE seq = 20',
    ],
  ])('says of rows that were %s where it begins and why', async (_name, seq, reason, sql) => {
    const { check, warnings } = await tamperedWith((database) => database.exec(sql));
    expect(check).toMatchObject({ intact: false, problem: { seq, reason: expect.stringContaining(reason) } });
    expect(warnings.length).toBeGreaterThan(0);
  });

  test('finds that old rows are gone which the hub has not given up', async () => {
    const { check } = await tamperedWith((database) => {
      database.exec('UPDATE chain SET pruned_seq = 5, pruned_hash = (SELECT hash FROM entry WHERE seq = 5)');
      database.exec('DELETE FROM entry WHERE seq < 6');
    });
    expect(check).toMatchObject({ intact: false, problem: { seq: 6, reason: expect.stringContaining('not by the hub') } });
  });

  test('still finds a truncation from before a restart', async () => {
    await using fixture = new AuditFixture();
    await fixture.fill(await fixture.open(), 10);
    await fixture.edit((database) => database.exec('DELETE FROM entry WHERE seq > 18'));
    expect(fixture.warnings()).toEqual(['storage.database_outdated', 'audit.log_truncated']);
    await fixture.close();
    const store = await fixture.open();
    await fixture.fill(store, 10);
    expect(await store.verify()).toMatchObject({
      intact: false,
      problem: { reason: expect.stringContaining('rows 19 to 21 were cut off') },
    });
    expect(fixture.warnings()).toEqual(['storage.database_outdated', 'audit.log_truncated']);
  });

  test('says of calls whose outcome was cut off that it is not known', async () => {
    await using fixture = new AuditFixture();
    await fixture.fill(await fixture.open(), 10);
    const store = await fixture.edit((database) => database.exec('DELETE FROM entry WHERE seq > 18'));
    const [unknown] = store.read({ kind: 'outcome', limit: 1 });
    expect([unknown?.request, unknown?.content.error]).toEqual(['request-9', 'OUTCOME_UNKNOWN']);
  });

  test('reports nothing about an audit log that is closed before the check', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await fixture.fill(store, 3);
    const check = store.verify({ seq: 2, hash: 'f'.repeat(64) });
    const told = expect(check).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await fixture.close();
    await told;
  });

  test('misses a journal that was taken away as a whole', async () => {
    await using fixture = new AuditFixture();
    await fixture.fill(await fixture.open(), 3);
    const store = await fixture.edit((database) => database.exec('DELETE FROM entry; DELETE FROM chain'));
    expect(fixture.warnings()).toEqual(['storage.database_outdated', 'audit.log_truncated']);
    expect((await store.verify()).intact).toBe(false);
  });

  test('notices the journal of another hub', async () => {
    await using fixture = new AuditFixture();
    await fixture.open();
    await fixture.close();
    const store = await fixture.open({ hubId: 'hub-ffffffffffffffff' });
    expect(fixture.warnings()).toEqual(['audit.log_replaced']);
    expect((await store.verify()).intact).toBe(false);
  });
});

describe('a head that was kept elsewhere', () => {
  test('fits the journal that it was taken from, also when more was written', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await fixture.fill(store, 3);
    const head = store.head();
    await fixture.fill(store, 3);
    expect(await store.verify(head)).toMatchObject({ intact: true, rows: 13 });
  });

  test('does not fit one that was cut off or written anew', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await fixture.fill(store, 3);
    const { seq, hash } = store.head();
    expect(await store.verify({ seq: seq + 5, hash })).toMatchObject({
      intact: false,
      problem: { seq: seq + 1, reason: expect.stringContaining('cut off') },
    });
    expect(await store.verify({ seq: 4, hash })).toMatchObject({
      intact: false,
      problem: { seq: 4, reason: expect.stringContaining('rewritten') },
    });
  });
});

describe('rows beyond the thousand that a start looks at', () => {
  /** A journal of 1,202 rows with a change in it; moves time on until everything was looked at. */
  async function lookedThrough(fixture: AuditFixture, change: string): Promise<AuditStore> {
    await fixture.fill(await fixture.open(), 600);
    const store = await fixture.edit((database) => database.exec(change));
    expect(fixture.warnings()).toEqual([]);
    for (let pauses = 0; pauses < 30; pauses++) {
      fixture.journal.clock.advance(60_000);
      await nextTurn();
    }
    return store;
  }

  test('are looked at while the hub runs, and what is wrong with them is a problem of the hub', async () => {
    await using fixture = new AuditFixture();
    await lookedThrough(fixture, "UPDATE entry SET content = replace(content, '40', '99') WHERE seq = 4");
    expect(fixture.warnings()).toEqual(['audit.log_damaged']);
    expect(fixture.journal.collaborators.problems.list()).toEqual([expect.stringMatching(/audit log is not intact: .*atmo audit verify/)]);
  });

  test('are no problem when they are intact, nor when the audit log has noted the loss already', async () => {
    await using fixture = new AuditFixture();
    await fixture.fill(await fixture.open(), 10);
    await fixture.edit((database) => database.exec('DELETE FROM entry WHERE seq > 15'));
    expect(fixture.warnings()).toContain('audit.log_truncated');
    await fixture.close();
    fixture.journal.warnings.splice(0);
    fixture.journal.collaborators.problems.clear('audit chain');
    fixture.journal.collaborators.problems.clear('audit.db');
    const store = await lookedThrough(fixture, 'SELECT 1');
    expect([fixture.warnings(), fixture.journal.collaborators.problems.list()]).toEqual([[], []]);
    expect(await store.verify()).toMatchObject({ intact: false, problem: { reason: expect.stringContaining('cut off') } });
  });

  test('do not keep a hub that stops', async () => {
    await using fixture = new AuditFixture();
    await fixture.fill(await fixture.open(), 600);
    await fixture.close();
    await fixture.open();
    fixture.journal.clock.advance(60_000);
    await fixture.close();
    expect(fixture.warnings()).toEqual([]);
  });
});
