import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';
const BYTES_PER_MB = 1_048_576;
const REMOVE_TRIES = 50;

/** What a control group has used, in MB. */
export interface GroupUse {
  /** All that counts towards the bound: memory of the processes, and pages of files that they have read or written. */
  readonly usedMb: number;
  /** The part that the kernel cannot take back without swap. */
  readonly anonymousMb: number;
  readonly peakMb: number;
  /** How often the bound was reached and the kernel had to take pages back. */
  readonly reclaims: number;
  /** How often the kernel ended a process of the group. */
  readonly kills: number;
}

/**
 * A control group of the kernel's memory controller (cgroups(7)) with a bound. It lies in the group of this process with version 1, and in
 * the nearest parent that hands the controller on with version 2. Needs the right to write there, which root has.
 */
export class MemoryGroup implements AsyncDisposable {
  readonly #path: string;
  readonly #isFirstVersion: boolean;

  private constructor(path: string, isFirstVersion: boolean) {
    this.#path = path;
    this.#isFirstVersion = isFirstVersion;
  }

  /** Returns a new group, or undefined if this machine has no memory controller or does not let this process use it. */
  static open(limitMb: number): MemoryGroup | undefined {
    const own = readFileSync('/proc/self/cgroup', 'utf8');
    // Process ids repeat between private networks.
    const name = `atmo-bench-${randomUUID().slice(0, 8)}`;
    const first = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own)?.[1];
    const parent = first === undefined ? parentOfVersionTwo(own) : join(ROOT, 'memory', first);
    if (parent === undefined) return undefined;
    const group = new MemoryGroup(join(parent, name), first !== undefined);
    try {
      mkdirSync(group.#path);
      group.#write(group.#isFirstVersion ? 'memory.limit_in_bytes' : 'memory.max', limitMb * BYTES_PER_MB);
      return group;
    } catch {
      if (existsSync(group.#path)) rmdirSync(group.#path);
      return undefined;
    }
  }

  /** Program and arguments after which a command runs in the group, with all memory that it takes from its first page on. */
  get launcher(): readonly string[] {
    return ['sh', '-c', `echo $$ > '${join(this.#path, 'cgroup.procs')}' && exec "$@"`, basename(this.#path)];
  }

  use(): GroupUse {
    const stat = this.#read('memory.stat');
    const field = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? Number.NaN);
    if (this.#isFirstVersion) {
      return {
        usedMb: Number(this.#read('memory.usage_in_bytes')) / BYTES_PER_MB,
        anonymousMb: field('total_rss') / BYTES_PER_MB,
        peakMb: Number(this.#read('memory.max_usage_in_bytes')) / BYTES_PER_MB,
        reclaims: Number(this.#read('memory.failcnt')),
        kills: Number(/^oom_kill (\d+)$/m.exec(this.#read('memory.oom_control'))?.[1] ?? 0),
      };
    }
    const events = this.#read('memory.events');
    const event = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(events)?.[1] ?? 0);
    return {
      usedMb: Number(this.#read('memory.current')) / BYTES_PER_MB,
      anonymousMb: field('anon') / BYTES_PER_MB,
      peakMb: Number(this.#read('memory.peak')) / BYTES_PER_MB,
      reclaims: event('max'),
      kills: event('oom_kill'),
    };
  }

  /** Removes the group, whose processes have ended or are about to. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (let tries = 0; existsSync(this.#path) && tries < REMOVE_TRIES; tries++) {
      try {
        rmdirSync(this.#path);
      } catch {
        await sleep(100);
      }
    }
  }

  #read(file: string): string {
    return readFileSync(join(this.#path, file), 'utf8');
  }

  #write(file: string, value: number): void {
    writeFileSync(join(this.#path, file), String(value));
  }
}

/** Returns the nearest group above this process whose children have the memory controller. A group with processes cannot hand it on. */
function parentOfVersionTwo(own: string): string | undefined {
  const path = /^0::(\/.*)$/m.exec(own)?.[1];
  if (path === undefined || !existsSync(join(ROOT, 'cgroup.controllers'))) return undefined;
  for (let folder = join(ROOT, path); folder.startsWith(ROOT); folder = dirname(folder)) {
    const file = join(folder, 'cgroup.subtree_control');
    if (existsSync(file) && readFileSync(file, 'utf8').split(/\s+/).includes('memory')) return folder;
  }
  return undefined;
}
