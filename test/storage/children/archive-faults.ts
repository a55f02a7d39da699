import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HubKey } from '../../../src/auth/hub-key.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { stateArchive } from '../../../src/hub/offline/backup.ts';
import { StateLock } from '../../../src/storage/state-lock.ts';
import { type DiskFault, FailingDisk } from '../../failing-disk.ts';
import { quickly } from '../backup/quick-derivation.ts';

/**
 * Makes backups and puts them back on a disk that fails at each step in turn, looks at what is left, and says as JSON how many steps
 * there were and what is wrong. With `restore FILE DIRECTORY N` it only puts a backup back, and is killed at step N.
 */
const PASSPHRASE = 'five words that nobody guesses';
const OLD = { 'hub.key': 'old key', 'state.db': 'old state', 'matter/fabric.json': 'old fabric', 'rules.yaml': 'old rules' };
const NEW = { 'matter/fabric.json': 'new fabric', 'tls/ca.key': 'new authority', 'profiles/devices/gate.json': 'new profile' };
/** Processes take their time. */
const KILLS = 6;
const FAULTS = ['full once', 'read-only from there on'] as const;
/** Memory where there is some: how fast a disk syncs is of no interest. */
const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'archive-faults-'));
const source = join(root, 'source');
const file = join(root, 'home.atmo');
const disk = new FailingDisk();
const askForCopies = () => Promise.reject(new Error('no hub runs'));
const archive = stateArchive({ ATMO_STATE_DIR: source }, quickly);
const backupTo = (target: string) => archive.backup({ stateDir: source, file: target, passphrase: PASSPHRASE, askForCopies });
const restoreTo = (stateDir: string, from = file) =>
  stateArchive({ ATMO_STATE_DIR: stateDir }, quickly).restore({ stateDir, file: from, passphrase: PASSPHRASE });

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, path), text, { mode: 0o600 });
  }
}

function filesIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(folder, name)).isFile());
  return names.filter((name) => !/^(lock\.db|snapshots\/|anchors|before-restore-)/.test(name)).sort();
}

/** What a state directory holds. */
function standing(folder: string): string {
  const names = filesIn(folder);
  const text = (name: string) => readFileSync(join(folder, name), 'latin1');
  const is = (files: Readonly<Record<string, string>>) =>
    Object.entries(files).every(([name, one]) => names.includes(name) && text(name) === one);
  if (is(OLD) && names.length === Object.keys(OLD).length) return 'old';
  const isNew = is(NEW) && names.join() === [...Object.keys(NEW), 'hub.key', 'state.db'].sort().join();
  if (!isNew || text('hub.key') !== readFileSync(join(source, 'hub.key'), 'latin1')) return `a mixture: ${names.join()}`;
  using database = new DatabaseSync(join(folder, 'state.db'), { readOnly: true });
  return database.prepare("SELECT 1 FROM entry WHERE space = 'mesh.gossip'").get() ? 'new' : 'a state.db without its counters';
}

/** Undefined for success. */
async function failureOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'STORAGE_FAILED') return error.message;
    return `NOT PLAIN: ${error instanceof Error ? error.stack : error}`;
  } finally {
    disk.disarm();
  }
}

async function restoreCase(at: number, fault: DiskFault): Promise<readonly string[]> {
  const folder = mkdtempSync(join(root, 'state-'));
  write(folder, OLD);
  disk.arm(at, fault);
  const failure = await failureOf(() => restoreTo(folder));
  const { found, wrong } = await afterRestore(folder);
  if (failure?.startsWith('NOT PLAIN')) wrong.push(failure);
  if (failure === undefined && found !== 'new') wrong.push(`success is told, and there is ${found}`);
  if (failure !== undefined && found === 'new' && !failure.includes('next start')) wrong.push(`it counts, and this is told: ${failure}`);
  if (failure?.includes('next start') && found !== 'new') wrong.push(`it does not count, and this is told: ${failure}`);
  return wrong;
}

/** What there is when a hub has started, and what is wrong with that. */
async function afterRestore(folder: string): Promise<{ readonly found: string; readonly wrong: string[] }> {
  const lock = new StateLock(folder);
  await lock.start();
  await lock[Symbol.asyncDispose]();
  const found = standing(folder);
  const names = readdirSync(folder);
  const asides = names.filter((name) => name.startsWith('before-restore-'));
  const wrong = names.filter((name) => name.startsWith('restore.')).map((name) => `${name} is left`);
  if (found !== 'old' && found !== 'new') wrong.push(found);
  if (found === 'new' && (asides.length !== 1 || standing(join(folder, asides[0] ?? '')) !== 'old'))
    wrong.push('what was there is not aside');
  if (found === 'old' && asides.length > 0) wrong.push('something is aside');
  rmSync(folder, { recursive: true });
  return { found, wrong };
}

async function backupCase(at: number, fault: DiskFault): Promise<readonly string[]> {
  const folder = mkdtempSync(join(root, 'usb-'));
  const target = join(folder, 'home.atmo');
  disk.arm(at, fault);
  const failure = await failureOf(() => backupTo(target));
  const left = readdirSync(folder);
  const wrong: string[] = failure?.startsWith('NOT PLAIN') ? [failure] : [];
  if (failure !== undefined && left.includes('home.atmo')) wrong.push(`there is a backup, and this is told: ${failure}`);
  if (failure !== undefined && fault === 'full once' && left.length > 0) wrong.push(`${left.join()} is left`);
  if (failure === undefined && left.join() !== 'home.atmo') wrong.push(`success is told, and there is ${left.join()}`);
  if (failure !== undefined) await backupTo(target);
  // What could not be removed then goes with the next one.
  else await backupTo(join(folder, 'next.atmo'));
  const copies = readdirSync(join(source, 'snapshots')).filter((name) => name.startsWith('backup-'));
  if (copies.length > 0) wrong.push(`${copies.join()} is left in the state`);
  const back = join(folder, 'back');
  await restoreTo(back, target);
  if (standing(back) !== 'new') wrong.push(`the backup holds ${standing(back)}`);
  rmSync(folder, { recursive: true });
  return wrong;
}

async function killCase(at: number): Promise<readonly string[]> {
  const folder = mkdtempSync(join(root, 'state-'));
  write(folder, OLD);
  const { signal } = spawnSync(process.execPath, [import.meta.filename, 'restore', file, folder, String(at)]);
  return [...(signal === 'SIGKILL' ? [] : [`ended with ${signal}`]), ...(await afterRestore(folder)).wrong];
}

/** A power cut after the restore counts finds all that it counts on. */
async function powerCutCase(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(root, 'state-'));
  disk.arm(0, 'full once');
  await failureOf(() => restoreTo(folder));
  const folders = ['', 'matter', 'tls', 'profiles', 'profiles/devices'].map((name) => join(folder, 'restore.new', name).replace(/\/$/, ''));
  return folders.filter((one) => !disk.synced.has(one)).map((one) => `${one} is not on the disk when the restore counts`);
}

/** What is wrong when the disk fails at each step. */
async function sweep(what: string, one: typeof restoreCase): Promise<readonly string[]> {
  const wrong = [...(await one(0, 'full once'))];
  const { steps } = disk;
  for (const fault of FAULTS) {
    for (let at = 1; at <= steps; at++) for (const line of await one(at, fault)) wrong.push(`${what}, ${fault} at step ${at}: ${line}`);
  }
  counted[what] = steps;
  return wrong;
}

async function makeSource(): Promise<void> {
  write(source, NEW);
  await using key = new HubKey(source, () => {});
  await key.start();
  using database = new DatabaseSync(join(source, 'state.db'));
  database.exec('PRAGMA journal_mode = WAL');
  await backupTo(file);
}

const [mode, from = '', directory = '', at = ''] = process.argv.slice(2);
if (mode === 'restore') {
  await disk.install(from);
  disk.arm(Number(at), 'killed');
  await restoreTo(directory, from);
}
const counted: Record<string, number> = {};
await makeSource();
await disk.install(file);
const wrong = [...(await powerCutCase()), ...(await sweep('backup', backupCase)), ...(await sweep('restore', restoreCase))];
for (let kill = 1; kill <= KILLS; kill++) {
  const step = Math.floor(((counted.restore ?? 0) * kill) / KILLS);
  for (const line of await killCase(step)) wrong.push(`restore, killed at step ${step}: ${line}`);
}
rmSync(root, { recursive: true });
process.stdout.write(JSON.stringify({ counted, wrong }));
process.exit(0);
