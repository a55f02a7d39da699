import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { quickCheck } from '../../src/storage/checked-database.ts';
import { FailingDisk } from '../failing-disk.ts';
import { AuditLogFixture, sensorId, sensorInfo } from './storage-fixture.ts';

type Damage = (path: string) => void;

const DAMAGES: readonly (readonly [name: string, damage: Damage])[] = [
  ['with an overwritten header', (path) => overwrite(path, 0, 100)],
  ['with zeroed pages in the middle', (path) => overwrite(path, 8192, statSync(path).size - 12_288)],
  ['cut off in the middle', (path) => truncateSync(path, Math.floor(statSync(path).size / 2))],
  ['replaced by a text', (path) => writeFileSync(path, 'this is not a database at all\n'.repeat(200))],
];

function overwrite(path: string, offset: number, length: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(length), 0, length, offset);
  closeSync(file);
}

function setAside(fixture: AuditLogFixture): readonly string[] {
  return readdirSync(fixture.directory).filter((name) => name.includes('.corrupt-'));
}

/** Stores 200 entries, copies, stores one more that only the file holds, and stops. */
async function fillAndStop(fixture: AuditLogFixture): Promise<void> {
  const store = await fixture.state();
  for (let n = 0; n < 200; n++) store.set('s', `k${n}`, 'x'.repeat(500));
  await store.snapshot();
  store.set('s', 'after', 1);
  await store[Symbol.asyncDispose]();
}

test('a new state.db and its name are on the disk once the store has started, and are not written there again', async () => {
  await using fixture = new AuditLogFixture();
  const disk = new FailingDisk();
  await disk.install(import.meta.filename);
  const syncedByStart = async () => {
    disk.arm(0, 'killed');
    await fixture.state();
    disk.disarm();
    await fixture.close();
    return [fixture.path('state.db'), fixture.directory].filter((path) => disk.synced.has(path));
  };
  expect(await syncedByStart()).toEqual([fixture.path('state.db'), fixture.directory]);
  expect(await syncedByStart()).not.toContain(fixture.path('state.db'));
});

test('a database whose tables are readable and break their own rules is damaged', async () => {
  await using fixture = new AuditLogFixture();
  const path = fixture.path('rules.db');
  using database = new DatabaseSync(path);
  database.exec('CREATE TABLE one (a); INSERT INTO one VALUES (NULL)');
  expect(() => quickCheck(database, path)).not.toThrow();
  database.enableDefensive(false);
  database.exec(
    `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE one (a NOT NULL)'; PRAGMA writable_schema = RESET`,
  );
  expect(() => quickCheck(database, path)).toThrow(
    expect.objectContaining({ code: 'STORAGE_FAILED', details: expect.objectContaining({ cause: 'damaged' }) }),
  );
});

describe('a damaged state.db', () => {
  test.each(DAMAGES)('%s is set aside and the snapshot restored, loudly', async (_name, damage) => {
    await using fixture = new AuditLogFixture();
    await fillAndStop(fixture);
    damage(fixture.path('state.db'));
    const damaged = readFileSync(fixture.path('state.db'));
    const store = await fixture.state();
    expect(store.entries('s')).toHaveLength(200);
    expect(setAside(fixture)).toHaveLength(1);
    expect(readFileSync(fixture.path(setAside(fixture)[0] ?? '')).equals(damaged)).toBe(true);
    expect(fixture.warnings.map(({ type, subject, data }) => [type, subject, data.warning])).toEqual([
      ['hub.warning', 'state.db', 'storage.database_restored'],
    ]);
    store.set('s', 'new', 1);
    expect(store.get('s', 'new')).toBe(1);
  });

  test('is restored from the next older snapshot when the newest is damaged too', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('s', 'old', 'x'.repeat(20_000));
    await store.snapshot();
    fixture.clock.advance(1000);
    store.set('s', 'newer', 'x'.repeat(20_000));
    const newest = await store.snapshot();
    await store[Symbol.asyncDispose]();
    overwrite(newest.path, 4096, 8192);
    overwrite(fixture.path('state.db'), 4096, 8192);
    expect((await fixture.state()).entries('s').map(({ key }) => key)).toEqual(['old']);
  });

  test('without a sound snapshot stops every start, and stays where it is', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('s', 'k', 1);
    await store[Symbol.asyncDispose]();
    overwrite(fixture.path('state.db'), 0, 100);
    for (let start = 0; start < 2; start++) {
      await expect(fixture.state()).rejects.toMatchObject({
        code: 'STORAGE_FAILED',
        message: expect.stringContaining('your own copy of the state directory'),
        details: { path: fixture.path('state.db'), cause: 'lost' },
      });
    }
    expect(setAside(fixture)).toEqual([]);
  });

  test('that vanished is restored instead of silently begun anew', async () => {
    await using fixture = new AuditLogFixture();
    await fillAndStop(fixture);
    rmSync(fixture.path('state.db'));
    expect((await fixture.state()).entries('s')).toHaveLength(200);
    expect(fixture.warnings).toHaveLength(1);
  });

  test('that is sound is opened without a word', async () => {
    await using fixture = new AuditLogFixture();
    await fillAndStop(fixture);
    expect((await fixture.state()).get('s', 'after')).toBe(1);
    expect(fixture.warnings).toEqual([]);
  });

  test('is restored without the log that lies beside it, which belongs to the lost file', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('s', 'before', 1);
    await store.snapshot();
    store.set('s', 'after', 1);
    const log = readFileSync(fixture.path('state.db-wal'));
    await store[Symbol.asyncDispose]();
    rmSync(fixture.path('state.db'));
    writeFileSync(fixture.path('state.db-wal'), log);
    expect((await fixture.state()).entries('s').map(({ key }) => key)).toEqual(['before']);
    expect(setAside(fixture).filter((name) => name.endsWith('-wal'))).toHaveLength(1);
  });

  test('of a newer version is refused and left alone', async () => {
    await using fixture = new AuditLogFixture();
    await fillAndStop(fixture);
    const database = new DatabaseSync(fixture.path('state.db'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    await expect(fixture.state()).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: expect.stringContaining('newer') });
    expect(setAside(fixture)).toEqual([]);
  });
});

describe('a damaged history.db', () => {
  test('without a snapshot begins empty, loudly, and takes new readings', async () => {
    await using fixture = new AuditLogFixture();
    const before = await fixture.history();
    before.record(sensorId('hall/temperature'), 20, fixture.clock.now());
    await before[Symbol.asyncDispose]();
    overwrite(fixture.path('history.db'), 0, 100);
    const store = await fixture.history();
    expect(fixture.warnings.map(({ data }) => data.warning)).toEqual(['storage.database_lost']);
    store.describe(sensorId('hall/temperature'), sensorInfo('hall/temperature'));
    const range = { sensor: sensorId('hall/temperature'), startMs: 0, endMs: fixture.clock.now(), aggregation: 'none' } as const;
    expect(store.history(range)).toEqual([]);
    store.record(sensorId('hall/temperature'), 21, fixture.clock.now());
    expect(store.history(range)).toHaveLength(1);
  });
});

describe('snapshots', () => {
  test('are taken when the store stops, once for all that changed', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state({ skipsCopyAtStop: false });
    store.set('devices', 'lamp', { name: 'Lamp' });
    await store[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    const [name = '', ...more] = readdirSync(fixture.snapshotDirectory);
    expect(more).toEqual([]);
    using copy = new DatabaseSync(join(fixture.snapshotDirectory, name), { readOnly: true });
    expect(copy.prepare('SELECT value FROM entry').get()).toEqual({ value: '{"name":"Lamp"}' });
  });

  test('are taken a minute after a start without one, and at later starts when due and something changed', async () => {
    await using fixture = new AuditLogFixture();
    const taken: number[] = [];
    for (let run = 0; run < 3; run++) {
      const store = await fixture.state({ snapshotEveryMs: 3_600_000 });
      store.set('s', 'k', run);
      fixture.clock.advance(60_000);
      await store[Symbol.asyncDispose]();
      taken.push(readdirSync(fixture.snapshotDirectory).length);
      if (run === 1) fixture.clock.advance(3_600_000);
    }
    expect(taken).toEqual([1, 1, 2]);
  });

  test('are not taken again while nothing changes', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state({ snapshotEveryMs: 3_600_000 });
    store.set('s', 'k', 1);
    await store.snapshot();
    fixture.clock.advance(5 * 3_600_000);
    await store[Symbol.asyncDispose]();
    expect(readdirSync(fixture.snapshotDirectory)).toHaveLength(1);
  });

  test('are whole databases of their own, and only the newest five stay', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    for (let n = 0; n < 7; n++) {
      store.set('s', `k${n}`, n);
      fixture.clock.advance(1);
      await store.snapshot();
    }
    const names = readdirSync(fixture.snapshotDirectory).sort();
    expect(names).toHaveLength(5);
    using newest = new DatabaseSync(join(fixture.snapshotDirectory, names.at(-1) ?? ''), { readOnly: true });
    expect(newest.prepare('SELECT count(*) AS n FROM entry').get()?.n).toBe(7);
  });

  test('that fail are reported and leave no partial copy that could be restored', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set('s', 'k', 1);
    rmSync(fixture.snapshotDirectory, { recursive: true });
    fixture.clock.advance(60_000);
    await store[Symbol.asyncDispose]();
    expect(fixture.warnings.map(({ data }) => data.warning)).toEqual(['storage.snapshot_failed']);
    expect(existsSync(fixture.snapshotDirectory)).toBe(false);
  });
});
