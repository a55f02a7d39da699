import { closeSync, constants, fstatSync, fsyncSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { setAsideUnlessFile, syncPath, type WriteBytes, writeAll } from '../core/files/file-system.ts';
import type { Service } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { FileAnchor, FileMark } from '../core/storage/key-value-store.ts';

interface Line {
  readonly committed: FileMark;
  readonly syncedGeneration: number;
  /** Boot id of the machine when the line was written. */
  readonly boot: string;
}

/** Lets tests replace the boot id of the machine and the write function. */
interface AnchorEnvironment {
  readonly boot?: string;
  readonly write?: WriteBytes;
}

/** Paths of the anchored files below the state directory, in the order of their lines. A new path must be appended at the end. */
const FILES = ['state.db', 'history.db', 'audit.db', 'audit.front', 'matter/hub/storage.db'] as const;
export type AnchoredFile = (typeof FILES)[number];

const FORM = /^(\S+) (\d+) (\d+) (\S+) (\S+) *#([0-9a-f]{8})$/;
const LINE_BYTES = 128;
const NO_DIGEST = '-';

/**
 * Manages the file `anchors` of a state directory, which has a line of fixed length for each anchored file. After each commit, one write
 * replaces the line in place. The write takes some microseconds and is never synced. So after a power cut, a line may be ahead of its
 * database. If a line is from an earlier boot, the hub uses only its synced generation.
 */
export class StateAnchors implements Service {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #boot: string;
  readonly #writeBytes: WriteBytes | undefined;
  readonly #lines = new Map<string, Line>();
  #descriptor: number | undefined;
  #isOpen = false;
  #isFailing = false;

  constructor(directory: string, logger: Logger, { boot = bootOfMachine(), write }: AnchorEnvironment = {}) {
    this.#path = join(directory, 'anchors');
    this.#logger = logger;
    this.#boot = boot;
    this.#writeBytes = write;
  }

  /** Opens the file. A failure is only logged, because the databases also work without the file. */
  async start(): Promise<void> {
    this.#open();
  }

  of(name: AnchoredFile): FileAnchor {
    return {
      least: () => this.#least(name),
      committed: (mark) => this.#write(name, mark, this.#lines.get(name)?.syncedGeneration ?? 0),
      synced: (mark) => this.#write(name, newerOf(this.#lines.get(name)?.committed, mark), mark.generation),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    this.#isOpen = false;
    this.#lines.clear();
  }

  #least(name: AnchoredFile): FileMark | undefined {
    this.#open();
    const line = this.#lines.get(name);
    if (!line || line.boot === this.#boot || line.syncedGeneration === line.committed.generation) return line?.committed;
    return { generation: line.syncedGeneration, digest: '' };
  }

  #write(name: AnchoredFile, committed: FileMark, syncedGeneration: number): void {
    this.#open();
    const line: Line = { committed, syncedGeneration: Math.min(syncedGeneration, committed.generation), boot: this.#boot };
    this.#lines.set(name, line);
    if (this.#descriptor === undefined) return;
    try {
      this.#put(this.#descriptor, Buffer.from(textOf(name, line), 'latin1'), FILES.indexOf(name) * LINE_BYTES);
      this.#isFailing = false;
    } catch (error) {
      // A failure is only logged, because an anchor may be older than its database.
      if (!this.#isFailing) this.#logger.warn('storage.anchors_not_written', { path: this.#path, reason: String(error) });
      this.#isFailing = true;
    }
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    try {
      const aside = setAsideUnlessFile(this.#path);
      if (aside !== undefined) this.#logger.warn('storage.anchors_set_aside', { path: this.#path, aside });
      this.#descriptor = openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
      this.#read(this.#descriptor);
    } catch (error) {
      this.#logger.warn('storage.anchors_not_opened', { path: this.#path, reason: String(error) });
    }
  }

  #read(descriptor: number): void {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(FILES.length * LINE_BYTES, ' ');
    readFileSync(descriptor).copy(bytes);
    for (const [index, name] of FILES.entries()) {
      const text = bytes.toString('latin1', index * LINE_BYTES, (index + 1) * LINE_BYTES - 1);
      const line = parse(name, text);
      if (line) this.#lines.set(name, line);
      // A damaged line is only logged: the database is checked anyway and gets a new anchor.
      else if (text.trim() !== '') this.#logger.warn('storage.anchor_damaged', { path: this.#path, file: name });
    }
    // The file gets its full size now, so that later writes succeed on a full disk.
    if (size === bytes.length) return;
    this.#put(descriptor, bytes, 0);
    fsyncSync(descriptor);
    syncPath(dirname(this.#path));
  }

  #put(descriptor: number, bytes: Uint8Array, position: number): void {
    writeAll({ path: this.#path, descriptor, bytes, position, write: this.#writeBytes });
  }
}

function newerOf(known: FileMark | undefined, mark: FileMark): FileMark {
  return known && known.generation >= mark.generation ? known : mark;
}

function textOf(name: string, { committed, syncedGeneration, boot }: Line): string {
  const body = `${name} ${committed.generation} ${syncedGeneration} ${committed.digest || NO_DIGEST} ${boot}`;
  return `${body.padEnd(LINE_BYTES - 10)}#${checkOf(body)}\n`;
}

function parse(name: AnchoredFile, text: string): Line | undefined {
  const [, found, committed, synced, digest = '', boot = '', check] = FORM.exec(text) ?? [];
  if (found !== name || checkOf(`${name} ${committed} ${synced} ${digest} ${boot}`) !== check) return undefined;
  const mark = { generation: Number(committed), digest: digest === NO_DIGEST ? '' : digest };
  return { committed: mark, syncedGeneration: Number(synced), boot };
}

function checkOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** Returns the kernel's boot id. If it cannot be read, each start of the hub counts as a new boot. */
function bootOfMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
  } catch {
    return `p${process.pid}`;
  }
}
