import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { seededRandom } from '../seeded-random.ts';
import { Draw } from './draw.ts';
import { UnsyncedWrites } from './unsynced-writes.ts';

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed);
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atmo-unsynced-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The rows that a database has after a power cut, if the first one was synced and the second one was not. */
function rowsAfterCut(seed: number, synchronous: string): readonly unknown[] {
  const [before, after] = [join(folder, `before-${seed}`), join(folder, `after-${seed}`)];
  for (const made of [before, after]) mkdirSync(made);
  const path = join(before, 'kept.db');
  using database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; CREATE TABLE kept (row TEXT)`);
  const writes = new UnsyncedWrites(before);
  database.exec("INSERT INTO kept VALUES ('synced')");
  writes.synced(`${path}-wal`);
  database.exec("INSERT INTO kept VALUES ('not synced')");
  writes.lose(before, [database], new Draw(seededRandom(seed)));
  for (const name of ['kept.db', 'kept.db-wal']) copyFileSync(join(before, name), join(after, name));
  using found = new DatabaseSync(join(after, 'kept.db'));
  return found
    .prepare('SELECT row FROM kept')
    .all()
    .map(({ row }) => row);
}

describe('a simulated power cut', () => {
  test('may take rows of a database that were not synced, and takes no others', () => {
    const found = new Set(SEEDS.map((seed) => rowsAfterCut(seed, 'NORMAL').join()));
    expect([...found].toSorted()).toEqual(['synced', 'synced,not synced']);
  });

  test('takes nothing from a database that syncs each commit', () => {
    expect(new Set(SEEDS.map((seed) => rowsAfterCut(seed, 'FULL').join()))).toEqual(new Set(['synced,not synced']));
  });

  test('keeps a file that was synced, and may take what was written to it since', () => {
    const found = SEEDS.map((seed) => {
      const path = join(folder, 'file');
      writeFileSync(path, 'old');
      const writes = new UnsyncedWrites(folder);
      writeFileSync(path, 'synced');
      writes.synced(path);
      if (seed % 2 === 0) writeFileSync(path, 'newest');
      writes.lose(folder, [], new Draw(seededRandom(seed)));
      return `${seed % 2} ${readFileSync(path, 'utf8')}`;
    });
    expect(new Set(found)).toEqual(new Set(['0 synced', '0 newest', '1 synced']));
  });

  test('may take a new name back until its folder is synced', () => {
    const isThere = (seed: number, syncs: readonly string[]): boolean => {
      const [partial, path] = [join(folder, 'partial'), join(folder, 'name')];
      rmSync(path, { force: true });
      const writes = new UnsyncedWrites(folder);
      writeFileSync(partial, 'content');
      writes.synced(partial);
      writes.renames(partial, path);
      renameSync(partial, path);
      for (const synced of syncs) writes.synced(synced);
      writes.lose(folder, [], new Draw(seededRandom(seed)));
      return existsSync(path);
    };
    expect(new Set(SEEDS.map((seed) => isThere(seed, [])))).toEqual(new Set([true, false]));
    expect(new Set(SEEDS.map((seed) => isThere(seed, [folder])))).toEqual(new Set([true]));
  });
});
