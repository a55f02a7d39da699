import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'oxc-parser';
import type { Mutant } from './mutants.ts';
import type { FileTests, TestResult, TestRuns } from './test-runs.ts';

/** What is recorded of a test file without any mutant. */
interface FileReach {
  /** Changes with the file and with the sample. */
  readonly state: string;
  readonly ms: number;
  readonly tests: readonly TestResult[];
  readonly failed: readonly string[];
}

/** Tests of a file that may notice a mutant, and how long they take without it. */
export interface Candidate extends FileTests {
  readonly ms: number;
}

/** What runs the tests. */
type Runs = Pick<TestRuns, 'run' | 'use'>;

const RECORDING_LIMIT_MS = 600_000;

/** Which test reaches which mutant, as recorded by one run of each test file. */
export class Reach {
  readonly #root: string;
  readonly #path: string;
  readonly #recorded: Map<string, FileReach>;
  readonly #imported = new Map<string, ReadonlySet<string>>();
  readonly #importsOf = new Map<string, readonly string[]>();
  readonly #sources: ReadonlyMap<string, string>;
  readonly #shares = new Map<string, ReadonlyMap<string, number>>();

  constructor(root: string, path: string, mutants: readonly Mutant[]) {
    this.#root = root;
    this.#path = path;
    this.#sources = new Map(mutants.map(({ id, file }) => [id, file]));
    this.#recorded = new Map(existsSync(path) ? Object.entries(JSON.parse(readFileSync(path, 'utf8'))) : []);
  }

  /** Runs the files that changed since they were recorded, or all when the sources did. */
  async record(runs: readonly Runs[], files: readonly string[], sources: string): Promise<void> {
    for (const file of this.#recorded.keys()) if (!files.includes(file)) this.#recorded.delete(file);
    const states = files.map((file) => ({ file, state: hashOf(sources + readFileSync(join(this.#root, file), 'utf8')) }));
    const changed = states.filter(({ file, state }) => this.#recorded.get(file)?.state !== state).values();
    await Promise.all(runs.map((own) => this.#recordWith(own, changed)));
  }

  async #recordWith(runs: Runs, files: Iterable<{ readonly file: string; readonly state: string }>): Promise<void> {
    await runs.use(undefined);
    for (const { file, state } of files) {
      const startMs = performance.now();
      const { tests, errors } = await runs.run('', { file }, RECORDING_LIMIT_MS);
      const failed = [...tests.filter(({ passed }) => !passed).map(({ name }) => name), ...errors];
      this.#recorded.set(file, { state, ms: performance.now() - startMs, tests, failed });
      if (failed.length > 0) process.stdout.write(`left out, as it fails without any mutant: ${file}: ${failed[0]}\n`);
      writeFileSync(this.#path, JSON.stringify(Object.fromEntries(this.#recorded)));
    }
    await runs.use('');
  }

  /** Whether the place of the mutant ran while modules were loaded, so that it has to be active from the start of a process. */
  isLoaded({ id }: Mutant): boolean {
    return [...this.#recorded.values()].some(({ tests }) => tests.some(({ loaded }) => loaded.includes(id)));
  }

  /** The tests that may notice a mutant, those that probably do first: of the same name, then those that reach most of its source. */
  candidates(mutant: Mutant): readonly Candidate[] {
    const isLoaded = this.isLoaded(mutant);
    const candidates = [...this.#recorded].flatMap(([file, reach]) =>
      candidateOf(file, reach, mutant, isLoaded && this.#imports(file, mutant)),
    );
    const shareOf = ({ file }: Candidate) => (isNamedLike(file, mutant) ? Number.POSITIVE_INFINITY : this.#share(file, mutant));
    return candidates
      .map((candidate) => ({ candidate, share: shareOf(candidate) }))
      .toSorted((a, b) => Math.sign(b.share - a.share) || a.candidate.ms - b.candidate.ms)
      .map(({ candidate }) => candidate);
  }

  /** Number of mutants of the same source that a test file reaches. */
  #share(testFile: string, { file }: Mutant): number {
    const known = this.#shares.get(testFile) ?? this.#sharesOf(testFile);
    this.#shares.set(testFile, known);
    return known.get(file) ?? 0;
  }

  #sharesOf(testFile: string): ReadonlyMap<string, number> {
    const tests = this.#recorded.get(testFile)?.tests ?? [];
    const reached = new Set(tests.flatMap((test) => [...test.reached, ...test.shared, ...test.loaded]));
    const bySource = Map.groupBy(reached, (id) => this.#sources.get(id) ?? '');
    return new Map([...bySource].map(([file, ids]) => [file, ids.length]));
  }

  #imports(testFile: string, { file }: Mutant): boolean {
    const known = this.#imported.get(testFile) ?? importedBy(this.#root, testFile, this.#importsOf);
    this.#imported.set(testFile, known);
    return known.has(file);
  }
}

function candidateOf(file: string, { tests, ms, failed }: FileReach, { id }: Mutant, imports: boolean): readonly Candidate[] {
  if (failed.length > 0) return [];
  if (imports || tests.some(({ shared, loaded }) => shared.includes(id) || loaded.includes(id))) return [{ file, ms }];
  const reaching = tests.filter(({ reached }) => reached.includes(id));
  if (reaching.length === 0) return [];
  return [{ file, ids: reaching.map((test) => test.id), ms: reaching.reduce((sum, test) => sum + test.ms, 0) }];
}

function isNamedLike(testFile: string, { file }: Mutant): boolean {
  return testFile.replace(/^test\//, 'src/').replace('.test.ts', '.ts') === file;
}

/** Sources and tests that a test file imports, and those that these import. */
function importedBy(root: string, testFile: string, importsOf: Map<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set([testFile]);
  for (const file of found) {
    const imports = importsOf.get(file) ?? importsIn(file, readFileSync(join(root, file), 'utf8'));
    importsOf.set(file, imports);
    for (const imported of imports) found.add(imported);
  }
  return found;
}

/** What a file imports of this project. */
function importsIn(file: string, text: string): readonly string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(file, text).module;
  const spans = [staticImports, staticExports.flatMap(({ entries }) => entries), dynamicImports].flat();
  const names = spans.flatMap(({ moduleRequest }) => (moduleRequest ? [text.slice(moduleRequest.start + 1, moduleRequest.end - 1)] : []));
  return names.filter((name) => /^\..*\.ts$/.test(name)).map((name) => normalize(join(dirname(file), name)));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
