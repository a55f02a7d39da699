import type { PlannedProgram, Principal } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { ToolContext, ToolDefinition } from '../definition/tool-definition.ts';

/** How a program starts: as a command, or in a container of the configured engine. */
export type ProgramKind = 'cmd' | 'image';

/** A program to run in isolation. */
export interface ProgramRequest {
  readonly kind: ProgramKind;
  /** Path or name of a program, or the name of an image. */
  readonly program: string;
  /** Arguments of the program. No shell interprets them. */
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Names of the owner's powers. A power defines which networks, folders and environment variables a program may use. */
  readonly powers: readonly string[];
  /** Absolute paths that the program can read, in addition to the system's programs. */
  readonly visible?: readonly string[];
  /** Working folder in the sandbox; default: a new empty folder. */
  readonly cwd?: string;
  /** Memory limit for all processes of the program together; default: the limit in the owner's configuration. */
  readonly maxMemoryBytes?: number;
  /** True for a runtime such as Node.js, which reserves far more memory than it uses. Only used memory then counts towards the limit. */
  readonly isRuntime?: boolean;
  /** Called right before the program starts. If it throws an error, the program does not start. */
  readonly confirm: () => void;
  /** The caller. If several programs wait to start, their callers take turns. */
  readonly caller: Principal;
  readonly signal: AbortSignal;
}

/** The result of a program that has run. */
export interface ProgramResult {
  /** The exit code, or 128 plus the signal's number if a signal ended the program. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A power. It is a set of rights that programs can get. The owner's configuration defines the powers. */
export interface ProgramPower {
  /** True if the power allows changes outside of the sandbox, by writable files or a network. */
  readonly isActing: boolean;
}

/** Port: runs programs that can use only their own files and granted powers, within limits on time and memory. */
export interface ProgramSandbox {
  /** Returns a sentence with the missing setting for programs of this kind; undefined if no setting is missing. */
  missingSetting(kind: ProgramKind): string | undefined;
  /** Returns the power with this name; undefined if there is none. */
  power(name: string): ProgramPower | undefined;
  /** Describes the rights that the powers grant. Also returns the versions of files that other programs can change. Runs no program. */
  inspect(order: Pick<ProgramRequest, 'program' | 'args' | 'powers' | 'visible' | 'cwd'>): Pick<PlannedProgram, 'powers' | 'versions'>;
  /** Throws RULE_BLOCKED if a safety rule forbids the command. `argv` begins with the program; `stdin` is its input. */
  requireSafe(argv: readonly string[], cwd?: string, stdin?: string): void;
  /**
   * Runs a program to its end. Rejects with RULE_BLOCKED (a safety rule forbids it), NOT_CONFIGURED (the sandbox or the program is
   * missing), RESOURCE_EXCEEDED (memory, processes or output exceed the limits), or the signal's reason.
   */
  run(order: ProgramRequest): Promise<ProgramResult>;
}

/** Returns the permissions that callers of the program need. */
export function programPermissions({ kind, powers }: Pick<ProgramRequest, 'kind' | 'powers'>): readonly string[] {
  return [kind === 'cmd' ? 'proc:exec' : 'docker:use', ...powers.map((power) => `proc:power:${power}`)];
}

/** One run of an interpreted script, which can use only its parameters. */
export interface ScriptRun {
  /** `js`: text of an ES module that exports `execute(params, config, context)`. `wasm`: a module without imports (docs/sandbox.md). */
  readonly kind: 'js' | 'wasm';
  readonly code: Uint8Array;
  readonly params: JsonObject;
  readonly config: JsonObject;
  /** Fixed time and random seed. Set only for a tool with the determinism `bounded`. */
  readonly world?: BoundedEnvironment | undefined;
  readonly maxMemoryBytes: number;
  /** Maximum number of interpreter steps; default: no limit. A WebAssembly module counts its steps itself (`meteredModule`). */
  readonly maxFuel?: number;
  readonly signal: AbortSignal;
}

/** Port: interprets scripts, with limits on memory and steps. */
export interface ScriptEngine {
  /**
   * Resolves to the result of `execute`. Rejects with RESOURCE_EXCEEDED (too much memory or too many steps), INTERNAL_ERROR (the script
   * failed; its error is the `cause`), or the signal's reason.
   */
  run(run: ScriptRun): Promise<Json>;
}

const SEED_NUMBERS = 4;

/** Time and random seed for code that runs outside of the hub's process. */
export interface BoundedEnvironment {
  /** The time that the code sees, in milliseconds since 1970. It does not advance during the run. */
  readonly nowMs: number;
  /** Four integers of 32 bits each. */
  readonly seed: readonly number[];
}

/**
 * Returns the time and random seed for a call of a `bounded` tool (BoundedNonDeterminism). A replay of the call gets the same values and so
 * gives the same result. Returns undefined for other tools, which use the real time and real random numbers.
 */
export function boundedEnvironment(
  { execution }: Pick<ToolDefinition, 'execution'>,
  { clock, random }: Pick<ToolContext, 'clock' | 'random'>,
): BoundedEnvironment | undefined {
  if (execution.determinism !== 'bounded') return undefined;
  return { nowMs: clock.now(), seed: Array.from({ length: SEED_NUMBERS }, () => Math.floor(random() * 2 ** 32)) };
}

/**
 * JavaScript text of the function `enterWorld(world)`. It returns the tool's context `{ clock: { now() }, random() }`. If `world` is set,
 * it also replaces `Date` and `Math.random`; the random numbers then come from sfc32 (PractRand, Doty-Humphrey).
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
