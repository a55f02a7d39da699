import { appendFileSync, copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { AuditWriter } from '../../../src/storage/audit/audit-database.ts';
import { AuditFront } from '../../../src/storage/audit/audit-front.ts';
import type { AuditStore } from '../../../src/storage/audit/audit-store.ts';
import { SqliteFile } from '../../../src/storage/sqlite-file.ts';
import { AuditFixture } from '../audit-fixture.ts';
import { smallWrites } from '../small-writes.ts';

/** A journal of five calls of which the last three are in the front only, as a kill leaves it; `change` is made to the front then. */
async function killed(fixture: AuditFixture, change: (front: string) => void): Promise<AuditStore> {
  const front = fixture.journal.path('audit.front');
  const store = await fixture.open();
  await fixture.fill(store, 2);
  store.read({ limit: 1 });
  await fixture.fill(store, 3);
  copyFileSync(front, `${front}.kept`);
  // What a kill takes away: the commit at the end.
  const commit = vi.spyOn(AuditWriter.prototype, 'insert').mockImplementation(() => {
    throw new AtmoError('STORAGE_FAILED', 'killed');
  });
  await fixture.close();
  commit.mockRestore();
  fixture.journal.warnings.splice(0);
  expect(readFileSync(front)).toEqual(readFileSync(`${front}.kept`));
  rmSync(`${front}.kept`);
  change(front);
  return await fixture.open();
}

function changeLines(front: string, change: (lines: readonly string[]) => readonly string[]): void {
  writeFileSync(front, change(readFileSync(front, 'utf8').split('\n')).join('\n'));
}

function changeLine(front: string, index: number, change: (line: string) => string): void {
  changeLines(front, (lines) => lines.map((line, at) => (at === index ? change(line) : line)));
}

/** Rows before the note of the second start: eleven, when nothing of the five calls is missing. */
function keptRows(store: AuditStore): number {
  return store.read({ limit: 100 }).filter(({ kind, content }) => kind !== 'note' && content.error === undefined).length + 1;
}

function asideFiles(fixture: AuditFixture): readonly string[] {
  return readdirSync(fixture.journal.directory).filter((name) => name.startsWith('audit.front.damaged-'));
}

describe('the front of the journal', () => {
  test('gives a start the rows that were acknowledged and not committed', async () => {
    await using fixture = new AuditFixture();
    const store = await killed(fixture, (front) => expect(statSync(front).mode & 0o777).toBe(0o600));
    expect(keptRows(store)).toBe(11);
    expect(await store.verify()).toMatchObject({ intact: true, rows: 12 });
    expect(fixture.warnings()).toEqual([]);
  });

  test('loses only the end of an interrupted write, which no caller saw succeed', async () => {
    await using fixture = new AuditFixture();
    const store = await killed(fixture, (front) => appendFileSync(front, readFileSync(front, 'utf8').slice(0, 70)));
    expect(keptRows(store)).toBe(11);
    expect(await store.verify()).toMatchObject({ intact: true, rows: 12 });
    expect(fixture.warnings()).toEqual([]);
  });

  test('may hold rows that are committed already, after a kill in the middle of a move', async () => {
    await using fixture = new AuditFixture();
    const front = fixture.journal.path('audit.front');
    const store = await fixture.open();
    await fixture.fill(store, 3);
    copyFileSync(front, `${front}.kept`);
    await fixture.close();
    expect(statSync(front).size).toBe(0);
    copyFileSync(`${front}.kept`, front);
    const again = await fixture.open();
    expect(await again.verify()).toMatchObject({ intact: true, rows: 8 });
    expect(fixture.warnings()).toEqual([]);
  });

  test.each([
    ['edited', 8, 2, (front: string) => changeLine(front, 2, (line) => line.replace('"level":40', '"level":99'))],
    ['robbed of a row', 8, 2, (front: string) => changeLines(front, (lines) => lines.toSpliced(2, 1))],
    ['robbed of its beginning', 6, 0, (front: string) => changeLines(front, (lines) => lines.slice(1))],
    ['sorted anew', 7, 1, (front: string) => changeLines(front, ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest])],
    ['given another number', 8, 2, (front: string) => changeLine(front, 2, (line) => line.replace('[8,', '[9,'))],
    ['written over', 6, 0, (front: string) => writeFileSync(front, 'nothing of a journal\n')],
  ])('that was %s is told and put aside, what is before stays', async (_what, seq, taken, change) => {
    await using fixture = new AuditFixture();
    const store = await killed(fixture, change);
    expect(keptRows(store)).toBe(5 + taken);
    expect(fixture.warnings()).toEqual(['audit.log_damaged']);
    expect(await store.verify()).toMatchObject({ intact: false, problem: { seq, reason: expect.stringContaining('renamed to') } });
    expect(asideFiles(fixture)).toHaveLength(1);
    await fixture.fill(store, 1);
    await fixture.close();
    await fixture.open();
    expect(fixture.warnings()).toEqual(['audit.log_damaged']);
  });

  test('that was put aside is followed by a new one, of which nothing is missed after a kill', async () => {
    await using fixture = new AuditFixture();
    const { insert } = AuditWriter.prototype;
    let commits = 0;
    await killed(fixture, (front) => {
      changeLine(front, 2, (line) => line.replace('"level":40', '"level":99'));
      // The rows before the mistake are committed, those of this start are not.
      vi.spyOn(AuditWriter.prototype, 'insert').mockImplementation(function onlyOnce(this: AuditWriter, rows) {
        if (commits++ > 0) throw new AtmoError('STORAGE_FAILED', 'killed');
        return Reflect.apply(insert, this, [rows]);
      });
    });
    expect(fixture.warnings()).toContain('audit.log_damaged');
    await fixture.close();
    vi.restoreAllMocks();
    fixture.journal.warnings.splice(0);
    const store = await fixture.open();
    expect(fixture.warnings()).toEqual([]);
    expect(store.read({ kind: 'note', limit: 10 }).map(({ content }) => content.event)).toContain('audit.lost');
  });

  test('holds rows that are not missed where audit.db is from before and takes nothing', async () => {
    await using fixture = new AuditFixture();
    const front = fixture.journal.path('audit.front');
    const store = await fixture.open();
    await fixture.fill(store, 2);
    store.read({ limit: 1 });
    await store.snapshot();
    copyFileSync(fixture.path, `${fixture.path}.before`);
    await fixture.fill(store, 3);
    copyFileSync(front, `${front}.kept`);
    await fixture.close();
    copyFileSync(`${fixture.path}.before`, fixture.path);
    copyFileSync(`${front}.kept`, front);
    const commit = vi.spyOn(AuditWriter.prototype, 'insert').mockImplementation(() => {
      throw new AtmoError('STORAGE_FAILED', 'full');
    });
    await fixture.open();
    commit.mockRestore();
    expect(fixture.warnings().filter((warning) => String(warning).startsWith('audit.log_'))).toEqual([]);
  });

  test('of committed rows that were changed since is reported', async () => {
    await using fixture = new AuditFixture();
    const front = fixture.journal.path('audit.front');
    const store = await fixture.open();
    await fixture.fill(store, 3);
    copyFileSync(front, `${front}.kept`);
    await fixture.edit((database) => {
      copyFileSync(`${front}.kept`, front);
      database.exec("UPDATE entry SET content = '{}', hash = x'00' WHERE seq = 3");
    });
    expect(fixture.warnings()).toContain('audit.log_damaged');
    expect(asideFiles(fixture)).toHaveLength(1);
  });

  test('that was taken away after a kill is missed, from the first row on; after a clean stop it held nothing', async () => {
    await using fixture = new AuditFixture();
    const store = await killed(fixture, (front) => rmSync(front));
    expect(keptRows(store)).toBe(5);
    expect(fixture.warnings()).toEqual(['audit.log_truncated']);
    expect(await store.verify()).toMatchObject({ intact: false, problem: { reason: expect.stringContaining('were cut off') } });
    await fixture.close();
    rmSync(fixture.journal.path('audit.front'));
    await fixture.open();
    expect(fixture.warnings()).toEqual(['audit.log_truncated']);
  });

  test('deleted together with an older audit.db is reported as cut off', async () => {
    await using fixture = new AuditFixture();
    await fixture.fill(await fixture.open(), 3);
    await fixture.close();
    copyFileSync(fixture.path, `${fixture.path}.before`);
    await fixture.fill(await fixture.open(), 3);
    await fixture.close();
    copyFileSync(`${fixture.path}.before`, fixture.path);
    rmSync(fixture.journal.path('audit.front'));
    await fixture.open();
    expect(fixture.warnings()).toEqual(['storage.database_outdated', 'audit.log_truncated']);
  });
});

test('a disk that takes a part of a line is given the rest; one that takes no more fails the line, which is not read back', async () => {
  await using fixture = new AuditFixture();
  const { takes, write } = smallWrites();
  const path = fixture.journal.path('audit.front');
  const front = new AuditFront(path, write);
  takes.push(3, 2);
  front.append('the first line\n');
  takes.push(4, 0);
  expect(() => front.append('the second line\n')).toThrow(
    expect.objectContaining({ code: 'STORAGE_FAILED', details: { path, cause: 'full' } }),
  );
  expect(new AuditFront(path).read()).toEqual(['the first line']);
  front.append('the third line\n');
  expect(new AuditFront(path).read()).toEqual(['the first line', 'the third line']);
  front.close();
});

describe('a database that refuses while the front goes on', () => {
  test('keeps acknowledged rows in the front, fails what has to be on the disk, and takes all once it can', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const commit = vi.spyOn(SqliteFile.prototype, 'transaction').mockImplementation(() => {
      throw new AtmoError('STORAGE_FAILED', 'the disk is full');
    });
    await fixture.fill(store, 2);
    await expect(store.record(fixture.call({ mustSync: true })[0])).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(() => store.read({ limit: 1 })).toThrow('the disk is full');
    const head = store.head();
    commit.mockRestore();
    expect(await store.verify(head)).toMatchObject({ intact: true, rows: 6 });
    expect(statSync(fixture.journal.path('audit.front')).size).toBe(0);
  });

  test('is asked again before the front grows beyond its bound, and then rows fail', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const commit = vi.spyOn(SqliteFile.prototype, 'transaction').mockImplementation(() => {
      throw new AtmoError('STORAGE_FAILED', 'the disk is full', { cause: 'full' });
    });
    const filled = fixture.fill(store, 1_000);
    await expect(filled).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    const { problems } = fixture.journal.collaborators;
    expect(problems.list()).toEqual([expect.stringContaining('Calls are not written to the audit log: ')]);
    commit.mockRestore();
    expect(statSync(fixture.journal.path('audit.front')).size).toBeLessThan(200_000);
    await fixture.fill(store, 1);
    expect(problems.list()).toEqual([]);
    expect(await store.verify()).toMatchObject({ intact: true });
    expect(store.read({ limit: 1, kind: 'note' })[0]?.content).toMatchObject({ event: 'audit.resumed' });
  });
});
