/**
 * Runs every check of the repository: format, lint, types, dead code, profiles, unit tests and, where private networks
 * are possible, live tests and the demo. `--no-live` leaves the last two out. `--gate` adds the gate of the benchmarks. Exit 0 only if
 * nothing failed.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gateBase } from './bench/gate/base-program.ts';
import { capture } from './check/command.ts';
import { gateOutcome } from './check/gate-outcome.ts';
import { liveRuns } from './check/live-files.ts';
import { capacityOf, fixedCapacity, inPool } from './check/pool.ts';
import { withSecondTry } from './check/second-try.ts';
import { slowest } from './check/slowest.ts';
import { closingLine, failure, NOT_POSSIBLE, type Outcome, PASSED, skip, sum } from './check/tally.ts';
import { outcomeOf, outcomesOf, type VitestReport } from './check/vitest-report.ts';

/** What Node made of the modules that were loaded; of this run only, or it would grow with each change. */
const COMPILE_CACHE = '.run/compile-cache';

interface Check {
  readonly title: string;
  readonly command: readonly [string, ...string[]];
}

const STATIC_CHECKS: readonly Check[] = [
  { title: 'types', command: ['tsc', '-p', '.'] },
  { title: 'types of the page', command: ['tsc', '-p', 'src/web'] },
  { title: 'lint', command: ['biome', 'check', '--formatter-enabled=false', '--error-on-warnings', '.'] },
  { title: 'format', command: ['biome', 'format', '.'] },
  { title: 'dead code', command: ['knip'] },
  { title: 'code that tests alone use', command: ['knip', '--production'] },
  { title: 'device profiles', command: ['node', 'scripts/profile-check.ts'] },
];

const DEMO: Check = { title: 'demo', command: ['scripts/demo', '--check'] };

/** How a run of vitest ended, with the report or else the last line that it printed. */
interface VitestRun {
  readonly status: number;
  readonly report?: VitestReport;
  readonly lastLine: string;
}

async function runCheck({ title, command: [program, ...args] }: Check): Promise<Outcome> {
  const startMs = performance.now();
  const { status, output } = await capture(program, args);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  if (status === 0) {
    console.log(`✓ ${title} (${seconds} s)`);
    return PASSED;
  }
  console.log(`✗ ${title} (${seconds} s): ${program} ${args.join(' ')}\n${output.trimEnd()}`);
  return failure(title);
}

/** Two at a time: boards and the machines of continuous integration have few cores. */
function runStatic(): Promise<readonly Outcome[]> {
  return inPool(
    fixedCapacity(2),
    STATIC_CHECKS.map((check) => () => runCheck(check)),
  );
}

/** Runs vitest with `options`, behind `prefix`, and shows what it said when it ends. Without a report it ended before its tests did. */
async function runVitest(title: string, prefix: readonly string[], options: readonly string[]): Promise<VitestRun> {
  const reportFile = `.run/vitest-${randomUUID()}.json`;
  mkdirSync('.run', { recursive: true });
  const vitest = ['vitest', 'run', '--config', 'test/vitest.config.ts', ...options];
  const [program = '', ...args] = [...prefix, ...vitest, '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const { status, output } = await capture(program, args);
  console.log(`\n${title}\n${output.trimEnd()}`);
  const lastLine = output.trimEnd().split('\n').at(-1) ?? '';
  if (!existsSync(reportFile)) return { status, lastLine };
  const report: VitestReport = JSON.parse(readFileSync(reportFile, 'utf8'));
  rmSync(reportFile);
  return { status, report, lastLine };
}

function withoutReport(what: string, { status, lastLine }: VitestRun): string {
  return `${what} ended with status ${status} and without a report; the last line was: ${lastLine}`;
}

async function runUnitTests(): Promise<Outcome> {
  const title = 'unit tests';
  const { status, report, lastLine } = await runVitest(title, [], ['--project', 'unit']);
  if (!report) return failure(withoutReport(title, { status, lastLine }));
  const outcome = outcomeOf(title, report);
  const isStatusExplained = status === 0 || outcome.tally.failed > 0;
  return isStatusExplained ? outcome : failure(`${title} ended with status ${status}`);
}

/** Runs files of live tests one after the other in one private network; an outcome for each. */
async function runLiveTests(files: readonly string[]): Promise<readonly Outcome[]> {
  const { status, report, lastLine } = await runVitest(files.join(', '), ['scripts/in-netns', '--'], ['--project', 'live', ...files]);
  if (!report) return files.map((file) => failure(withoutReport(file, { status, lastLine })));
  return outcomesOf(files, report);
}

type Command = Check['command'];

/** Build the program and the page, and install programs of Debian and packages of others that unit tests use, too. */
const PREPARE: readonly Command[] = [
  ['node', 'scripts/build.ts', '--if-stale'],
  ['scripts/netlab', 'tools'],
  ['node', 'scripts/foreign-packages.ts'],
];
/** Install what only live tests use. A test whose program cannot be installed is skipped and names it. */
const PREPARE_LIVE: readonly Command[] = [
  ['node', 'scripts/chromium.ts'],
  ['node', 'scripts/package/debian-system.ts'],
  ['node', 'scripts/package/container-base.ts'],
];

/** Runs the commands one after the other, and prints the output of those that fail. */
async function runCommands(commands: readonly Command[]): Promise<void> {
  for (const [program, ...args] of commands) {
    const { status, output } = await capture(program, args);
    if (status !== 0) console.log(output.trimEnd());
  }
}

/**
 * The live tests in private networks, and the demo beside them. They measure time on machines that others share: what failed runs once
 * more, in a new network and alone, when nothing runs beside it.
 */
async function runNetworked(): Promise<readonly Outcome[]> {
  const probe = await capture('scripts/in-netns', ['--', 'true']);
  if (probe.status === NOT_POSSIBLE) return [skip(`all live tests and the demo: ${probe.output.trim()}`)];
  const demo = async (): Promise<readonly Tried[]> => [{ first: await runCheck(DEMO), again: () => runCheck(DEMO) }];
  const jobs = [demo, ...liveRuns().map((files) => () => tryFiles(files))];
  const outcomes: Outcome[] = [];
  for (const { first, again } of (await inPool(capacityOf(), jobs)).flat()) outcomes.push(await withSecondTry(first, again));
  return outcomes;
}

/** Whether the tree is slower or larger than a named commit, when nothing else runs. */
async function runGate(): Promise<Outcome> {
  const finished = await capture('node', ['scripts/bench.ts', '--gate']);
  console.log(`\ngate\n${finished.output.trimEnd()}`);
  return gateOutcome(finished, gateBase());
}

async function tryFiles(files: readonly string[]): Promise<readonly Tried[]> {
  const firsts = await runLiveTests(files);
  return files.map((file, index) => ({
    first: firsts[index] ?? failure(`${file} did not run`),
    again: async () => (await runLiveTests([file]))[0] ?? failure(`${file} did not run`),
  }));
}

/** The outcome of a first run, and a way to run it again. */
interface Tried {
  readonly first: Outcome;
  readonly again: () => Promise<Outcome>;
}

const { values } = parseArgs({
  options: { 'no-live': { type: 'boolean', default: false }, gate: { type: 'boolean', default: false } },
});
process.chdir(new URL('..', import.meta.url).pathname);
// Hundreds of processes load the same modules.
process.env.NODE_COMPILE_CACHE ??= join(process.cwd(), COMPILE_CACHE);
rmSync(COMPILE_CACHE, { recursive: true, force: true });
const prepared = runCommands(PREPARE);
// These installations wait for the network most of the time: the unit tests run beside them.
const preparedLive = prepared.then(() => runCommands(values['no-live'] ? [] : PREPARE_LIVE));
const staticOutcomes = await runStatic();
await prepared;
const outcomes = [...staticOutcomes, await runUnitTests()];
await preparedLive;
outcomes.push(...(values['no-live'] ? [skip('all live tests and the demo: --no-live was given')] : await runNetworked()));
if (values.gate) outcomes.push(await runGate());
const total = sum(outcomes.map((outcome) => outcome.tally));
const notes = [...outcomes.flatMap((outcome) => outcome.notes), ...slowest(outcomes.flatMap((outcome) => outcome.times ?? []))];
console.log(`\n${notes.join('\n')}\n${closingLine(total)}`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
