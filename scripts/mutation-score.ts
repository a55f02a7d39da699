import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutant, mutantsOf, sampleOf } from './mutation-score/mutants.ts';
import { Reach } from './mutation-score/reach.ts';
import { placeOf, scoreReport } from './mutation-score/score-report.ts';
import { switchedSource } from './mutation-score/switched-source.ts';
import { TestRuns } from './mutation-score/test-runs.ts';
import { refusedByTypes } from './mutation-score/type-check.ts';
import { isUnnoticed, Verdicts, verdictOn } from './mutation-score/verdicts.ts';

const ROOT = new URL('..', import.meta.url).pathname.replace(/\/$/, '');
const STATE = join(ROOT, '.run/mutation-score');
const FOLDERS = ['auth', 'calls', 'codec', 'storage'];
const IMPORT = new RegExp(`from '(?:\\.\\./)+src/(?:${FOLDERS.join('|')})/`);
const USAGE = `usage: npm run mutate -- [--sample N] [--seed N] [--folder NAME] [--workers N] [--again] [--report]
Draws mutants from src/{${FOLDERS.join(',')}}, and reports which ones are noticed by the unit tests of these folders and of a whole hub, and by others that import these
sources.
It goes on where it was ended. --again asks once more about those that nobody noticed; --report only prints what is known. A mutant
that was noticed is not asked about again; without .run/mutation-score, all are judged anew.`;

/** See `USAGE`. */
async function main(args: readonly string[]): Promise<void> {
  const { sample, seed, folder, workers, again, reportOnly } = optionsFrom(args);
  mkdirSync(STATE, { recursive: true });
  const files = FOLDERS.flatMap((name) => globSync(`src/${name}/**/*.ts`, { cwd: ROOT })).toSorted();
  const mutants = sampleOf(
    files.flatMap((file) => mutantsOf(file, textOf(file))),
    sample,
    seed,
  );
  const wanted = mutants.filter(({ file }) => folder === undefined || file.startsWith(`src/${folder}/`));
  const sources = JSON.stringify(switchedSources(mutants));
  process.env.ATMO_MUTATED_SOURCES = join(STATE, `sources-${seed}-${sample}.json`);
  writeFileSync(process.env.ATMO_MUTATED_SOURCES, sources);
  const reach = new Reach(ROOT, join(STATE, `reach-${seed}-${sample}.json`), mutants);
  const verdicts = new Verdicts(join(STATE, 'verdicts.jsonl'));
  const open = wanted.filter((mutant) => {
    const known = verdicts.of(mutant);
    return !known || (again && isUnnoticed(known));
  });
  if (open.length > 0 && !reportOnly) await runTests(open, { workers, sources, reach, verdicts });
  if (!reportOnly) askCompiler(verdicts.forCompiler(wanted), verdicts);
  process.stdout.write(`${scoreReport(wanted, verdicts, FOLDERS).join('\n')}\n`);
}

interface Parts {
  readonly sources: string;
  readonly reach: Reach;
  readonly verdicts: Verdicts;
}

async function runTests(
  open: readonly Mutant[],
  { workers, sources, reach, verdicts }: Parts & { readonly workers: number },
): Promise<void> {
  const runs = await Promise.all(Array.from({ length: workers }, startRuns));
  await reach.record(runs, testFiles(), sources);
  const next = open.values();
  await Promise.all(runs.map((own) => work(next, { runs: own, reach, verdicts })));
  await Promise.all(runs.map((own) => own.end()));
}

function askCompiler(mutants: readonly Mutant[], verdicts: Verdicts): void {
  if (mutants.length > 0) verdicts.addTypeCheck(mutants, refusedByTypes(mutants, ROOT, join(STATE, 'types')));
}

function optionsFrom(args: readonly string[]) {
  const options = {
    sample: { type: 'string', default: '1500' },
    seed: { type: 'string', default: '1' },
    folder: { type: 'string' },
    workers: { type: 'string', default: '2' },
    again: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  const number = (text: string) => (/^[1-9]\d*$/.test(text) ? Number(text) : undefined);
  const [sample, seed, workers] = [values.sample, values.seed, values.workers].map(number);
  if (values.help || !sample || !seed || !workers) {
    process.stdout.write(`${USAGE}\n`);
    process.exit(values.help ? 0 : 2);
  }
  return { sample, seed, workers, folder: values.folder, again: values.again, reportOnly: values.report };
}

/** The unit tests of the folders and of a whole hub, and those that import one of the sources. */
function testFiles(): readonly string[] {
  const all = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/live/**'] });
  const isOwn = (file: string) => [...FOLDERS, 'hub'].some((name) => file.startsWith(`test/${name}/`));
  return all.filter((file) => isOwn(file) || IMPORT.test(textOf(file))).toSorted();
}

function startRuns(): Promise<TestRuns> {
  const script = (name: string) => join(ROOT, 'scripts/mutation-score', name);
  return TestRuns.start({ root: ROOT, preload: script('load-switched.ts'), setup: script('setup-mutants.ts') });
}

/** The sources that have mutants, by URL. */
function switchedSources(mutants: readonly Mutant[]): Readonly<Record<string, string>> {
  const byFile = Object.entries(Object.groupBy(mutants, ({ file }) => file));
  return Object.fromEntries(
    byFile.map(([file, own = []]) => [pathToFileURL(join(ROOT, file)).href, switchedSource(textOf(file), own)] as const),
  );
}

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

async function work(
  mutants: Iterable<Mutant>,
  { runs, reach, verdicts }: { readonly runs: TestRuns; readonly reach: Reach; readonly verdicts: Verdicts },
): Promise<void> {
  for (const mutant of mutants) {
    const verdict = await verdictOn(mutant, reach, runs);
    verdicts.add(verdict);
    if (verdict.state !== 'noticed') process.stdout.write(`${verdict.state}: ${placeOf(mutant)}\n`);
  }
}

if (import.meta.main) await main(process.argv.slice(2));
