import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HubProblems } from '../../../src/core/health.ts';
import { createLogger, silentLogger } from '../../../src/core/logger.ts';
import { FabricStorage, NODE_FOLDER } from '../../../src/matter/storage/fabric-storage.ts';
import { inspectStorage, openMatterDatabase } from '../../../src/matter/storage/matter-database.ts';
import { StateAnchors } from '../../../src/storage/state-anchors.ts';

let stateDir: string;
let database: string;
let storage: FabricStorage;

const parts = () => ({ problems: new HubProblems(), anchor: new StateAnchors(stateDir, silentLogger).of('matter/hub/storage.db') });

/** A storage file as matter.js's sqlite driver writes it, big enough for damage in its middle. */
function writeDatabase(rootKey: string, fabrics = boxedFabrics('77')): void {
  rmSync(database, { force: true });
  const db = new DatabaseSync(database);
  db.exec(`CREATE TABLE kvstore (context TEXT NOT NULL, key TEXT NOT NULL, value_type TEXT, value_json TEXT, value_blob BLOB,
    CONSTRAINT PKPair PRIMARY KEY (context, key)) STRICT`);
  const insert = db.prepare("INSERT INTO kvstore (context, key, value_type, value_json) VALUES (?, ?, 'json', ?)");
  insert.run('certificates', 'rootCertBytes', '"cert"');
  insert.run('certificates', 'rootKeyPair', JSON.stringify(rootKey));
  insert.run('fabrics', 'fabrics', fabrics);
  for (let peer = 1; peer <= 60; peer++) insert.run(`nodes.peer${peer}`, 'cache', JSON.stringify('x'.repeat(500)));
  db.close();
}

function boxedFabrics(id: string): string {
  return JSON.stringify([{ fabricId: JSON.stringify({ __object__: 'BigInt', __value__: id }) }]);
}

function overwrite(file: string, offset: number, bytes: Uint8Array): void {
  const content = readFileSync(file);
  content.set(bytes, offset);
  writeFileSync(file, content);
}

const DAMAGES: readonly [string, () => void][] = [
  ['its header zeroed', () => overwrite(database, 0, new Uint8Array(100))],
  ['its second half cut off', () => truncateSync(database, Math.floor(statSync(database).size / 8192) * 4096)],
  ['all of it cut off', () => truncateSync(database, 0)],
  [
    'noise over pages in its middle',
    () =>
      overwrite(
        database,
        4096,
        new Uint8Array(16_384).map((_, at) => (at * 151 + 7) % 256),
      ),
  ],
  ['a value cut within', () => edit('UPDATE kvstore SET value_json = substr(value_json, 1, 3) WHERE length(value_json) > 100')],
  ['its fabric list emptied', () => edit("UPDATE kvstore SET value_json = '[]' WHERE key = 'fabrics'")],
  ['its root key changed by one character', () => edit("UPDATE kvstore SET value_json = '\"key2\"' WHERE key = 'rootKeyPair'")],
  ['the file deleted', () => rmSync(database)],
];

function edit(sql: string): void {
  const db = new DatabaseSync(database);
  db.exec(sql);
  db.close();
}

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'matter-storage-'));
  database = join(stateDir, NODE_FOLDER, 'storage.db');
  storage = new FabricStorage({ logger: silentLogger, ...parts() }, stateDir);
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

describe('storage of the fabric', () => {
  test('a first start finds an empty folder that only its owner may read', () => {
    storage.prepare();
    expect(statSync(join(stateDir, NODE_FOLDER)).mode & 0o777).toBe(0o700);
    expect(existsSync(database)).toBe(false);
  });

  test('rights of group and others on files and folders are removed', () => {
    storage.prepare();
    writeDatabase('key1');
    chmodSync(database, 0o644);
    chmodSync(join(stateDir, NODE_FOLDER), 0o755);
    storage.confirmFabric();
    storage.snapshot();
    storage.prepare();
    for (const name of readdirSync(stateDir, { recursive: true, encoding: 'utf8' })) {
      const { mode } = statSync(join(stateDir, name));
      expect.soft(mode & 0o077, name).toBe(0);
    }
  });

  test.each(DAMAGES)('with %s it is restored from the newest valid snapshot', (_name, damage) => {
    storage.prepare();
    writeDatabase('key1');
    storage.confirmFabric();
    storage.snapshot();
    storage.snapshot();
    const before = inspectStorage(database);
    damage();
    const lines: string[] = [];
    new FabricStorage({ logger: createLogger('error', (line) => lines.push(line)), ...parts() }, stateDir).prepare();
    expect(inspectStorage(database)).toEqual(before);
    expect(lines.join()).toContain('matter.storage_restored');
  });

  test.each(DAMAGES)('with %s and no valid snapshot it is refused, with advice', (_name, damage) => {
    storage.prepare();
    writeDatabase('key1');
    storage.confirmFabric();
    damage();
    expect(() => storage.prepare()).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining('your own copy of the state directory') }),
    );
  });

  test('a damaged snapshot is skipped for an older one', () => {
    storage.prepare();
    writeDatabase('key1');
    storage.confirmFabric();
    storage.snapshot();
    storage.snapshot();
    const newest = readdirSync(join(stateDir, 'snapshots')).sort().at(-1) ?? '';
    writeFileSync(join(stateDir, 'snapshots', newest), 'nonsense');
    rmSync(database);
    storage.prepare();
    expect(inspectStorage(database)).toMatchObject({ state: 'whole', identity: { fabricId: '77' } });
  });

  test('the write-ahead log of the damaged file is not replayed into the restored one', () => {
    storage.prepare();
    writeDatabase('key1');
    storage.confirmFabric();
    storage.snapshot();
    rmSync(database);
    writeFileSync(`${database}-wal`, 'left over');
    storage.prepare();
    expect(existsSync(`${database}-wal`)).toBe(false);
    expect(readdirSync(join(stateDir, 'quarantine', '1'))).toEqual(['storage.db-wal']);
  });

  test('another fabric in place of ours is refused, also while the hub runs', () => {
    storage.prepare();
    writeDatabase('key1');
    storage.confirmFabric();
    writeDatabase('key1', boxedFabrics('78'));
    expect(() => storage.confirmFabric()).toThrow(/another fabric/);
  });

  test.each([
    ['before it made the file', () => new DatabaseSync(database).close()],
    ['before it made the table', () => edit('PRAGMA journal_mode = WAL')],
    ['before there was a fabric', () => openMatterDatabase(database, parts().anchor).close()],
  ])('a hub that was killed in its first start, %s, starts again without a word', (_when, leave) => {
    storage.prepare();
    leave();
    const { problems, anchor } = parts();
    new FabricStorage({ logger: silentLogger, problems, anchor }, stateDir).prepare();
    expect(problems.list()).toEqual([]);
  });

  test('only the three newest snapshots stay', () => {
    storage.prepare();
    writeDatabase('key1');
    for (let i = 0; i < 5; i++) storage.snapshot();
    expect(readdirSync(join(stateDir, 'snapshots')).sort()).toEqual(['00000003.db', '00000004.db', '00000005.db']);
  });

  test('a snapshot that fails is a warning and leaves no part behind', () => {
    storage.prepare();
    writeFileSync(database, 'nonsense');
    const lines: string[] = [];
    new FabricStorage({ logger: createLogger('warn', (line) => lines.push(line)), ...parts() }, stateDir).snapshot();
    expect(lines.join()).toContain('matter.snapshot_failed');
    expect(readdirSync(join(stateDir, 'snapshots'))).toEqual([]);
  });

  test('locks of an ended process do not stop the start', () => {
    storage.prepare();
    writeFileSync(join(stateDir, NODE_FOLDER, 'matter.pid'), '1 token');
    writeFileSync(join(stateDir, NODE_FOLDER, 'matter.lock'), '');
    storage.prepare();
    expect(readdirSync(join(stateDir, NODE_FOLDER))).toEqual([]);
  });
});
