import type { PlannedProgram, Principal } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { ToolContext, ToolDefinition } from '../definition/tool-definition.ts';

/** How a program starts: directly, or in a container of the configured engine. */
export type ProgramKind = 'cmd' | 'image';

/** A program to run in isolation. */
export interface ProgramRequest {
  readonly kind: ProgramKind;
  /** Path or name of a program; the name of an image. */
  readonly program: string;
  /** The arguments, which no shell interprets. */
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Names of the owner's powers: networks, folders and variables that the program may use. */
  readonly powers: readonly string[];
  /** Absolute paths of files and folders that it can read, beside the system's programs. */
  readonly visible?: readonly string[];
  /** Working folder in the sandbox; default: an empty folder. */
  readonly cwd?: string;
  /** Memory limit for all processes of the program together; default: the owner's setting. */
  readonly maxMemoryBytes?: number;
  /** True for a runtime such as Node, which reserves far more memory than it uses: only used memory counts. */
  readonly isRuntime?: boolean;
  /** Is called right before the program starts; an error that it throws prevents the start. */
  readonly confirm: () => void;
  /** The caller, for a fair queue between callers. */
  readonly caller: Principal;
  readonly signal: AbortSignal;
}

/** The result of a program that has ended. */
export interface ProgramResult {
  /** Exit code; 128 plus the number of the signal if a signal ended the program. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A named power of the owner's configuration. */
export interface ProgramPower {
  /** True if the program can change something outside of the sandbox: it has writable files, or a network. */
  readonly isActing: boolean;
}

/** Port: runs programs that reach only their own files and capabilities, within enforced limits. */
export interface ProgramSandbox {
  /** Returns a sentence with the missing setting for programs of the kind; undefined if none is missing. */
  missingSetting(kind: ProgramKind): string | undefined;
  /** Returns undefined for an unknown power. */
  power(name: string): ProgramPower | undefined;
  /** Returns the effects that the powers allow, and marks of the program's files that others could write; runs nothing. */
  inspect(order: Pick<ProgramRequest, 'program' | 'args' | 'powers' | 'visible' | 'cwd'>): Pick<PlannedProgram, 'powers' | 'versions'>;
  /** Throws RULE_BLOCKED if a safety rule forbids a command; `argv` begins with the program, `stdin` is its input. */
  requireSafe(argv: readonly string[], cwd?: string, stdin?: string): void;
  /**
   * Runs a program to its end. Rejects with RULE_BLOCKED, NOT_CONFIGURED (no sandbox or program), RESOURCE_EXCEEDED (memory,
   * processes or output above the limits), or the signal's reason.
   */
  run(order: ProgramRequest): Promise<ProgramResult>;
}

/** Returns the permissions that a caller of the program needs. */
export function programPermissions({ kind, powers }: Pick<ProgramRequest, 'kind' | 'powers'>): readonly string[] {
  return [kind === 'cmd' ? 'proc:exec' : 'docker:use', ...powers.map((power) => `proc:power:${power}`)];
}

/** One call of an interpreted script, which reaches only its parameters. */
export interface ScriptRun {
  /**
   * `js`: the text of an ES module that exports `execute(params, config, context)`. `wasm`: a module without imports, see docs/sandbox.md.
   */
  readonly kind: 'js' | 'wasm';
  readonly code: Uint8Array;
  readonly params: JsonObject;
  readonly config: JsonObject;
  /** The environment of a script that is declared bounded. */
  readonly world?: BoundedEnvironment | undefined;
  readonly maxMemoryBytes: number;
  /** Limit of interpreter steps; only the deadline limits them when absent. A module counts its own (`meteredModule`). */
  readonly maxFuel?: number;
  readonly signal: AbortSignal;
}

/** Port: interprets scripts with limits on memory and steps. */
export interface ScriptEngine {
  /**
   * Resolves to the result of `execute`. Rejects with RESOURCE_EXCEEDED (too much memory or fuel), INTERNAL_ERROR (an error of the script,
   * as its cause), or the signal's reason.
   */
  run(run: ScriptRun): Promise<Json>;
}

const SEED_NUMBERS = 4;

/** Time and chance of a bounded run, as data for code that runs apart from the hub. */
export interface BoundedEnvironment {
  /** The time that the script sees, milliseconds since 1970; it stands still during the run. */
  readonly nowMs: number;
  /** Four numbers of 32 bits. */
  readonly seed: readonly number[];
}

/**
 * Returns the time and the random seed of a bounded tool's call (BoundedNonDeterminism), so that a replay gives the same result. Returns
 * undefined for other tools, which use real time and random numbers.
 */
export function boundedEnvironment(
  { execution }: Pick<ToolDefinition, 'execution'>,
  { clock, random }: Pick<ToolContext, 'clock' | 'random'>,
): BoundedEnvironment | undefined {
  if (execution.determinism !== 'bounded') return undefined;
  return { nowMs: clock.now(), seed: Array.from({ length: SEED_NUMBERS }, () => Math.floor(random() * 2 ** 32)) };
}

/**
 * JavaScript text that defines `enterWorld(world)`: in a bounded world it replaces `Date` and `Math.random`; it returns the tool's context
 * `{ clock: { now() }, random() }`. The random numbers are those of sfc32 (PractRand, Doty-Humphrey).
 */
export const ENTER_ENVIRONMENT = `
function enterWorld(world) {
  if (world) {
    const { nowMs, seed } = world;
    let [a, b, c, count] = seed;
    Math.random = () => {
      const sum = (a + b + count) | 0;
      count = (count + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = ((c << 21) | (c >>> 11)) + sum | 0;
      return (sum >>> 0) / 4294967296;
    };
    globalThis.Date = new Proxy(Date, {
      apply: (RealDate) => new RealDate(nowMs).toString(),
      construct: (RealDate, parts) => (parts.length === 0 ? new RealDate(nowMs) : new RealDate(...parts)),
      get: (RealDate, key) => (key === 'now' ? () => nowMs : Reflect.get(RealDate, key)),
    });
  }
  return { clock: { now: () => Date.now() }, random: () => Math.random() };
}`;
