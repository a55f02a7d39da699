import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BatchStorageDriver, openMatterDatabase } from '../../../src/matter/storage/matter-database.ts';

let dir: string;
let driver: BatchStorageDriver;
let database: ReturnType<typeof openMatterDatabase>;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'driver-'));
  driver = new BatchStorageDriver({
    namespaceOrPath: join(dir, 'storage.db'),
    databaseCreator(path) {
      database = openMatterDatabase(path);
      return database;
    },
  });
  await driver.initialize();
});
afterEach(async () => {
  await driver.close();
  rmSync(dir, { recursive: true });
});

test('two concurrent transactions are both written', () => {
  const first = driver.begin();
  const second = driver.begin();
  first.set(['a'], { x: 1, y: 2 });
  second.set(['a'], 'z', 3);
  second.commit();
  first.commit();
  expect(driver.values(['a'])).toEqual({ x: 1, y: 2, z: 3 });
});

test('a transaction is invisible before its commit and after its rollback', () => {
  const given = driver.begin();
  given.set(['a'], 'x', 1);
  expect(driver.get(['a'], 'x')).toBeUndefined();
  given[Symbol.dispose]();
  expect(driver.get(['a'], 'x')).toBeUndefined();
  expect(() => given.commit()).toThrow(/disposed/);
});

test('a write outside of a transaction survives the rollback of a concurrent transaction', () => {
  const given = driver.begin();
  given.set(['a'], 'x', 1);
  driver.set(['b'], 'y', 2);
  given[Symbol.dispose]();
  expect(driver.get(['b'], 'y')).toBe(2);
});

test('writes, deletions and clearings are applied in order, with the values at the time of the call', () => {
  driver.set(['a', 'sub'], 'old', 1);
  const batch = driver.begin();
  const value = { list: [1] };
  batch.clearAll(['a']);
  batch.set(['a'], { kept: value, gone: 1 });
  batch.delete(['a'], 'gone');
  value.list.push(2);
  batch.commit();
  expect(driver.get(['a', 'sub'], 'old')).toBeUndefined();
  expect(driver.values(['a'])).toEqual({ kept: { list: [1] } });
});

test('after a full disk, transactions are atomic again', () => {
  driver.set(['a'], 'x', 1);
  database.exec('PRAGMA max_page_count = 1');
  const refused = driver.begin();
  refused.set(['a'], { x: 2, large: 'y'.repeat(100_000) });
  expect(() => refused.commit()).toThrow(/full/);
  refused[Symbol.dispose]();
  expect(driver.values(['a'])).toEqual({ x: 1 });
  const half = driver.begin();
  half.set(['a'], 'x', 3);
  half.set(['a'], 'large', 'y'.repeat(100_000));
  expect(() => half.commit()).toThrow(/full/);
  expect(driver.values(['a'])).toEqual({ x: 1 });
  database.exec('PRAGMA max_page_count = 1000000');
  const kept = driver.begin();
  kept.set(['a'], { x: 4, large: 'y'.repeat(100_000) });
  kept.commit();
  expect(driver.get(['a'], 'x')).toBe(4);
});

test('each commit is on the disk when it returns', () => {
  expect(database.prepare<{ synchronous: number }>('PRAGMA synchronous').get()?.synchronous).toBe(2);
});
