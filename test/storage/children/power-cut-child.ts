import fs, { cpSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Content, FullState } from '../full-state.ts';

/**
 * A hub that lives a little, and is copied before its writes: a copy is what a kill at that moment leaves. In a process of its own, since
 * the functions of the file system are replaced. Arguments: where the copies go, and one of how many writes is looked at.
 */
const [root = '', each = ''] = process.argv.slice(2);
const WRITES = [
  'openSync',
  'writeSync',
  'renameSync',
  'rmSync',
  'mkdirSync',
  'fsyncSync',
  'fdatasyncSync',
  'ftruncateSync',
  'copyFileSync',
] as const;

/** The directory of a hub as it was in the middle of what the hub did. */
export interface Moment {
  readonly dir: string;
  /** What was about to be done. */
  readonly before: string;
  /** What the hub had said by then. */
  readonly said?: Content;
  /** Length of the log of audit.db when it was synced last. */
  readonly syncedLog: number;
}

/** Runs work and takes a copy of `dir` before every so many of its writes: what a kill leaves there. */
async function momentsOf(dir: string, work: (say: (content: Content) => void) => Promise<void>): Promise<readonly Moment[]> {
  const moments: Moment[] = [];
  let said: Content | undefined;
  let syncedLog = 0;
  let count = 0;
  let isCopying = false;
  const look = (before: string) => {
    if (isCopying || count++ % Number(each) !== 0) return;
    isCopying = true;
    const copy = join(root, `moment-${moments.length}`);
    cpSync(dir, copy, { recursive: true });
    moments.push({ dir: copy, before: `${count - 1} ${before}`, ...(said && { said }), syncedLog });
    isCopying = false;
  };
  const patch = (target: object, name: string, after?: (self: unknown) => void) => {
    const original = Reflect.get(target, name) as (...args: unknown[]) => unknown;
    Reflect.set(target, name, function (this: unknown, ...args: unknown[]) {
      look(`${name} ${String(args[0]).slice(0, 80)}`);
      const result = original.apply(this, args);
      after?.(this);
      return result;
    });
  };
  for (const name of WRITES) patch(fs, name);
  patch(DatabaseSync.prototype, 'exec');
  using database = new DatabaseSync(':memory:');
  patch(Object.getPrototypeOf(database.prepare('SELECT 1')), 'run');
  await using handle = await open(import.meta.filename);
  patch(Object.getPrototypeOf(handle), 'datasync', (self) => {
    const path = readlinkSync(`/proc/self/fd/${(self as { fd: number }).fd}`);
    if (path.endsWith('audit.db-wal')) syncedLog = statSync(path).size;
  });
  syncBuiltinESMExports();
  await work((content) => {
    said = content;
  });
  return moments;
}

async function life(dir: string, say: (content: Content) => void): Promise<void> {
  for (const rounds of [[1, 2], [3]]) {
    await using state = await FullState.open(dir);
    if (rounds.includes(1)) state.begin();
    say(await state.content());
    for (const round of rounds) {
      await state.change(round);
      say(await state.content());
    }
    await state.snapshot();
  }
}

const dir = join(root, 'hub');
fs.mkdirSync(dir, { mode: 0o700 });
FullState.prepare(dir);
writeFileSync(join(root, 'moments.json'), JSON.stringify(await momentsOf(dir, (say) => life(dir, say))));
