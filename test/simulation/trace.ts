import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** One thing that happened. */
export interface TraceLine {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

const KEPT_LINES = 50_000;

/** What happened in a world, as lines for people, and the hash of all of it. */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly #file: number | undefined;
  #lines: TraceLine[] = [];
  #events = 0;

  /** `path` is a file that gets every line. */
  constructor(path?: string) {
    this.#file = path === undefined ? undefined : openSync(path, 'w');
  }

  /** Notes an event that is no line of its own, such as a timer. */
  event(atMs: number, who: string, kind: string): void {
    this.#events = crc32(`${atMs} ${who} ${kind}`, this.#events);
  }

  line(line: TraceLine): void {
    const text = textOf(line);
    this.#hash.update(`${this.#events} ${text}\n`);
    if (this.#file !== undefined) writeSync(this.#file, `${text}\n`);
    this.#lines.push(line);
    if (this.#lines.length >= 2 * KEPT_LINES) this.#lines = this.#lines.slice(KEPT_LINES);
  }

  /** The last lines in which one of these texts stands. */
  concerning(texts: readonly string[], most: number): readonly string[] {
    const found = this.#lines.filter(({ what }) => texts.some((text) => what.includes(text)));
    return found.slice(-most).map(textOf);
  }

  /** Ends the trace and returns the hash of all events (hex). */
  end(): string {
    if (this.#file !== undefined) closeSync(this.#file);
    return this.#hash.update(String(this.#events)).digest('hex');
  }
}

/** Writes milliseconds since the begin of the world as days, hours, minutes and seconds. */
export function simulatedTime(atMs: number): string {
  const [days, rest] = [Math.floor(atMs / 86_400_000), atMs % 86_400_000];
  const clock = [rest / 3_600_000, (rest / 60_000) % 60, (rest / 1000) % 60].map((part) => String(Math.floor(part)).padStart(2, '0'));
  return `${days}d ${clock.join(':')}.${(rest % 1000).toFixed(3).padStart(7, '0')}`;
}

function textOf({ atMs, who, what }: TraceLine): string {
  return `${simulatedTime(atMs)} ${who}: ${what}`;
}
