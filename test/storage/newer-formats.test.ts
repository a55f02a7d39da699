import { existsSync, readdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { TRUST_SPACES } from '../../src/core/storage/key-value-store.ts';
import { AUDIT_MIGRATIONS } from '../../src/storage/audit/audit-database.ts';
import { type DatabaseOptions, type Migration, openChecked } from '../../src/storage/checked-database.ts';
import { HISTORY_MIGRATIONS } from '../../src/storage/history/history-writer.ts';
import { ENTRY_MIGRATIONS } from '../../src/storage/state-store.ts';
import { AuditFixture } from './audit-fixture.ts';
import { AuditLogFixture } from './storage-fixture.ts';

const [SPACE = ''] = TRUST_SPACES;
/** What a version that is not written yet does with the tables of this one. */
const NEXT: readonly Migration[] = [
  { script: 'ALTER TABLE entry ADD COLUMN owner TEXT', undo: 'ALTER TABLE entry DROP COLUMN owner' },
  { script: 'CREATE TABLE later (id INTEGER)', undo: 'DROP TABLE later' },
];

/** Opens a file as a version with these migrations does, and closes it. */
function runVersion(
  path: string,
  migrations: DatabaseOptions['migrations'],
  work: (database: DatabaseSync) => void = () => undefined,
): void {
  const form = { path, synchronous: 'FULL', pageSizeBytes: 4096, checkpointPages: 1000, maxBytes: 1_048_576, migrations } as const;
  const database = openChecked(form);
  work(database);
  database.close();
}

function formatOf(path: string): unknown {
  using database = new DatabaseSync(path);
  return database.prepare('PRAGMA user_version').get()?.user_version;
}

describe('a version that opens what a newer one has written', () => {
  test('keeps every entry, and never uses a number of a write again', async () => {
    await using fixture = new AuditLogFixture();
    const before = await fixture.state();
    before.set(SPACE, 'kept', { n: 1 });
    before.set(SPACE, 'revoked', true);
    before.set('agents', 'a', 1);
    await fixture.close();
    const path = fixture.path('state.db');
    runVersion(path, [...ENTRY_MIGRATIONS, ...NEXT], (database) => database.exec("UPDATE entry SET owner = 'ann'"));
    expect(formatOf(path)).toBe(ENTRY_MIGRATIONS.length + 2);

    const after = await fixture.state();
    expect([after.get(SPACE, 'kept'), after.get(SPACE, 'revoked'), after.get('agents', 'a')]).toEqual([{ n: 1 }, true, 1]);
    expect(fixture.warnings).toEqual([]);
    const generation = fixture.collaborators.fileAnchors.of('state.db').least()?.generation ?? 0;
    expect(generation).toBeGreaterThanOrEqual(3);
    after.set('agents', 'b', 2);
    expect(fixture.collaborators.fileAnchors.of('state.db').least()?.generation).toBe(generation + 1);
    await fixture.close();
    expect(formatOf(path)).toBe(ENTRY_MIGRATIONS.length);
  });

  test('goes on with the journal: each row is there and the chain is intact', async () => {
    await using fixture = new AuditFixture();
    const before = await fixture.open();
    for (const entry of [...fixture.call(), ...fixture.call()]) await before.record(entry);
    await fixture.close();
    const { seq } = before.head();
    runVersion(fixture.path, [...AUDIT_MIGRATIONS, ...NEXT]);
    const after = await fixture.open();
    expect(after.head().seq).toBeGreaterThan(seq);
    expect(await after.verify()).toMatchObject({ intact: true });
    expect(after.read({ limit: 100 }).filter(({ kind }) => kind === 'outcome')).toHaveLength(2);
  });

  test('refuses in words what came without an undo, and leaves it as it is', async () => {
    await using fixture = new AuditLogFixture();
    const path = fixture.path('other.db');
    runVersion(path, ['CREATE TABLE entry (id INTEGER)', 'CREATE TABLE more (id INTEGER)', ...NEXT.slice(1)]);
    expect(() => runVersion(path, ['CREATE TABLE entry (id INTEGER)'])).toThrow(
      'was written by a newer atmosphere-edge (format 3, this one knows 1) that left no way back. Install that version again',
    );
    expect(formatOf(path)).toBe(3);
  });

  test('takes all of it back or nothing', async () => {
    await using fixture = new AuditLogFixture();
    const path = fixture.path('other.db');
    const [first] = NEXT as [Migration];
    runVersion(path, ['CREATE TABLE entry (id INTEGER)', { script: 'CREATE TABLE more (id INTEGER)', undo: 'DROP TABLE nowhere' }, first]);
    expect(() => runVersion(path, ['CREATE TABLE entry (id INTEGER)'])).toThrow();
    expect(formatOf(path)).toBe(3);
    using database = new DatabaseSync(path);
    expect(database.prepare("SELECT count(*) AS columns FROM pragma_table_info('entry')").get()).toEqual({ columns: 2 });
  });
});

describe('a version that opens what an older one has written', () => {
  test('keeps a copy of the state as it was, and no copy of a file that it makes', async () => {
    await using fixture = new AuditLogFixture();
    const path = fixture.path('state.db');
    runVersion(path, ENTRY_MIGRATIONS.slice(0, 1), (database) => database.exec(`INSERT INTO entry VALUES ('s', 'k', '1', NULL)`));
    await fixture.state();
    await fixture.close();
    const copy = `${fixture.snapshotDirectory}/state.db.format-1`;
    using old = new DatabaseSync(copy, { readOnly: true });
    expect(old.prepare('SELECT space, key, value FROM entry').all()).toEqual([{ space: 's', key: 'k', value: '1' }]);
    expect(formatOf(path)).toBe(ENTRY_MIGRATIONS.length);
    await using other = new AuditLogFixture();
    await other.state();
    expect(existsSync(other.snapshotDirectory) ? readdirSync(other.snapshotDirectory) : []).toEqual([]);
  });
});

test('each format after those of the first release carries its undo', () => {
  const later = [ENTRY_MIGRATIONS.slice(2), AUDIT_MIGRATIONS.slice(1), HISTORY_MIGRATIONS.slice(2)].flat();
  expect(later.filter((migration) => typeof migration === 'string')).toEqual([]);
});
