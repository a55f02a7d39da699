import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { MUTATIONS, type Mutation, mutated } from './mutation-table.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const COPIED = ['src', 'test', 'scripts', 'package.json', 'tsconfig.json'];
const LINKED = ['node_modules', 'device-profiles', 'docs'];
/** The second set runs where the first has noticed nothing. */
const TESTS = [['test/hub/every-door.test.ts'], ['test/calls', 'test/auth/rules', 'test/http/server', 'test/mesh/rpc', 'test/automations']];
const LIMIT_MS = 180_000;
const COMPILER = {
  extends: './tsconfig.json',
  // What is no longer used by a mutation would be a mistake of the mutation, not of what it takes out.
  compilerOptions: { incremental: true, tsBuildInfoFile: './mutations.tsbuildinfo', noUnusedLocals: false, noUnusedParameters: false },
};

/** `mutations [TEXT]`: takes each protection of a call out of a copy of the sources and says who notices; TEXT picks those named so. */
function main(wanted = ''): number {
  const mutations = MUTATIONS.filter(({ name }) => name.includes(wanted));
  const tree = mkdtempSync(join(tmpdir(), 'atmo-mutations-'));
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(tree, name));
    writeFileSync(join(tree, 'tsconfig.mutations.json'), JSON.stringify(COMPILER));
    const unmutated = noticedBy(tree);
    if (unmutated !== undefined) throw new Error(`Without any mutation there is a failure already: ${unmutated}`);
    const noticed = mutations.filter((mutation) => isNoticed(mutation, tree)).length;
    process.stdout.write(`${noticed} of ${mutations.length} mutations were noticed\n`);
    return noticed === mutations.length ? 0 : 1;
  } finally {
    rmSync(tree, { recursive: true });
  }
}

function isNoticed(mutation: Mutation, tree: string): boolean {
  const path = join(tree, mutation.file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(mutation, source));
  const by = noticedBy(tree);
  writeFileSync(path, source);
  process.stdout.write(`${by === undefined ? 'NOT NOTICED' : 'noticed'}: ${mutation.name}${by === undefined ? '' : ` – ${by}`}\n`);
  return by !== undefined;
}

/** The first mistake that the compiler finds, else the first test that fails; undefined where all is well. */
function noticedBy(tree: string): string | undefined {
  const types = run(tree, 'tsc', ['-p', 'tsconfig.mutations.json']);
  if (types.status !== 0) {
    const [mistake] = /error TS\d+: .*/.exec(types.stdout) ?? [];
    if (mistake === undefined) throw new Error(`The compiler found no mistake, but failed: ${types.error?.message ?? types.stderr}`);
    return `types: ${mistake}`;
  }
  for (const tests of TESTS) {
    const failure = firstFailure(tree, tests);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

interface TestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function firstFailure(tree: string, tests: readonly string[]): string | undefined {
  const report = join(tree, 'tests.json');
  rmSync(report, { force: true });
  const options = ['run', '--config', 'test/vitest.config.ts', '--project', 'unit', '--bail=1', '--reporter=json'];
  const { status, error } = run(tree, 'vitest', [...options, `--outputFile=${report}`, ...tests]);
  if (status === 0) return undefined;
  if (error !== undefined) return `tests: ${error.message}`;
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as TestReport;
  const failed = testResults.flatMap(({ assertionResults }) => assertionResults).find(({ status }) => status === 'failed');
  return `test: ${failed?.fullName ?? testResults.find(({ message }) => message !== '')?.message ?? 'a file cannot be loaded'}`;
}

function run(cwd: string, program: string, args: readonly string[]) {
  const PATH = [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  return spawnSync(program, args, { cwd, encoding: 'utf8', timeout: LIMIT_MS, env: { ...process.env, PATH }, maxBuffer: 1e8 });
}

process.exitCode = main(process.argv[2]);
