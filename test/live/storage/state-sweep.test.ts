import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { seededRandom } from '../../seeded-random.ts';
import { type Content, FullState } from '../../storage/full-state.ts';
import { SWEPT_FILES, unsweptOf } from '../../storage/swept-files.ts';

/** Memory where there is some: what is swept is what files hold, and not how fast a disk is. */
const ROOT = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'atmo-sweep-'));
const CHILD = join(import.meta.dirname, '../../storage/children/full-state-child.ts');
const SEED = 20_251;
const FLIPS = 3;
const ENDINGS = ['stop', 'kill'] as const;
type Ending = (typeof ENDINGS)[number];

interface Template {
  readonly dir: string;
  /** The directory as it was earlier. */
  readonly older: string;
  readonly content: Content;
}

type Verdict = 'equal' | 'told' | 'refused' | 'SILENT' | 'TRUST LOST' | 'CRASH';

/** What a file is about that a bit flip within may change unseen: a value of a reading (docs/backup.md). */
const isReading = (file: string) => /^history\.db/.test(file);
/** What people edit: another letter in it is their word. */
const isEdited = (file: string) => /^(config|rules|tools)\.yaml$|^tools_bootstrap\.json$|^(profiles|cluster-models)\//.test(file);

const templates = new Map<Ending, Template>();
afterAll(() => rmSync(ROOT, { recursive: true, force: true }));
beforeAll(async () => {
  for (const ending of ENDINGS) templates.set(ending, await makeTemplate(ending));
}, 120_000);

async function makeTemplate(ending: Ending): Promise<Template> {
  const [dir, older] = [join(ROOT, ending), join(ROOT, `${ending}-older`)];
  mkdirSync(dir, { mode: 0o700 });
  const child = spawn(process.execPath, [CHILD, dir, ending], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('older');
  cpSync(dir, older, { recursive: true });
  child.stdin.write('\n');
  const content = JSON.parse(String((await lines.next()).value)) as Content;
  if (ending === 'kill') child.kill('SIGKILL');
  else child.stdin.write('\n');
  child.stdin.end();
  await exited;
  return { dir, older, content };
}

function filesOf(dir: string): readonly string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));
  return files.sort();
}

function damagesOf(
  { dir, older }: Template,
  file: string,
  random: () => number,
): readonly (readonly [name: string, damage: (path: string) => void])[] {
  const size = statSync(join(dir, file)).size;
  const flips = Array.from({ length: size === 0 ? 0 : FLIPS }, (_, index) => {
    // The heads of files are where most of the harm is done.
    const [at, bit] = [Math.floor(random() * (index === 0 ? Math.min(size, 64) : size)), Math.floor(random() * 8)];
    return [`bit ${bit} of byte ${at} flipped`, (path: string) => flip(path, at, bit)] as const;
  });
  const isOlder = existsSync(join(older, file));
  return [
    ['empty', (path) => truncateSync(path, 0)],
    ['half', (path) => truncateSync(path, Math.floor(size / 2))],
    ['deleted', (path) => rmSync(path)],
    ['a folder', (path) => [rmSync(path), mkdirSync(path, { mode: 0o700 })]],
    ...(isOlder ? [['an older copy', (path: string) => cpSync(join(older, file), path)] as const] : []),
    ...flips,
  ];
}

function flip(path: string, at: number, bit: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  writeFileSync(path, bytes);
}

async function verdictOf(
  dir: string,
  { content }: Template,
  mayDiffer: (part: keyof Content) => boolean,
): Promise<readonly [Verdict, string]> {
  let state: FullState;
  try {
    state = await FullState.open(dir);
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'STORAGE_FAILED') return ['refused', error.message];
    return ['CRASH', String(error instanceof Error ? error.stack : error)];
  }
  try {
    const found = await state.content();
    const told = state.problems.list().join('; ');
    if (found.trust !== content.trust) return ['TRUST LOST', `${found.trust} instead of ${content.trust}; ${told}`];
    const parts = (Object.keys(content) as (keyof Content)[]).filter((part) => found[part] !== content[part]);
    if (parts.length === 0) return ['equal', told];
    if (told !== '') return ['told', told];
    return parts.every(mayDiffer) ? ['equal', ''] : ['SILENT', `${parts.join()} ${state.log.join(' | ')}`];
  } catch (error) {
    return ['CRASH', String(error instanceof Error ? error.stack : error)];
  } finally {
    await state[Symbol.asyncDispose]();
  }
}

function withCopy<Result>(from: string, work: (dir: string) => Promise<Result>): Promise<Result> {
  const dir = mkdtempSync(join(ROOT, 'case-'));
  cpSync(from, dir, { recursive: true });
  return work(dir).finally(() => rmSync(dir, { recursive: true, force: true }));
}

describe('a state directory', () => {
  test('is swept file by file: all that are known are there, and no others', () => {
    const files = [...templates.values()].flatMap(({ dir }) => filesOf(dir));
    expect(unsweptOf(files)).toEqual([]);
    expect(SWEPT_FILES.filter((swept) => !files.some((file) => swept.test(file)))).toEqual([]);
  });

  test.each(ENDINGS)('opens after a %s with all that it held, and without a false alarm', async (ending) => {
    const template = templates.get(ending) as Template;
    await withCopy(template.dir, async (dir) => {
      expect(await verdictOf(dir, template, () => false)).toEqual(['equal', '']);
      expect(await verdictOf(dir, template, () => false)).toEqual(['equal', '']);
    });
  });

  test('loses nothing silently: every file, damaged in every way, after a clean stop and after a kill', async () => {
    const random = seededRandom(SEED);
    const counts = new Map<Verdict, number>();
    const bad: string[] = [];
    for (const ending of ENDINGS) {
      const template = templates.get(ending) as Template;
      for (const file of filesOf(template.dir)) {
        for (const [name, damage] of damagesOf(template, file, random)) {
          const isFree = (part: keyof Content) =>
            (part === 'readings' && isReading(file)) ||
            (part === 'edited' && isEdited(file)) ||
            (part === 'documents' && file.startsWith('rag.db'));
          const mayDiffer = (part: keyof Content) => name.startsWith('bit') && isFree(part);
          const [verdict, detail] = await withCopy(template.dir, (dir) => {
            damage(join(dir, file));
            return verdictOf(dir, template, mayDiffer);
          });
          counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
          const isBad = verdict === 'SILENT' || verdict === 'TRUST LOST' || verdict === 'CRASH';
          // A refusal says which file it is about.
          const isNameless = verdict === 'refused' && !detail.includes(basename(file).replace(/-(wal|shm)$/, ''));
          if (isBad || isNameless) bad.push(`${ending}: ${file} ${name}: ${verdict} ${detail.slice(0, 600)}`);
        }
      }
    }
    expect(bad).toEqual([]);
    expect(counts.values().reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(500);
    expect(counts.get('told')).toBeGreaterThan(50);
  }, 600_000);
});
