import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { SnapshotFolder } from '../../src/storage/snapshot-folder.ts';

test('the newest copy is the one taken last, also when the clock was years ahead before', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'snapshots-'));
  try {
    using database = new DatabaseSync(join(directory, 'state.db'));
    database.exec('CREATE TABLE entry (n INTEGER)');
    const folder = new SnapshotFolder(directory, 'state.db', 2);
    const fromTheFuture = Date.UTC(2099, 0, 1);
    for (const nowMs of [fromTheFuture, fromTheFuture + 1, 5_000, 6_000]) {
      database.exec('INSERT INTO entry VALUES (1)');
      await folder.take(database, nowMs);
    }
    expect(folder.list()).toHaveLength(2);
    using newest = new DatabaseSync(folder.newestSound(() => ({ generation: 0, digest: '' }))?.path ?? '', { readOnly: true });
    expect(newest.prepare('SELECT count(*) AS n FROM entry').get()?.n).toBe(4);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a copy that begins while a transaction is open is made when that is over', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'snapshots-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  using database = new DatabaseSync(join(directory, 'state.db'));
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; CREATE TABLE entry (n INTEGER)');
  const folder = new SnapshotFolder(directory, 'state.db', 2);
  database.exec('BEGIN IMMEDIATE; INSERT INTO entry VALUES (1)');
  const taking = folder.take(database, 1_000);
  // The other thread has its first step meanwhile, and is refused.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30);
  database.exec('COMMIT');
  using taken = new DatabaseSync((await taking).path, { readOnly: true });
  expect(taken.prepare('SELECT count(*) AS n FROM entry').get()?.n).toBe(1);
});
