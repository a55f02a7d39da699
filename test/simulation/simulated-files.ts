import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import timers from 'node:timers';
import { requireDisk } from './disk-state.ts';
import { currentProcess } from './simulated-process.ts';

type Call = (...given: unknown[]) => unknown;

/** The functions of `node:fs` that change the disk. */
const WRITES = ['writeSync', 'writeFileSync', 'renameSync', 'rmSync', 'rmdirSync', 'mkdirSync', 'openSync'] as const;
const SYNCS = ['fsyncSync', 'fdatasyncSync'] as const;
const MORE_WRITES = ['copyFileSync', 'unlinkSync', 'truncateSync', 'ftruncateSync', 'chmodSync', 'appendFileSync', 'mkdtempSync'] as const;
/** The functions of `node:fs/promises` that the hub uses. Each has a synchronous function of the same name. */
const PROMISED = ['readFile', 'writeFile', 'mkdir', 'mkdtemp', 'rm', 'readdir', 'stat', 'lstat', 'rename', 'cp', 'copyFile'] as const;
const MORE_PROMISED = ['unlink', 'access', 'statfs', 'realpath', 'chmod', 'appendFile'] as const;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** What Linux says of a machine with one way out, which is all that the hub asks for. The machine on which a world runs may have another one. */
const KERNEL_TEXTS: Readonly<Record<string, string>> = {
  '/proc/net/route': 'Iface\tDestination\tGateway\tFlags\neth0\t00000000\t0102A8C0\t0003\n',
  '/proc/net/ipv6_route': '',
  '/sys/class/net/eth0/operstate': 'up\n',
};
/** A disk of a board takes this many milliseconds for a sync, at least and at most. */
const SYNC_MS = [1, 40] as const;
const ACCESS_MS = [0.05, 2] as const;

/**
 * Makes all files synchronous, and their promises events of the simulated world, since the threads of Node.js have no order of their own. A
 * killed process writes nothing.
 */
export function installFiles(): void {
  const real = { readFileSync: fs.readFileSync as Call };
  // Only simulated machines lose their power, so nothing has to be on a real disk.
  for (const name of SYNCS) Reflect.set(fs, name, () => undefined);
  for (const name of [...WRITES, ...MORE_WRITES, ...SYNCS]) gate(fs, name);
  watchSyncs();
  rememberStats();
  for (const name of [...PROMISED, ...MORE_PROMISED]) {
    const synchronous = Reflect.get(fs, `${name}Sync`) as Call;
    Reflect.set(fsPromises, name, async (...given: unknown[]) => {
      await access(ACCESS_MS);
      return Reflect.apply(synchronous, fs, given);
    });
  }
  Reflect.set(fs, 'readFileSync', (...given: unknown[]) => kernelText(given) ?? Reflect.apply(real.readFileSync, fs, given));
  Reflect.set(fsPromises, 'open', async (...given: unknown[]) => {
    await access(ACCESS_MS);
    return new SimulatedFileHandle(Reflect.apply(fs.openSync, fs, given) as number);
  });
  gate(DatabaseSync.prototype, 'exec');
  for (const name of ['run', 'get', 'all'] as const) gate(StatementSync.prototype, name);
  replaceSqlite();
}

/** What the kernel of the simulated machine says in a file; undefined for all other files. */
function kernelText([path, encoding]: readonly unknown[]): unknown {
  const text = path === BOOT_ID ? (currentProcess()?.bootId ?? 'none') : KERNEL_TEXTS[String(path)];
  return text === undefined || encoding !== undefined ? text : Buffer.from(text);
}

/** Has a function refuse what a killed process asks for. */
function gate(target: object, name: string): void {
  const real = Reflect.get(target, name) as Call;
  Reflect.set(target, name, function gated(this: unknown, ...given: unknown[]) {
    const process = currentProcess();
    process?.requireAlive();
    if (process && process.diskState !== 'well') requireDisk(process.diskState, { name, given, sql: sqlOf(this, given) });
    return Reflect.apply(real, this, given);
  });
}

/** Files that only the functions of `node:fs` above change, and that a hub looks at all the time: that of its rules each second. */
const LOOKED_AT = /\.yaml$/;

/** Functions that change one file, which they get as a path or as a descriptor. The others may change any. */
const OF_ONE_FILE: ReadonlySet<string> = new Set(['openSync', 'writeFileSync', 'appendFileSync', 'writeSync', 'ftruncateSync']);

/**
 * Asks the kernel again about such a file only after it may have changed. That takes longer than all else that a hub does in a quiet
 * second.
 */
function rememberStats(): void {
  const found = new Map<string, unknown>();
  const opened = new Set<unknown>();
  for (const name of [...WRITES, ...MORE_WRITES]) {
    const write = Reflect.get(fs, name) as Call;
    Reflect.set(fs, name, (...given: unknown[]) => {
      const [file] = given;
      const isLookedAt = typeof file === 'string' ? LOOKED_AT.test(file) : opened.has(file);
      if (isLookedAt || !OF_ONE_FILE.has(name)) found.clear();
      const result = Reflect.apply(write, fs, given);
      if (name === 'openSync' && isLookedAt) opened.add(result);
      else if (name === 'openSync') opened.delete(result);
      return result;
    });
  }
  const stat = fs.statSync as Call;
  Reflect.set(fs, 'statSync', (path: unknown, ...given: unknown[]) => {
    if (typeof path !== 'string' || !LOOKED_AT.test(path)) return stat(path, ...given);
    if (!found.has(path)) found.set(path, stat(path, ...given));
    return found.get(path);
  });
}

/** The text that SQLite is to run; undefined for functions of `node:fs`. */
function sqlOf(target: unknown, given: readonly unknown[]): string | undefined {
  if (target instanceof StatementSync) return target.sourceSQL;
  return target instanceof DatabaseSync ? String(given[0]) : undefined;
}

/** Has the disk of a process learn what it syncs and renames. */
function watchSyncs(): void {
  const opened = new Map<number, string>();
  const open = fs.openSync as Call;
  Reflect.set(fs, 'openSync', (...given: unknown[]) => {
    const descriptor = open(...given) as number;
    opened.set(descriptor, String(given[0]));
    return descriptor;
  });
  for (const name of SYNCS) {
    const sync = fs[name];
    Reflect.set(fs, name, (descriptor: number) => {
      sync(descriptor);
      const path = opened.get(descriptor);
      if (path !== undefined) currentProcess()?.disk?.synced(path, descriptor);
    });
  }
  const rename = fs.renameSync;
  Reflect.set(fs, 'renameSync', (from: string, to: string) => {
    currentProcess()?.disk?.renames(from, to);
    rename(from, to);
    for (const [descriptor, path] of opened) if (path === from) opened.set(descriptor, to);
  });
}

/** Waits as long as the disk takes. */
function access([leastMs, mostMs]: readonly [number, number]): Promise<void> {
  const process = currentProcess();
  const delayMs = leastMs + (process?.random() ?? 0) * (mostMs - leastMs);
  return new Promise((resolve) => (process ? process.after(delayMs, resolve, 'disk') : timers.setTimeout(resolve)));
}

/** Waits as long as a sync of the disk takes. */
export function untilSynced(): Promise<void> {
  return access(SYNC_MS);
}

/** Has every module import SQLite from the simulation. Node.js cannot replace the exports of this module in another way. */
function replaceSqlite(): void {
  const url = new URL('./simulated-sqlite.ts', import.meta.url).href;
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier !== 'node:sqlite' || context.parentURL === url) return next(specifier, context);
      return { url, shortCircuit: true };
    },
  });
}

/** An open file as `node:fs/promises` has it. */
class SimulatedFileHandle implements AsyncDisposable {
  readonly fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  datasync = () => this.#do(SYNC_MS, () => fs.fdatasyncSync(this.fd));
  sync = () => this.#do(SYNC_MS, () => fs.fsyncSync(this.fd));
  stat = () => this.#do(ACCESS_MS, () => fs.fstatSync(this.fd));
  truncate = (length?: number) => this.#do(ACCESS_MS, () => fs.ftruncateSync(this.fd, length));
  readFile = () => this.#do(ACCESS_MS, () => fs.readFileSync(this.fd));
  writeFile = (content: string | Uint8Array) => this.#do(ACCESS_MS, () => fs.writeFileSync(this.fd, content));
  close = () => this.#do(ACCESS_MS, () => fs.closeSync(this.fd));
  [Symbol.asyncDispose] = () => this.close();

  read(buffer: Uint8Array, offset: number, length: number, position: number | null) {
    return this.#do(ACCESS_MS, () => ({ bytesRead: fs.readSync(this.fd, buffer, offset, length, position), buffer }));
  }

  write(buffer: Uint8Array, offset?: number, length?: number, position?: number | null) {
    return this.#do(ACCESS_MS, () => ({ bytesWritten: fs.writeSync(this.fd, buffer, offset, length, position), buffer }));
  }

  async #do<Result>(takesMs: readonly [number, number], work: () => Result): Promise<Result> {
    await access(takesMs);
    return work();
  }
}
