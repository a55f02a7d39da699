import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Draw } from './draw.ts';

/** Files of the state directory of which the hub says what their damage costs (docs/backup.md). */
const FILES = ['state.db', 'state.db-wal', 'audit.db', 'audit.db-wal', 'audit.front', 'history.db', 'anchors', 'trust.log', 'rules.yaml'];
const MORE_FILES = ['owner.token', 'hub.key'];
/** Files that belong to others of these names. An older copy of a database is one of its log too, and has no index of it. */
const SIDE_FILES = ['history.db-wal', 'state.db-shm', 'audit.db-shm', 'history.db-shm'];
/** Of these an older copy is put back. An older file of the owner is an edit, and keys and tokens are the same for ever. */
const ROLLED_BACK = ['state.db', 'audit.db', 'audit.front', 'history.db', 'anchors', 'trust.log', 'trust.log'];
const MOST_FILES = 3;

type Contents = ReadonlyMap<string, Buffer>;

/** What may happen to a file while nobody uses it. */
const KINDS: Readonly<Record<string, (path: string, draw: Draw) => void>> = {
  'is emptied': (path) => truncateSync(path, 0),
  'is gone': (path) => rmSync(path),
  'has a flipped bit': (path, draw) => {
    const bytes = readFileSync(path);
    const at = draw.index(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << draw.index(8));
    writeFileSync(path, bytes);
  },
  'is cut': (path, draw) => truncateSync(path, draw.index(readFileSync(path).length)),
};

/** What was damaged, and how it is made whole again. */
export interface Damage {
  readonly what: string;
  /** Names of the files that were damaged. */
  readonly files: readonly string[];
  /** Takes the state directory, which is another one after a start that failed. */
  readonly undo: (stateDir: string) => void;
}

/** The files of a machine as they are now, of which older copies may be put back later. */
export function keepFiles(stateDir: string): Contents {
  const names = [...FILES, ...MORE_FILES, ...SIDE_FILES].filter((name) => existsSync(join(stateDir, name)));
  return new Map(names.map((name) => [name, readFileSync(join(stateDir, name))]));
}

/** Damages some files of a machine that is down, or puts older copies of them back. Returns undefined if it has none of the drawn files. */
export function damageFiles(stateDir: string, older: Contents, draw: Draw): Damage | undefined {
  const before = keepFiles(stateDir);
  const count = draw.chance(0.5) ? 1 : 2 + draw.index(MOST_FILES - 1);
  const done = new Map<string, string>();
  for (let file = 0; file < count; file++) {
    const isOlder = draw.chance(0.4);
    const name = draw.pick(isOlder ? ROLLED_BACK : [...FILES, ...MORE_FILES]);
    const kind = draw.pick(Object.keys(KINDS));
    const path = join(stateDir, name);
    if (done.has(name) || !existsSync(path) || readFileSync(path).length === 0) continue;
    if (isOlder) putBack(stateDir, name, older);
    else KINDS[kind]?.(path, draw);
    done.set(name, isOlder ? 'is older' : kind);
  }
  if (done.size === 0) return undefined;
  const what = [...done].map(([name, kind]) => `${name} ${kind}`).join(', ');
  return { what, files: [...done.keys()], undo: (newDir) => restoreAll(newDir, before) };
}

/** Puts an older copy of a file back, with its side files as they were then. */
function putBack(stateDir: string, name: string, older: Contents): void {
  for (const part of [name, `${name}-wal`, `${name}-shm`]) {
    const content = part.endsWith('-shm') ? undefined : older.get(part);
    if (content) writeFileSync(join(stateDir, part), content, { mode: 0o600 });
    else rmSync(join(stateDir, part), { force: true });
  }
}

function restoreAll(stateDir: string, contents: Contents): void {
  for (const name of [...FILES, ...MORE_FILES, ...SIDE_FILES]) {
    const content = contents.get(name);
    if (content) writeFileSync(join(stateDir, name), content, { mode: 0o600 });
    else rmSync(join(stateDir, name), { force: true });
  }
}

/** A configuration that was damaged. */
export interface ConfigurationDamage {
  readonly what: string;
  /** Whether what the hub keeps of it was damaged too, so that it has to refuse to start. */
  readonly isLost: boolean;
  /** What its owner has written into it. */
  readonly before: Buffer;
}

/** Damages the configuration of a machine that is down, and what the hub keeps of it, so that nobody can read it any more. */
export function damageConfiguration(stateDir: string, draw: Draw): ConfigurationDamage {
  const before = readFileSync(join(stateDir, 'config.yaml'));
  const kind = draw.pick(['is emptied', 'is gone', 'is emptied', 'is gone', 'is cut']);
  KINDS[kind]?.(join(stateDir, 'config.yaml'), draw);
  const kept = readdirSync(join(stateDir, 'snapshots')).find((name) => name.startsWith('config.yaml-'));
  const isLost = kept === undefined || draw.chance(0.5);
  if (kept !== undefined && isLost) truncateSync(join(stateDir, 'snapshots', kept), draw.index(20));
  return { what: `config.yaml ${kind}${isLost ? ', and what was kept of it is cut' : ''}`, isLost, before };
}
