import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { exactly, type FailedTest, firstFailure, runUnitTests, type TestReport, TOOLS_ENV } from './check/unit-report.ts';
import { compilerOfMutations, type Mutation, mutated } from './mutation.ts';
import { MUTATIONS } from './mutation-table.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const COPIED = ['src', 'test', 'scripts', 'package.json', 'tsconfig.json'];
const LINKED = ['node_modules', 'device-profiles', 'docs'];
const TESTS_OF_WHOLE_HUBS = ['test/hub/every-interface.test.ts', 'test/hub/whole-hub.test.ts'];
const ALL_TESTS = ['auth', 'automations', 'calls', 'codec', 'http', 'hub', 'mcp', 'mesh'].map((module) => `test/${module}/`);
const LIMIT_MS = 300_000;
/** A test that waits for what a mutation took out is over soon; the tests themselves would wait for minutes. */
const TEST_LIMIT_MS = 30_000;

/** Who noticed a mutation, and the mistake or the test by which. */
export interface Notice {
  readonly by: 'types' | 'test';
  readonly what: string;
}

/** `mutations [TEXT]`: takes each protection of a call out of a copy of the sources and says who notices; TEXT picks those named so. */
function main(wanted = ''): number {
  const mutations = MUTATIONS.filter(({ name }) => name.includes(wanted));
  const tree = mkdtempSync(join(tmpdir(), 'atmo-mutations-'));
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(tree, name));
    writeFileSync(join(tree, 'tsconfig.mutations.json'), JSON.stringify(compilerOfMutations('./tsconfig.json', './mutations.tsbuildinfo')));
    const unmutated = noticeIn(tree, [ALL_TESTS]);
    if (unmutated) throw new Error(`Without any mutation there is a failure already: ${unmutated.what}`);
    const verdicts = mutations.map((mutation) => verdictOn(mutation, tree));
    process.stdout.write(`${summary(verdicts)}\n`);
    return verdicts.every((verdict) => verdict === 'types' || verdict === 'test') ? 0 : 1;
  } finally {
    rmSync(tree, { recursive: true });
  }
}

/** Who noticed a mutation; an `error` says nothing about it, such as a test that ran out of time. */
type Verdict = Notice['by'] | 'nobody' | 'error';

function verdictOn(mutation: Mutation, tree: string): Verdict {
  const path = join(tree, mutation.file);
  const source = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, mutated(mutation, source));
    const notice = noticeIn(tree, testsFor(mutation));
    const told = notice ? `noticed by ${notice.by === 'types' ? 'the types' : 'a test'}` : 'NOT NOTICED';
    process.stdout.write(`${told}: ${mutation.name}${notice ? ` – ${notice.what}` : ''}\n`);
    if (notice) requireMeant(mutation, notice);
    return notice?.by ?? 'nobody';
  } catch (error) {
    process.stdout.write(`ERROR: ${mutation.name} – ${error instanceof Error ? error.message : error}\n`);
    return 'error';
  } finally {
    writeFileSync(path, source);
  }
}

/** Throws where the types noticed what a test had to notice, or the other way round. */
export function requireMeant({ breaksTypes }: Pick<Mutation, 'breaksTypes'>, { by }: Notice): void {
  if ((breaksTypes ?? false) === (by === 'types')) return;
  throw new Error(breaksTypes ? 'the types did not notice it, as the table says' : 'it does not keep the types, so that no test was asked');
}

export function summary(verdicts: readonly Verdict[]): string {
  const count = (wanted: Verdict) => verdicts.filter((verdict) => verdict === wanted).length;
  const [types, test, nobody, error] = (['types', 'test', 'nobody', 'error'] as const).map(count);
  return `${verdicts.length} mutations: ${types} noticed by the types, ${test} by a test, ${nobody} by nobody; ${error} ended in an error`;
}

/** Sets of tests for a mutation, those that may notice it soonest first: tests mirror `src`. */
function testsFor({ file }: Mutation): readonly (readonly string[])[] {
  const [, module = ''] = file.split('/');
  return [TESTS_OF_WHOLE_HUBS, [`test/${module}/`], ALL_TESTS];
}

/** The first mistake that the compiler finds, else the first test that fails in one set after the other; undefined where all is well. */
function noticeIn(tree: string, sets: readonly (readonly string[])[]): Notice | undefined {
  const types = run(tree, 'tsc', ['-p', 'tsconfig.mutations.json']);
  if (types.status !== 0) return { by: 'types', what: mistakeIn(types) };
  for (const tests of sets) {
    const report = failuresOf(tree, ['--bail=1', ...tests]);
    if (!report) continue;
    // Where the first test that failed ran out of time, another one may still tell.
    const failed = firstFailure(report) ?? firstFailure(failuresOf(tree, tests) ?? report);
    if (!failed) throw new Error('every test that failed ran out of time');
    requireSteady(failed, failuresOf(tree, [relative(tree, failed.file), '-t', exactly(failed.name)]));
    return { by: 'test', what: failed.name };
  }
  return undefined;
}

function mistakeIn({ stdout, stderr, error }: ReturnType<typeof run>): string {
  const [mistake] = /^src\/.*error TS\d+: .*/m.exec(stdout) ?? [];
  if (mistake !== undefined) return mistake;
  throw new Error(`the compiler failed, but found no mistake in src: ${error?.message ?? (stdout || stderr)}`);
}

/** The report about tests of which not all passed; undefined where they did. */
function failuresOf(tree: string, choice: readonly string[]): TestReport | undefined {
  const limits = [`--testTimeout=${TEST_LIMIT_MS}`, `--hookTimeout=${TEST_LIMIT_MS}`];
  const options = { root: tree, reportFile: join(tree, 'tests.json'), limitMs: LIMIT_MS };
  const { hasPassed, report } = runUnitTests([...limits, ...choice], options);
  return hasPassed ? undefined : report;
}

/** Throws unless the test has failed again when it ran by itself. */
export function requireSteady({ file, name }: FailedTest, again: TestReport | undefined): void {
  const second = again && firstFailure(again);
  if (second?.file === file && second.name === name) return;
  throw new Error(`this test is flaky, it failed and then did not: ${name}`);
}

function run(cwd: string, program: string, args: readonly string[]) {
  return spawnSync(program, args, { cwd, encoding: 'utf8', timeout: LIMIT_MS, env: TOOLS_ENV, maxBuffer: 1e8 });
}

if (import.meta.main) process.exitCode = main(process.argv[2]);
