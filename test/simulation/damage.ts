import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Draw } from './draw.ts';

/** Files of the state directory of which the hub says what their damage costs (docs/backup.md). */
const FILES = ['state.db', 'state.db-wal', 'audit.db', 'audit.db-wal', 'audit.front', 'history.db', 'anchors', 'trust.log', 'rules.yaml'];
const MORE_FILES = ['owner.token', 'hub.key'];

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
  /** Takes the state directory, which is another one after a start that failed. */
  readonly undo: (stateDir: string) => void;
}

/** Damages one file of a machine that is down. Returns undefined if it has none of the drawn file. */
export function damageFile(stateDir: string, draw: Draw): Damage | undefined {
  const name = draw.pick([...FILES, ...MORE_FILES]);
  const kind = draw.pick(Object.keys(KINDS));
  const path = join(stateDir, name);
  const before = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  if (before.length === 0) return undefined;
  KINDS[kind]?.(path, draw);
  return { what: `${name} ${kind}`, undo: (newDir) => writeFileSync(join(newDir, name), before, { mode: 0o600 }) };
}
