import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { SentMessage } from './simulated-network.ts';
import { asWorld } from './simulated-process.ts';

/** One thing that happened. */
export interface TraceLine {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

const KEPT_LINES = 50_000;

/** What happened in a world, as lines for people, and the hash of all of it. */
export class Trace {
  readonly #digest = new Digest();
  readonly #file: number | undefined;
  #lines: TraceLine[] = [];

  /** `path` is a file that gets every line. Its folder is made. */
  constructor(path?: string) {
    if (path !== undefined) mkdirSync(dirname(path), { recursive: true });
    this.#file = path === undefined ? undefined : openSync(path, 'w');
  }

  /** Notes an event that is no line of its own, such as a timer. */
  event(atMs: number, who: string, kind: string): void {
    this.#digest.time(atMs);
    this.#digest.name(who);
    this.#digest.name(kind);
  }

  /** Notes what one machine sends to another one. It is a line of the file alone, since there are so many. */
  message(atMs: number, { from, to, type, bytes, words }: SentMessage): void {
    this.#digest.time(atMs);
    for (const name of [from, to, type]) this.#digest.name(name);
    this.#digest.number(bytes);
    if (this.#file !== undefined) this.#write({ atMs, who: from, what: `${words()} to ${to}${bytes > 0 ? `, ${bytes} B` : ''}` });
  }

  line(line: TraceLine): void {
    this.#digest.time(line.atMs);
    this.#digest.name(line.who);
    this.#digest.number(crc32(line.what));
    if (this.#file !== undefined) this.#write(line);
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
    return this.#digest.hex();
  }

  #write(line: TraceLine): void {
    const file = this.#file;
    if (file !== undefined) asWorld(() => writeSync(file, `${textOf(line)}\n`));
  }
}

/** Two numbers of 32 bits that depend on all that was added, and on the order. Unlike a cryptographic hash, it costs almost nothing. */
class Digest {
  readonly #names = new Map<string, number>();
  readonly #time = new Float64Array(1);
  readonly #halves = new Uint32Array(this.#time.buffer);
  #first = 0x811c9dc5;
  #second = 0x9e3779b9;

  number(value: number): void {
    this.#first = Math.imul(this.#first ^ value, 0x01000193);
    this.#second = Math.imul((this.#second << 7) | (this.#second >>> 25), 0x85ebca6b) ^ value;
  }

  time(ms: number): void {
    this.#time[0] = ms;
    this.number(this.#halves[0] ?? 0);
    this.number(this.#halves[1] ?? 0);
  }

  name(text: string): void {
    const known = this.#names.get(text);
    const value = known ?? crc32(text);
    if (known === undefined) this.#names.set(text, value);
    this.number(value);
  }

  hex(): string {
    return createHash('sha256').update(`${this.#first} ${this.#second}`).digest('hex');
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
