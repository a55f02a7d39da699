/**
 * Runs every check of the repository: format, lint, types, dead code, profiles, unit tests and, where private networks
 * are possible, live tests and the demo. `--no-live` leaves the last two out. Exit 0 only if nothing failed.
 */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { capture } from './check/command.ts';
import { closingLine, failure, type Outcome, PASSED, skip, sum } from './check/tally.ts';
import { outcomeOf } from './check/vitest-report.ts';

/** Exit status of scripts/in-netns on a machine that allows no private network. */
const NO_NETNS = 77;

interface Check {
  readonly title: string;
  readonly command: readonly [string, ...string[]];
}

const STATIC_CHECKS: readonly Check[] = [
  { title: 'types', command: ['tsc', '-p', '.'] },
  { title: 'types of the page', command: ['tsc', '-p', 'src/monitor'] },
  { title: 'lint', command: ['biome', 'check', '--formatter-enabled=false', '--error-on-warnings', '.'] },
  { title: 'format', command: ['biome', 'format', '.'] },
  { title: 'dead code', command: ['knip'] },
  { title: 'device profiles', command: ['node', 'scripts/profile-check.ts'] },
];

const DEMO: Check = { title: 'demo', command: ['scripts/demo', '--check'] };

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
async function inPairs<Item>(items: readonly Item[], run: (item: Item) => Promise<Outcome>): Promise<readonly Outcome[]> {
  const waiting = [...items];
  const worker = async (): Promise<Outcome[]> => {
    const outcomes: Outcome[] = [];
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) outcomes.push(await run(item));
    return outcomes;
  };
  return (await Promise.all([worker(), worker()])).flat();
}

/** Runs vitest with `options`, behind `prefix`, and shows what it said when it ends. */
async function runTests(title: string, prefix: readonly string[], options: readonly string[]): Promise<Outcome> {
  const reportFile = `.run/vitest-${title.replace(/\W+/g, '-')}-${process.pid}.json`;
  mkdirSync('.run', { recursive: true });
  const vitest = ['vitest', 'run', '--config', 'test/vitest.config.ts', ...options];
  const [program = '', ...args] = [...prefix, ...vitest, '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const { status, output } = await capture(program, args);
  console.log(`\n${title}\n${output.trimEnd()}`);
  if (!existsSync(reportFile)) return failure(`${title} ended with status ${status} and without a report`);
  const outcome = outcomeOf(title, JSON.parse(readFileSync(reportFile, 'utf8')));
  rmSync(reportFile);
  const isStatusExplained = status === 0 || outcome.tally.failed > 0;
  return isStatusExplained ? outcome : failure(`${title} ended with status ${status}`);
}

/** Programs of Debian and packages of others; tests say what they miss where it cannot be had. */
async function fetchPrograms(): Promise<void> {
  const commands: readonly (readonly [string, ...string[]])[] = [
    ['scripts/netlab', 'tools'],
    ['node', 'scripts/chromium.ts'],
    ['node', 'scripts/foreign-packages.ts'],
    ['node', 'scripts/package/debian-system.ts'],
  ];
  for (const [program, ...args] of commands) {
    const { status, output } = await capture(program, args);
    if (status !== 0) console.log(output.trimEnd());
  }
}

/** Each file of live tests in a private network of its own, the largest first; then the demo. */
async function runNetworked(): Promise<readonly Outcome[]> {
  const probe = await capture('scripts/in-netns', ['--', 'true']);
  if (probe.status === NO_NETNS) return [skip(`all live tests and the demo: ${probe.output.trim()}`)];
  const files = globSync('test/live/**/*.test.ts').sort((a, b) => statSync(b).size - statSync(a).size);
  const live = await inPairs(files, (file) => runTests(file, ['scripts/in-netns', '--'], ['--project', 'live', file]));
  return [...live, await runCheck(DEMO)];
}

const { values } = parseArgs({ options: { 'no-live': { type: 'boolean', default: false } } });
process.chdir(new URL('..', import.meta.url).pathname);
await fetchPrograms();
const outcomes = [...(await inPairs(STATIC_CHECKS, runCheck)), await runTests('unit tests', [], ['--project', 'unit'])];
outcomes.push(...(values['no-live'] ? [skip('all live tests and the demo: --no-live was given')] : await runNetworked()));
const total = sum(outcomes.map((outcome) => outcome.tally));
console.log(`\n${outcomes.flatMap((outcome) => outcome.notes).join('\n')}\n${closingLine(total)}`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
