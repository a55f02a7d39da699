import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { orAborted } from '../../core/clock.ts';
import {
  type FoundSensor,
  type ReadRequest,
  roundedValue,
  type SampleListener,
  type SensorFault,
  type SensorSample,
  type SensorSource,
} from '../sensor-source.ts';

/** Reads and writes attributes of the kernel in sysfs, or in a recorded copy of sysfs. */
export class Sysfs {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Returns the sorted names in a folder; an empty list for a missing folder. */
  async list(path: string): Promise<readonly string[]> {
    const names = await readdir(join(this.#root, path)).catch(() => []);
    return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  /** Returns the text of an attribute without its line end. Rejects like `readFile`. Takes as long as the driver needs. */
  async text(path: string): Promise<string> {
    return (await readFile(join(this.#root, path), 'utf8')).trimEnd();
  }

  /** Returns the text of an attribute; undefined if it cannot be read. */
  async maybe(path: string): Promise<string | undefined> {
    return this.text(path).catch(() => undefined);
  }

  /** Returns the text of the attribute `first`. If it does not exist, returns the text of the attribute `second`. */
  async either(first: string, second: string): Promise<string> {
    return this.text(first).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return this.text(second);
    });
  }

  async write(path: string, text: string): Promise<void> {
    await writeFile(join(this.#root, path), text);
  }

  /** Returns the name of a link's target, such as `1-0076`. Returns undefined if the link does not exist. */
  async nameBehind(path: string): Promise<string | undefined> {
    return realpath(join(this.#root, path)).then(basename, () => undefined);
  }

  /** Resolves the links in a path, and returns the names of its folders, the outermost first. */
  async placeOf(path: string): Promise<readonly string[]> {
    return realpath(join(this.#root, path)).then(
      (real) => real.split('/'),
      () => [],
    );
  }
}

/** Base class of sources that read the kernel's sensors one after the other. */
export abstract class KernelSource implements SensorSource {
  abstract readonly name: string;
  protected readonly kernel: Sysfs;
  readonly #lock = new ReadLock();

  constructor({ kernel }: { readonly kernel: Sysfs }) {
    this.kernel = kernel;
  }

  abstract find(): Promise<readonly FoundSensor[]>;

  async read(request: ReadRequest, onSample: SampleListener): Promise<void> {
    await readInSequence(request, { lock: this.#lock, read: (address) => this.readOne(address) }, onSample);
  }

  protected abstract readOne(address: string): Promise<ReadOutcome>;
}

/** A value in the sensor's unit, or the reason for its absence. */
export type ReadOutcome = { readonly value: number | boolean } | ReadFault;

/** Reads sensors one after the other under a lock and emits a sample for each. While an earlier read hangs, emits `busy` instead. */
export async function readInSequence(
  { addresses, signal }: ReadRequest,
  { lock, read }: { readonly lock: ReadLock; readonly read: (address: string) => Promise<ReadOutcome> },
  onSample: SampleListener,
) {
  for (const address of addresses) {
    if (signal.aborted) return;
    const sample = lock.isTaken ? BUSY : await lock.run(() => read(address), signal).catch(readFault);
    if (!signal.aborted) onSample({ address, ...sample } satisfies SensorSample);
  }
}

const BUSY: ReadFault = { fault: 'busy', detail: 'an earlier read has not come back yet' };

/** Parses a number in the format of kernel drivers. Returns undefined for any other text. */
export function kernelNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d{1,18}(\.\d{1,18})?(e[-+]\d{1,2})?$/i.test(text.trim()) ? Number(text) : undefined;
}

/** Returns the number in an attribute's text times `factor`, or the reason why there is no number. */
export function scaled(text: string, factor: number): ReadOutcome {
  const number = kernelNumber(text);
  if (number !== undefined) return { value: roundedValue(number * factor) };
  if (text === '') return { fault: 'busy', detail: 'the driver has no value yet' };
  return { fault: 'garbled', detail: `${JSON.stringify(text.slice(0, 40))} is no number` };
}

/** The reason why a read failed: a code, and an explanation for people. */
interface ReadFault {
  readonly fault: SensorFault;
  readonly detail: string;
}

const GONE = 'does not answer; is it still connected?';

/** Explanations for errors of drivers (errno(3)). */
const MEANINGS: Readonly<Record<string, ReadFault>> = {
  EIO: { fault: 'garbled', detail: 'the driver got no sound answer (I/O error)' },
  EAGAIN: { fault: 'busy', detail: 'the driver has no value now' },
  EBUSY: { fault: 'busy', detail: 'the driver is at work for somebody else' },
  EACCES: { fault: 'gone', detail: 'may not be read; give the user of the hub the right to' },
  EPERM: { fault: 'gone', detail: 'may not be read; give the user of the hub the right to' },
};

/** Returns the explanation for an error that occurred when an attribute was read. */
function readFault(error: unknown): ReadFault {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return MEANINGS[code] ?? { fault: 'gone', detail: code === '' || code === 'ENOENT' ? GONE : `${GONE} (${code})` };
}

/**
 * A lock for one read at a time. A read in the kernel cannot be cancelled, so after an abort, the lock stays held until the kernel returns.
 * A hanging bus then blocks only one thread, not all threads.
 */
export class ReadLock {
  #isTaken = false;

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Runs work under the lock. If the signal aborts first, rejects with the signal's reason, but holds the lock until the work ends. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#isTaken = true;
    const done = work().finally(() => {
      this.#isTaken = false;
    });
    return orAborted(done, signal);
  }
}
