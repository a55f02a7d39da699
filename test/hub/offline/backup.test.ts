import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HubKey } from '../../../src/auth/hub-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { PACKAGED_SERVICE, stateArchive } from '../../../src/hub/offline/backup.ts';
import { changeMarkIn, sumOfRows } from '../../../src/matter/storage/matter-database.ts';
import { archiveContent, tableText } from '../../../src/storage/backup/archive-content.ts';
import { sealStream } from '../../../src/storage/backup/archive-encryption.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { quickly } from '../../storage/backup/quick-derivation.ts';
import { journalParts } from '../../storage/storage-services.ts';

const PASSPHRASE = 'five words that nobody guesses';
const dir = mkdtempSync(join(tmpdir(), 'atmo-archive-'));
const stateDir = join(dir, 'state');
const configFile = join(dir, 'etc/config.yaml');
const rulesFile = join(dir, 'etc/rules.yaml');
const secretFile = join(dir, 'etc/mail.secret');
const authorityFile = join(dir, 'etc/own-ca.pem');
const outsideFiles = [configFile, rulesFile, secretFile, authorityFile].sort();
const file = join(dir, 'home.atmo');
const archive = stateArchive({ ATMO_STATE_DIR: stateDir, ATMO_CONFIG: configFile }, quickly);
const askForCopies = () => Promise.reject(new Error('no hub runs'));
let hub = '';
let backup: Awaited<ReturnType<typeof archive.backup>>;
let restored: Awaited<ReturnType<typeof restoreTo>>;

async function stateIn(directory: string): Promise<StateStore> {
  const collaborators = {
    clock: systemClock,
    logger: silentLogger,
    events: new EventBus('urn:test', systemClock),
    ...journalParts(directory),
  };
  const store = new StateStore(collaborators, { directory, snapshotDirectory: join(directory, 'snapshots'), skipsCopyAtStop: true });
  await store.start();
  return store;
}

async function makeHub(): Promise<void> {
  mkdirSync(join(dir, 'etc'));
  mkdirSync(join(stateDir, 'matter/hub'), { recursive: true });
  mkdirSync(join(stateDir, 'before-restore-long-ago'));
  const mail = `{host: mail.example.org, from: hub@example.org, password: "file:${secretFile}", ca_file: ${authorityFile}}`;
  writeFileSync(configFile, `rules: ${rulesFile}\nconnectors: {email: ${mail}}\n`);
  writeFileSync(rulesFile, 'rules: []\n');
  writeFileSync(secretFile, 'sesame');
  writeFileSync(authorityFile, 'a certificate');
  await using key = new HubKey(stateDir, () => {});
  await key.start();
  hub = key.hubId;
  await using store = await stateIn(stateDir);
  store.set('mesh.gossip', 'epoch', 7);
  store.set('devices', 'lamp', 'Lamp');
  using matter = new DatabaseSync(join(stateDir, 'matter/hub/storage.db'));
  matter.exec('CREATE TABLE kvstore (context TEXT, key TEXT, value_type TEXT, value_json TEXT, value_blob BLOB)');
  matter.exec("INSERT INTO kvstore VALUES ('sessions', 'groupDataCounter', 'json', '5000', NULL)");
  for (const name of ['audit.front', 'matter/matter.pid', 'hub.key.partial', 'state.db.corrupt-2026', 'before-restore-long-ago/hub.key']) {
    writeFileSync(join(stateDir, name), 'x');
  }
  writeFileSync(join(stateDir, 'script'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('/etc/passwd', join(stateDir, 'link'));
}

beforeAll(async () => {
  await makeHub();
  backup = await archive.backup({ stateDir, file, passphrase: PASSPHRASE, askForCopies });
  restored = await restoreTo('restored');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const restoreTo = (name: string, from = file) => {
  const target = join(dir, name);
  return stateArchive({ ATMO_STATE_DIR: target }, quickly).restore({ stateDir: target, file: from, passphrase: PASSPHRASE });
};

describe('the backup of a stopped hub', () => {
  test('holds what it keeps and the files that its configuration names, and none of what it does not need', () => {
    expect(backup).toMatchObject({ hub, isOfRunningHub: false });
    const names = readdirSync(join(dir, 'restored'), { recursive: true, encoding: 'utf8' }).filter(
      (name) => !/^(lock|snapshots)/.test(name),
    );
    const inOutside = (path: string) => join('outside', path);
    expect(names.filter((name) => statSync(join(dir, 'restored', name)).isFile()).sort()).toEqual(
      ['anchors', 'audit.front', 'hub.key', 'matter/hub/storage.db', 'script', 'state.db', ...outsideFiles.map(inOutside)].sort(),
    );
    expect(restored.outside.map(({ path }) => path).sort()).toEqual(outsideFiles);
    expect(readFileSync(join(dir, 'restored', inOutside(rulesFile)), 'utf8')).toBe('rules: []\n');
    expect(readdirSync(join(stateDir, 'snapshots'))).toEqual(['hub.key.kept']);
  });

  test('comes back with files that only their user may read', () => {
    const mode = (name: string) => statSync(join(dir, 'restored', name)).mode & 0o777;
    expect([mode('.'), mode('hub.key'), mode('matter'), mode('script')]).toEqual([0o700, 0o600, 0o700, 0o700]);
  });

  test('comes back with its numbers ahead of all that others may remember', async () => {
    await using store = await stateIn(join(dir, 'restored'));
    expect(store.get('devices', 'lamp')).toBe('Lamp');
    expect(store.get('mesh.gossip', 'epoch')).toBeGreaterThan(Date.now() / 1000 - 60);
    using matter = new DatabaseSync(join(dir, 'restored/matter/hub/storage.db'), { readOnly: true });
    expect(matter.prepare('SELECT value_json AS text FROM kvstore').get()).toEqual({ text: String(5000 + 2 ** 24) });
    // A start does not take it for damage.
    expect(changeMarkIn(matter)?.digest).toBe(sumOfRows(matter));
  });

  test('is not made or put back in a folder of the own where the hub of the machine is closed to this user', async () => {
    const home = join(dir, 'home');
    const own = join(home, '.local/state/atmosphere-edge');
    const closed = stateArchive({ HOME: home }, quickly, { ...PACKAGED_SERVICE, stateDir });
    const refusal = { code: 'PERMISSION_DENIED', message: expect.stringContaining(stateDir) };
    const none = join(dir, 'none.atmo');
    await expect(closed.backup({ stateDir: own, file: none, passphrase: PASSPHRASE, askForCopies })).rejects.toMatchObject(refusal);
    await expect(closed.restore({ stateDir: own, file, passphrase: PASSPHRASE })).rejects.toMatchObject({
      ...refusal,
      message: expect.stringContaining('sudo atmo restore'),
    });
    expect(existsSync(own)).toBe(false);
  });

  test('tells that the file with the environment of the service is not in it', async () => {
    const environmentFile = join(dir, 'environment');
    const leftOutBy = async (service: string, name: string) => {
      const archiveHere = stateArchive({ ATMO_STATE_DIR: stateDir }, quickly, { stateDir: service, environmentFile });
      return (await archiveHere.backup({ stateDir, file: join(dir, name), passphrase: PASSPHRASE, askForCopies })).leftOut;
    };
    expect(await leftOutBy(stateDir, 'without.atmo')).toEqual([]);
    writeFileSync(environmentFile, 'ATMO_HTTP_HOST=0.0.0.0\n');
    expect(await leftOutBy(stateDir, 'with.atmo')).toEqual([environmentFile]);
    expect(await leftOutBy(join(dir, 'elsewhere'), 'other.atmo')).toEqual([]);
    expect(readFileSync('systemd/atmosphere-edge.service', 'utf8')).toContain(`EnvironmentFile=-${PACKAGED_SERVICE.environmentFile}`);
  });

  test('is refused where there is no hub, the file is there already, or its folder is not', async () => {
    const wishes = { stateDir: join(dir, 'etc'), file: join(dir, 'none.atmo'), passphrase: PASSPHRASE, askForCopies };
    await expect(archive.backup(wishes)).rejects.toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('holds no hub') });
    await expect(archive.backup({ ...wishes, stateDir, file })).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(archive.backup({ ...wishes, stateDir, file: join(dir, 'usb/none.atmo') })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/no folder .*usb; mount the disk/),
    });
    expect(readdirSync(dir).filter((name) => name.includes('none') || name.includes('partial'))).toEqual([]);
  });
});

/** Mounts need a mount namespace of their own: as root, or where unprivileged user namespaces are allowed. */
const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0;

test.skipIf(!canMount)('a state on a disk that takes no writes any more can still be backed up, with what is in its logs', async () => {
  const [small, from] = [join(dir, 'small'), join(dir, 'read-only.atmo')];
  mkdirSync(small);
  const child = join(import.meta.dirname, '../../storage/children/read-only-backup.ts');
  const run = spawnSync('unshare', ['-rm', process.execPath, child, small, from, PASSPHRASE], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  await restoreTo('from-read-only', from);
  await using store = await stateIn(join(dir, 'from-read-only'));
  expect(store.get('devices', 'lamp')).toBe('Lamp');
});

test.skipIf(!canMount)('a disk without room is named, and nothing is left on it: neither half a backup nor half a restore', () => {
  const full = join(dir, 'full');
  mkdirSync(full);
  const child = join(import.meta.dirname, '../../storage/children/full-disk-archive.ts');
  const run = spawnSync('unshare', ['-rm', process.execPath, child, full, stateDir, file, PASSPHRASE], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  expect(JSON.parse(run.stdout)).toEqual({
    backup: expect.stringMatching(/^STORAGE_FAILED full: .*full\/home\.atmo: /),
    restore: expect.stringMatching(/^STORAGE_FAILED full: .*full\/state/),
    left: ['ballast', 'more', 'state'],
    state: ['lock.db'],
  });
});

test.skipIf(process.geteuid?.() !== 0)('root restores files that belong to the user of the hub', async () => {
  chmodSync(dir, 0o755);
  const target = join(dir, 'of-the-hub');
  mkdirSync(target, { mode: 0o700 });
  chownSync(target, 1234, 1234);
  await restoreTo('of-the-hub');
  const owners = readdirSync(target, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(target, name)).uid);
  expect(owners.length).toBeGreaterThan(5);
  expect(new Set(owners)).toEqual(new Set([1234]));
  expect(process.geteuid?.()).toBe(0);
});

describe('a restore', () => {
  interface Forged {
    readonly version?: string;
    readonly table?: string;
    readonly files?: Readonly<Record<string, string>>;
  }

  /** A backup with all its marks that holds something else. */
  async function forge({ version = '0.1.0', table, files = {} }: Forged): Promise<string> {
    const path = join(dir, 'forged.atmo');
    const sources = await Promise.all(
      Object.entries(files).map(async ([name, text], index) => {
        writeFileSync(join(dir, `source-${index}`), text);
        return { path: name, bytes: text.length, isExecutable: false, handle: await open(join(dir, `source-${index}`)) };
      }),
    );
    const content = table === undefined ? archiveContent({ version, hub: 'hub-0', madeAt: 'then' }, sources) : ofTable(table);
    await using target = await open(path, 'w');
    for await (const piece of sealStream(content, PASSPHRASE, { derive: quickly })) await target.writeFile(piece);
    for (const { handle } of sources) await handle.close();
    return path;
  }

  async function* ofTable(table: string): AsyncGenerator<Uint8Array> {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(table.length);
    yield Buffer.concat([length, Buffer.from(table)]);
  }

  const named = (path: string) =>
    tableText({ version: '0.1.0', hub: 'h', madeAt: 't', entries: [{ path, bytes: 0, isExecutable: false }] });

  const REFUSED: readonly (readonly [what: string, forged: Forged, code: string, says: RegExp])[] = [
    ['of a newer version', { version: '99.0.0', files: { 'hub.key': 'k' } }, 'NOT_SUPPORTED', /99\.0\.0/],
    ['without a key', { files: { 'state.db': '' } }, 'VALIDATION_ERROR', /hub\.key/],
    ['with a database that is none', { files: { 'hub.key': 'k', 'state.db': 'nonsense '.repeat(1000) } }, 'STORAGE_FAILED', /state\.db/],
    ['with a path that leads out', { table: named('../owner.token') }, 'VALIDATION_ERROR', /no path/],
    ['with a path from the root', { table: named('/etc/passwd') }, 'VALIDATION_ERROR', /no path/],
    ['with a table of something else', { table: '[]' }, 'VALIDATION_ERROR', /does not name hub, version and time/],
  ];

  test.each(REFUSED)('%s is refused and changes nothing', async (_what, forged, code, says) => {
    const before = readdirSync(join(dir, 'restored'), { recursive: true }).sort();
    await expect(restoreTo('restored', await forge(forged))).rejects.toMatchObject({ code, message: expect.stringMatching(says) });
    expect(readdirSync(join(dir, 'restored'), { recursive: true }).sort()).toEqual(before);
  });

  test('of a newer state is refused before anything moves', async () => {
    const newer = join(dir, 'newer');
    mkdirSync(newer);
    using database = new DatabaseSync(join(newer, 'state.db'));
    database.exec('PRAGMA user_version = 99');
    writeFileSync(join(newer, 'hub.key'), readFileSync(join(stateDir, 'hub.key')), { mode: 0o600 });
    const from = join(dir, 'newer.atmo');
    await stateArchive({}, quickly).backup({ stateDir: newer, file: from, passphrase: PASSPHRASE, askForCopies });
    await expect(restoreTo('restored', from)).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: expect.stringContaining('newer') });
    expect(readdirSync(join(dir, 'restored'))).not.toContain('restore.new');
  });

  test('of a file on a disk with errors names that file, and not the state', async () => {
    // A read of it is answered with EIO.
    const unreadable = '/proc/self/mem';
    await expect(restoreTo('restored', unreadable)).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringMatching(/^\/proc\/self\/mem cannot be read \(EIO\)/),
    });
  });

  test('of a file that is not there says which one', async () => {
    await expect(restoreTo('restored', join(dir, 'nowhere'))).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('nowhere'),
    });
    await expect(restoreTo('restored', dir)).rejects.toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('is a folder') });
  });
});
