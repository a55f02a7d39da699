import fs from 'node:fs';

/** What a disk refuses: nothing, what needs room, or every change. */
export type DiskState = 'well' | 'full' | 'read-only';

/** A change of the disk: a function of `node:fs` or of SQLite, and what it is given. */
interface Change {
  readonly name: string;
  readonly given: readonly unknown[];
  /** The statement of SQLite that is run; undefined for functions of `node:fs`. */
  readonly sql?: string | undefined;
}

const NEEDS_ROOM = new Set(['writeFileSync', 'mkdirSync', 'copyFileSync', 'appendFileSync', 'mkdtempSync']);
const SQL_NEEDS_ROOM = /^\s*(?:INSERT|REPLACE|UPDATE|CREATE|ALTER|VACUUM)\b/i;
const SQL_CHANGES = /^\s*(?:INSERT|REPLACE|UPDATE|CREATE|ALTER|VACUUM|DELETE|DROP)\b/i;

/** Throws the error of Node.js or SQLite with which a disk in this state refuses a change. */
export function requireDisk(state: DiskState, change: Change): void {
  if (state === 'well') return;
  if (change.sql !== undefined) {
    const isRefused = (state === 'full' ? SQL_NEEDS_ROOM : SQL_CHANGES).test(change.sql);
    if (isRefused) throw sqliteError(state);
  } else if (state === 'full' ? needsRoom(change) : changes(change)) throw systemError(state, change.name);
}

function needsRoom({ name, given }: Change): boolean {
  return name === 'writeSync' ? isLonger(given) : NEEDS_ROOM.has(name);
}

/** Returns whether a write makes a file longer. What stands in its place already can be written on a full disk too. */
function isLonger([descriptor, bytes, offset, length, position]: readonly unknown[]): boolean {
  if (typeof position !== 'number') return true;
  const end = position + (typeof length === 'number' ? length : (bytes as Uint8Array).byteLength - Number(offset ?? 0));
  return end > fs.fstatSync(Number(descriptor)).size;
}

/** Flags with which a file is opened to change it or to make it. */
const WRITING = fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_TRUNC;

function changes({ name, given }: Change): boolean {
  if (name !== 'openSync') return true;
  const [, flags = 'r'] = given;
  return typeof flags === 'number' ? (flags & WRITING) !== 0 : flags !== 'r';
}

function systemError(state: 'full' | 'read-only', syscall: string): Error {
  const [code, message] = state === 'full' ? ['ENOSPC', 'no space left on device'] : ['EROFS', 'read-only file system'];
  return Object.assign(new Error(`${code}: ${message}, ${syscall}`), { code, syscall });
}

/** The result codes SQLITE_FULL and SQLITE_READONLY (https://sqlite.org/rescode.html). */
function sqliteError(state: 'full' | 'read-only'): Error {
  const [errcode, message] = state === 'full' ? [13, 'database or disk is full'] : [8, 'attempt to write a readonly database'];
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
}
