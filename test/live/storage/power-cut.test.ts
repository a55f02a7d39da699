import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import type { Moment } from '../../storage/children/power-cut-child.ts';
import { type Content, FullState } from '../../storage/full-state.ts';

const ROOT = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'atmo-cut-'));
afterAll(() => rmSync(ROOT, { recursive: true, force: true }));

const CHILD = join(import.meta.dirname, '../../storage/children/power-cut-child.ts');
/** One of so many places where a hub writes is looked at; ATMO_CUT_EACH=1 looks at all. */
const EACH = Number(process.env.ATMO_CUT_EACH || 9);

/** What a start finds wrong, and what of that which was said before is not there; nothing when all is well. */
async function faultsOf(dir: string, { said, before }: Moment, mayLose: readonly (keyof Content)[]): Promise<readonly string[]> {
  try {
    await using state = await FullState.open(dir);
    const found = await state.content();
    const faults = [...state.problems.list()];
    const [intact, problem] = JSON.parse(found.calls) as [boolean, string?];
    if (!intact) faults.push(String(problem));
    if (said === undefined) return faults.map((fault) => `${before}: ${fault}`);
    if (found.identity !== said.identity) faults.push(`identity ${found.identity} instead of ${said.identity}`);
    for (const part of ['trust', 'state', 'readings', 'calls', 'fabric', 'documents'] as const) {
      if (!mayLose.includes(part) && !holdsAll(found[part], said[part])) faults.push(`${part} ${found[part]} lacks some of ${said[part]}`);
    }
    return faults.map((fault) => `${before}: ${fault}`);
  } catch (error) {
    return [`${before}: ${error instanceof Error ? error.stack : String(error)}`];
  }
}

/** What changes over and over may have changed again; what was added is there. */
function holdsAll(found: string, said: string): boolean {
  return leavesOf(said).every((leaf) => found.includes(leaf));
}

function leavesOf(text: string): readonly string[] {
  const parts: unknown[] = (JSON.parse(text) as unknown[]).flat(1);
  return parts.map((part) => JSON.stringify(part)).filter((leaf) => !/"(same|asked|new-\d+)"|"key":"round"|^(true|false|null)$/.test(leaf));
}

/** As after a start of the machine: what names the start of the machine names another one. */
function restartMachine(dir: string): void {
  const path = join(dir, 'anchors');
  if (!existsSync(path)) return;
  const lines = readFileSync(path, 'latin1')
    .split('\n')
    .map((line) => {
      const [, body] = /^(\S+ \d+ \d+ \S+ )\S+ *#/.exec(line) ?? [];
      if (body === undefined) return line;
      const changed = `${body}another1`;
      return `${changed.padEnd(line.length - 9)}#${crc32(changed).toString(16).padStart(8, '0')}`;
    });
  writeFileSync(path, lines.join('\n'), 'latin1');
}

test('a hub that is killed or loses its power before any of its writes loses nothing that it had said, and finds no damage', async () => {
  const { stderr } = spawnSync(process.execPath, [CHILD, ROOT, String(EACH)], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const moments = JSON.parse(readFileSync(join(ROOT, 'moments.json'), 'utf8')) as readonly Moment[];
  expect(moments.length * EACH).toBeGreaterThan(200);
  const faults: string[] = [];
  for (const moment of moments) {
    const cut = `${moment.dir}-cut`;
    cpSync(moment.dir, cut, { recursive: true });
    faults.push(...(await faultsOf(moment.dir, moment, [])));
    // Of a power cut: the lines that were never synced are gone, and the end of a log.
    restartMachine(cut);
    rmSync(join(cut, 'audit.front'), { force: true });
    const log = join(cut, 'audit.db-wal');
    if (existsSync(log) && statSync(log).size > moment.syncedLog) truncateSync(log, moment.syncedLog);
    faults.push(...(await faultsOf(cut, moment, ['calls', 'readings'])).map((fault) => `power cut ${fault}`));
    for (const done of [moment.dir, cut]) rmSync(done, { recursive: true });
  }
  expect(faults).toEqual([]);
}, 600_000);
