import type { Json, JsonObject } from '../../core/json.ts';
import type { BoundedWorld } from './program-world.ts';

/** One call of a small program that is interpreted, not run on the board: it reaches nothing but its parameters. */
export interface ScriptRun {
  /** `js`: the text of an ES module that exports `execute(params, config, context)`. `wasm`: a module without imports, see docs/sandbox.md. */
  readonly kind: 'js' | 'wasm';
  readonly code: Uint8Array;
  readonly params: JsonObject;
  readonly config: JsonObject;
  /** Of a script that is declared bounded. */
  readonly world?: BoundedWorld | undefined;
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
