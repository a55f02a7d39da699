import { branchCounts, edgesLoaded } from './edge-hooks.ts';
import { mutated } from './mutations.ts';
import { isRefusal, type Target } from './target.ts';

/** An input for which a parser broke its promise. */
export interface Finding {
  readonly target: string;
  /** What is the same for all inputs with the same cause. */
  readonly key: string;
  readonly problem: string;
  readonly input: Uint8Array;
}

/** What was done with a target. */
export interface RunReport {
  readonly target: string;
  readonly executions: number;
  /** Number of branches that ran at least once. */
  readonly edges: number;
  readonly findings: readonly Finding[];
  /** Inputs that together run all of these branches. */
  readonly inputs: readonly Uint8Array[];
}

/** What a run depends on beside its target. */
export interface RunOptions {
  readonly random: () => number;
  /** Words beside those of the target. */
  readonly words: readonly string[];
  readonly corpus: readonly Uint8Array[];
  /** Milliseconds of the processor that one input may take. */
  readonly maxProcessorMs: number;
  /** Returns whether the time is over. */
  isOver(): boolean;
  /** Is called before each input, so that another thread knows it if the parser never ends. */
  begin(input: Uint8Array): void;
}

/** Milliseconds by the wall from which on the processor's time is measured. */
const SUSPECT_MS = 60;
const MAX_FINDINGS = 20;
const MAX_SHRINKS = 400;
const HANDED_MS = 20;
/** The counts, four at a time. */
const WORDS = new Uint32Array(branchCounts.buffer);

/** Runs one target with ever new inputs. Inputs that run a branch for the first time, or more often, are kept and changed further. */
export class FuzzRun {
  readonly #target: Target;
  readonly #options: RunOptions;
  readonly #words: readonly Uint8Array[];
  readonly #seen = new Uint8Array(branchCounts.length);
  readonly #inputs: Uint8Array[] = [];
  readonly #findings = new Map<string, Finding>();
  #executions = 0;
  #lastTurnMs = performance.now();

  constructor(target: Target, options: RunOptions) {
    this.#target = target;
    this.#options = options;
    this.#words = [...target.words, ...options.words].map((word) => Buffer.from(word));
  }

  async run(): Promise<RunReport> {
    const { isOver, corpus } = this.#options;
    for (const input of [...this.#target.seeds, ...corpus]) await this.#try(input);
    if (this.#inputs.length === 0) this.#inputs.push(new Uint8Array());
    const source = {
      form: this.#target.form,
      words: this.#words,
      maxBytes: this.#target.maxBytes,
      below: (bound: number) => this.#below(bound),
      other: () => this.#pick(),
    };
    while (!isOver() && this.#findings.size < MAX_FINDINGS) await this.#try(mutated(this.#pick(), source));
    return this.#report();
  }

  /** Runs one input; keeps it if it ran something new, and notes it if the parser broke its promise. */
  async #try(input: Uint8Array): Promise<void> {
    this.#executions += 1;
    const problem = await this.#execute(input);
    const isNew = this.#isNew();
    if (problem) await this.#note(problem, input);
    else if (isNew) this.#inputs.push(input);
    await this.#yieldNowAndThen();
  }

  /** Messages to and from other threads and timers of the parsers get their turn. */
  async #yieldNowAndThen(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lastTurnMs < HANDED_MS) return;
    this.#lastTurnMs = nowMs;
    await new Promise(setImmediate);
  }

  async #execute(input: Uint8Array): Promise<Problem | undefined> {
    branchCounts.fill(0);
    this.#options.begin(input);
    const startMs = performance.now();
    const problem = await thrownBy(this.#target, input);
    const isQuick = performance.now() - startMs < SUSPECT_MS;
    if (problem || isQuick || this.#findings.has(TOO_SLOW.key)) return problem;
    return (await this.#processorMs(input)) > this.#options.maxProcessorMs ? TOO_SLOW : undefined;
  }

  /** The least of three runs: the first one may have compiled code or collected garbage. */
  async #processorMs(input: Uint8Array): Promise<number> {
    let leastMs = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 3; run++) {
      const before = process.threadCpuUsage();
      await thrownBy(this.#target, input);
      const { user, system } = process.threadCpuUsage(before);
      leastMs = Math.min(leastMs, (user + system) / 1_000);
    }
    return leastMs;
  }

  async #note(problem: Problem, input: Uint8Array): Promise<void> {
    if (this.#findings.has(problem.key)) return;
    const { name } = this.#target;
    this.#findings.set(problem.key, { target: name, ...problem, input });
    const small = await this.#shrunk(problem, input);
    this.#findings.set(problem.key, { target: name, ...problem, input: small });
  }

  /** Leaves parts out as long as the same problem stays. */
  async #shrunk({ key }: Problem, input: Uint8Array): Promise<Uint8Array> {
    let small = Buffer.from(input);
    let left = key === TOO_SLOW.key ? 0 : MAX_SHRINKS;
    for (let size = Math.ceil(small.length / 2); size > 0 && left > 0; size = size > 1 ? Math.ceil(size / 2) : 0) {
      for (let at = 0; at < small.length && left > 0; left--) {
        const without = Buffer.concat([small.subarray(0, at), small.subarray(at + size)]);
        const isSame = (await this.#execute(new Uint8Array(without)))?.key === key;
        if (isSame) small = without;
        else at += size;
      }
    }
    return new Uint8Array(small);
  }

  /** Returns whether a branch ran for the first time, or more often than before. */
  #isNew(): boolean {
    let isNew = false;
    for (let word = 0; word * 4 < edgesLoaded(); word++) {
      if (WORDS[word] === 0) continue;
      for (let edge = word * 4; edge < word * 4 + 4; edge++) if (this.#notes(edge)) isNew = true;
    }
    return isNew;
  }

  #notes(edge: number): boolean {
    const count = branchCounts[edge] ?? 0;
    const seen = this.#seen[edge] ?? 0;
    const times = count === 0 ? 0 : 1 << (31 - Math.clz32(count));
    this.#seen[edge] = seen | times;
    return (seen & times) !== times;
  }

  /** Half of the time one of the newest inputs, which led further. */
  #pick(): Uint8Array {
    const { length } = this.#inputs;
    const among = this.#below(2) === 0 ? Math.min(length, 8) : length;
    return this.#inputs[length - 1 - this.#below(among)] ?? new Uint8Array();
  }

  #below(bound: number): number {
    return Math.floor(this.#options.random() * bound);
  }

  #report(): RunReport {
    const edges = this.#seen.reduce((sum, bits) => sum + Number(bits !== 0), 0);
    return { target: this.#target.name, executions: this.#executions, edges, findings: [...this.#findings.values()], inputs: this.#inputs };
  }
}

interface Problem {
  readonly key: string;
  readonly problem: string;
}

const TOO_SLOW: Problem = { key: 'slow', problem: 'takes more time of the processor than an input may' };

async function thrownBy(target: Target, input: Uint8Array): Promise<Problem | undefined> {
  try {
    const result = target.run(input);
    if (result instanceof Promise) await result;
    return undefined;
  } catch (error) {
    return isRefusal(error) ? undefined : problemOf(error);
  }
}

/** Below this place of a stack is what called the parser. */
const OWN_FRAME = /\n.*\/fuzz-run\.ts:/;

/** Errors of the same place count as one problem, whatever the input made of their message. */
function problemOf(error: unknown): Problem {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const [thrown = ''] = stack.split(OWN_FRAME);
  const places = thrown.split('\n').filter((line) => /\/(?:src|node_modules|test\/fuzz\/targets)\//.test(line));
  const message = stack.split('\n    at ')[0]?.slice(0, 300) ?? '';
  const cause =
    error instanceof Error && error.cause instanceof Error ? `\n  caused by ${error.cause.stack?.split('\n').slice(0, 3).join('\n')}` : '';
  const name = error instanceof Error ? `${error.name} ${error.name === 'BrokenPromise' ? error.message : ''}` : 'thrown';
  return { key: `${name} ${places.slice(0, 2).map(placeOf).join(' ')}`, problem: `${message}\n${places.slice(0, 5).join('\n')}${cause}` };
}

const placeOf = (line: string): string => /\/((?:src|node_modules|test)\/.*:\d+):\d+/.exec(line)?.[1] ?? line;
