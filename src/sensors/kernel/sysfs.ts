import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { orAborted } from '../../core/clock.ts';
import { type ReadRequest, roundedValue, type SampleListener, type SensorFault, type SensorSample } from '../sensor-source.ts';

/** The kernel's sysfs, or a recording of one. What is missing is not there, never an error. */
export class Sysfs {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Names in a folder, sorted; none where there is no such folder. */
  async list(path: string): Promise<readonly string[]> {
    const names = await readdir(join(this.#root, path)).catch(() => []);
    return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  /** The text of an attribute without its line end. Rejects as `readFile` does; a driver may take its time. */
  async text(path: string): Promise<string> {
    return (await readFile(join(this.#root, path), 'utf8')).trimEnd();
  }

  /** The same of an attribute that need not be there. */
  async maybe(path: string): Promise<string | undefined> {
    return this.text(path).catch(() => undefined);
  }

  /** The text of the first of two attributes that is there. */
  async either(first: string, second: string): Promise<string> {
    return this.text(first).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return this.text(second);
    });
  }

  async write(path: string, text: string): Promise<void> {
    await writeFile(join(this.#root, path), text);
  }

  /** The name of what a link leads to, such as `1-0076`; undefined where there is no such link. */
  async nameBehind(path: string): Promise<string | undefined> {
    return realpath(join(this.#root, path)).then(basename, () => undefined);
  }

  /** Names of the folders in which something really is, from the outside in. */
  async placeOf(path: string): Promise<readonly string[]> {
    return realpath(join(this.#root, path)).then(
      (real) => real.split('/'),
      () => [],
    );
  }
}

/** A value in the unit of its sensor, or why there is none. */
export type ReadOutcome = { readonly value: number | boolean } | ReadFault;

/** Reads one sensor; what it throws is an error of the kernel. */
export type ReadOne = (address: string) => Promise<ReadOutcome>;

/** Reads sensors one after the other in a lane and tells each; `busy` for all while an earlier read still hangs there. */
export async function readInSequence(
  { addresses, signal }: ReadRequest,
  { lane, read }: { lane: ReadLock; read: ReadOne },
  hear: SampleListener,
) {
  for (const address of addresses) {
    if (signal.aborted) return;
    const sample = lane.isTaken ? BUSY : await outcomeOf(lane, () => read(address), signal);
    if (!signal.aborted) hear({ address, ...sample } satisfies SensorSample);
  }
}

const BUSY: ReadFault = { fault: 'busy', detail: 'an earlier read has not come back yet' };

async function outcomeOf(lane: ReadLock, read: () => Promise<ReadOutcome>, signal: AbortSignal): Promise<ReadOutcome> {
  return lane.run(read, signal).catch(readFault);
}

/** A number as drivers write it; undefined for anything else. */
export function kernelNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d{1,18}(\.\d{1,18})?(e[-+]\d{1,2})?$/i.test(text.trim()) ? Number(text) : undefined;
}

/** An attribute's number times `factor`. */
export function scaled(text: string, factor: number): ReadOutcome {
  const number = kernelNumber(text);
  if (number !== undefined) return { value: roundedValue(number * factor) };
  if (text === '') return { fault: 'busy', detail: 'the driver has no value yet' };
  return { fault: 'garbled', detail: `${JSON.stringify(text.slice(0, 40))} is no number` };
}

/** Why a reading failed, for people and for the count of misses. */
interface ReadFault {
  readonly fault: SensorFault;
  readonly detail: string;
}

const GONE = 'does not answer; is it still connected?';

/** What drivers mean by their errors (errno(3)). */
const MEANINGS: Readonly<Record<string, ReadFault>> = {
  EIO: { fault: 'garbled', detail: 'the driver got no sound answer (I/O error)' },
  EAGAIN: { fault: 'busy', detail: 'the driver has no value now' },
  EBUSY: { fault: 'busy', detail: 'the driver is at work for somebody else' },
  EACCES: { fault: 'gone', detail: 'may not be read; give the user of the hub the right to' },
  EPERM: { fault: 'gone', detail: 'may not be read; give the user of the hub the right to' },
};

/** The meaning of what reading an attribute threw. */
function readFault(error: unknown): ReadFault {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return MEANINGS[code] ?? { fault: 'gone', detail: code === '' || code === 'ENOENT' ? GONE : `${GONE} (${code})` };
}

/**
 * A way that only one goes at a time. A read of the kernel cannot be called back: whoever gives up waiting leaves the lane taken until
 * the kernel lets go, so that a bus that hangs costs one thread and never all of them.
 */
export class ReadLock {
  #isTaken = false;

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Does the work, or rejects with the signal's reason when that aborts first. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#isTaken = true;
    const done = work().finally(() => {
      this.#isTaken = false;
    });
    return orAborted(done, signal);
  }
}
