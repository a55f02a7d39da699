import type { PlannedProgram, Principal } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { ToolContext, ToolDefinition } from '../definition/tool-definition.ts';

/** How a program is started: by itself, or in a container of the engine that the owner configured. */
export type ProgramKind = 'cmd' | 'image';

/** One program to run, apart from everything else on the board. */
export interface ProgramRequest {
  readonly kind: ProgramKind;
  /** Path or name of a program; the name of an image. */
  readonly program: string;
  /** Each is one argument, whatever stands in it: there is no shell. */
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Names of the owner's powers: networks, folders and variables that the program may use. None: it has nothing of the home. */
  readonly powers: readonly string[];
  /** Files and folders that it can read beside the system's programs; absolute paths. */
  readonly visible?: readonly string[];
  /** Working folder inside; an empty one when absent. */
  readonly cwd?: string;
  /** For all its processes together; the owner's default when absent. */
  readonly maxMemoryBytes?: number;
  /** A runtime such as Node's, which reserves far more than it uses: only what it really takes is counted. */
  readonly isRuntime?: boolean;
  /** Is called when its turn has come, right before it starts: what it throws keeps the program from starting. */
  readonly confirm: () => void;
  /** Whose program it is: nobody's programs keep those of others waiting. */
  readonly caller: Principal;
  /** Ends the program with all that it started. */
  readonly signal: AbortSignal;
}

/** What became of a program that ran to its end. */
export interface ProgramResult {
  /** 128 and the number of the signal for one that a signal ended. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A named power of the owner's configuration, as far as others have to know it. */
export interface ProgramPower {
  /** Whether something outside of the sandbox can be changed with it: files that can be written, or a network. */
  readonly isActing: boolean;
}

/** Port: runs programs where they can reach only what they were given, within bounds that are kept. */
export interface ProgramSandbox {
  /** What the owner has to do before programs of the kind can run, as a sentence; undefined while nothing is known to be missing. */
  missingSetting(kind: ProgramKind): string | undefined;
  /** Undefined where the owner has no power of the name. */
  power(name: string): ProgramPower | undefined;
  /** What its powers let a program do, and marks of its own files where somebody could write them; nothing is run. */
  inspect(order: Pick<ProgramRequest, 'program' | 'args' | 'powers' | 'visible' | 'cwd'>): Pick<PlannedProgram, 'powers' | 'versions'>;
  /** RULE_BLOCKED for what a safety rule of the owner forbids, whoever asks; `argv` begins with the program, `stdin` is what it reads. */
  requireSafe(argv: readonly string[], cwd?: string, stdin?: string): void;
  /**
   * Runs it to its end. Errors: RULE_BLOCKED, NOT_CONFIGURED (no sandbox, no such program), RESOURCE_EXCEEDED (memory, processes
   * or output beyond the bounds), else what the signal aborts with.
   */
  run(order: ProgramRequest): Promise<ProgramResult>;
}

/** Permissions that whoever runs such a program needs. */
export function programPermissions({ kind, powers }: Pick<ProgramRequest, 'kind' | 'powers'>): readonly string[] {
  return [kind === 'cmd' ? 'proc:exec' : 'docker:use', ...powers.map((power) => `proc:power:${power}`)];
}

/** One call of a small program that is interpreted, not run on the board: it reaches nothing but its parameters. */
export interface ScriptRun {
  /** `js`: the text of an ES module that exports `execute(params, config, context)`. `wasm`: a module without imports, see docs/sandbox.md. */
  readonly kind: 'js' | 'wasm';
  readonly code: Uint8Array;
  readonly params: JsonObject;
  readonly config: JsonObject;
  /** Of a script that is declared bounded. */
  readonly world?: BoundedEnvironment | undefined;
  readonly maxMemoryBytes: number;
  /** Steps of the interpreter that it may take, as many as the deadline lets it when absent; a module counts its own (`meteredModule`). */
  readonly maxFuel?: number;
  readonly signal: AbortSignal;
}

/** Port: interprets scripts within bounds on memory and steps. */
export interface ScriptEngine {
  /**
   * What `execute` answers. Errors: RESOURCE_EXCEEDED (memory, fuel), INTERNAL_ERROR (what the script throws, as its cause), else
   * what the signal aborts with.
   */
  run(run: ScriptRun): Promise<Json>;
}

const SEED_NUMBERS = 4;

/** Time and chance of a bounded run, as data for code that runs apart from the hub. */
export interface BoundedEnvironment {
  /** Milliseconds since 1970, which do not move. */
  readonly nowMs: number;
  /** Four numbers of 32 bits. */
  readonly seed: readonly number[];
}

/**
 * What a call of a tool that is declared bounded may depend on beside its parameters (BoundedNonDeterminism): the same for the same
 * run, so that replay gives the same answer. Undefined for tools that are declared otherwise, which see real time and chance.
 */
export function boundedEnvironment(
  { execution }: Pick<ToolDefinition, 'execution'>,
  { clock, random }: Pick<ToolContext, 'clock' | 'random'>,
): BoundedEnvironment | undefined {
  if (execution.determinism !== 'bounded') return undefined;
  return { nowMs: clock.now(), seed: Array.from({ length: SEED_NUMBERS }, () => Math.floor(random() * 2 ** 32)) };
}

/**
 * JavaScript text that defines `enterWorld(world)`: it makes `Date` and `Math.random` those of a bounded world, where there is one, and
 * returns the context `{ clock: { now() }, random() }` of the tool. The numbers are those of sfc32 (PractRand, Doty-Humphrey).
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
