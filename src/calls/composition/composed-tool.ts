import { AsyncLocalStorage } from 'node:async_hooks';
import { AtmoError, ERROR_CODES } from '../../core/errors.ts';
import { type Json, type JsonObject, objectOf } from '../../core/json.ts';
import { type CallerRights, isActing, type RegisteredTool, unconfigured } from '../../tools/definition/tool-definition.ts';
import { toolId } from '../../tools/definition/tool-names.ts';
import { MAX_COMPOSITION_DEPTH } from '../limits.ts';
import type { ToolRecord } from '../registration/tool-record.ts';
import { type Composition, compositionJson } from './composition.ts';
import {
  fillReferences,
  hasReferences,
  innerCallsOf,
  parameterOf,
  runSteps,
  type Step,
  type StepPipeline,
  type StepsOutcome,
} from './steps.ts';

export interface ComposedToolPorts {
  readonly pipeline: () => StepPipeline;
  /** Returns the tool that a step's name denotes now, on this hub or another hub; undefined if there is none. */
  find(name: string): RegisteredTool | undefined;
  /** Returns the tool of this hub that a step's name denotes now; undefined if there is none. */
  findHere(name: string): RegisteredTool | undefined;
}

/** Nesting depth of the running composed tool. The check at registration is not enough: a step may later denote another tool. */
const depth = new AsyncLocalStorage<number>();

/** Returns the composed tool of a record with steps. The steps run with the rights of the tool's caller, not of the tool's maker. */
export function composedTool(record: ToolRecord, composition: Composition, ports: ComposedToolPorts): RegisteredTool {
  const { definition } = record;
  const { steps } = composition;
  return {
    id: toolId(definition),
    definition,
    isAvailable: () => steps.every(({ tool }) => ports.findHere(tool)?.isAvailable?.() !== false),
    implementation: () => compositionJson(composition),
    innerCalls: (params) => innerCallsOf(steps, params && { params }),
    canonicalize: (params, caller) => canonical(steps, params, { caller, ports }),
    handler: (params, context) => {
      const level = (depth.getStore() ?? 0) + 1;
      if (level > MAX_COMPOSITION_DEPTH) throw tooDeep(definition.name);
      if (!definition.execution.hasSideEffects) requireReading(definition.name, steps, ports);
      return depth.run(level, async () => {
        const outcome = await runSteps(ports.pipeline(), steps, { context, params });
        if (outcome.failed) throw stepFailure(outcome, steps, ports);
        return answerOf(composition, { results: outcome.results, params });
      });
    },
  };
}

/** Returns a tool for a record that has neither steps nor a program. On this hub, its calls fail with NOT_CONFIGURED. */
export function unavailableTool({ definition }: ToolRecord): RegisteredTool {
  const tool = { id: toolId(definition), definition, handler: async () => null };
  return unconfigured(tool, 'it names neither steps nor a program; register it with steps that call other tools, or with exec');
}

/** Called for a tool without side effects. Throws CONFLICT if the tool of a step has side effects now. */
function requireReading(name: string, steps: readonly Step[], ports: ComposedToolPorts): void {
  const acting = steps.find(({ tool }) => ports.find(tool)?.definition.execution.hasSideEffects);
  if (!acting) return;
  throw new AtmoError(
    'CONFLICT',
    `The tool ${name} only reads, and ${acting.tool}, which it calls, changes something now; nothing was done. Register it anew`,
    { tool: acting.tool },
  );
}

function answerOf({ result }: Composition, sources: { readonly results: readonly Json[]; readonly params: JsonObject }): Json {
  return result === undefined ? (sources.results.at(-1) ?? null) : fillReferences(result, sources);
}

/** Returns `params` in canonical form (for example, with device ids). Changes only parameters that a step passes on unchanged. */
function canonical(
  steps: readonly Step[],
  params: JsonObject,
  { caller, ports }: { readonly caller: CallerRights; readonly ports: ComposedToolPorts },
): JsonObject {
  let known = params;
  for (const step of steps) {
    const canonicalize = ports.find(step.tool)?.canonicalize;
    const passed = Object.entries(step.params).flatMap(([name, value]) => {
      const from = parameterOf(value);
      return from !== undefined && Object.hasOwn(known, from) ? [{ name, from }] : [];
    });
    if (!canonicalize || passed.length === 0 || hasReferences(step.params)) continue;
    const filled = fillReferences(step.params, { results: [], params: known });
    const after = canonicalize(objectOf(filled), caller);
    known = { ...known, ...Object.fromEntries(passed.map(({ name, from }) => [from, after[name] ?? null])) };
  }
  return known;
}

/** Returns the failed step's error. Returns OUTCOME_UNKNOWN instead if that error invites a repeat but an earlier step may have acted. */
function stepFailure({ results, failed }: StepsOutcome, steps: readonly Step[], ports: ComposedToolPorts): AtmoError {
  const { code, message, details } = failed?.error ?? { code: 'INTERNAL_ERROR' as const, message: '', details: {} };
  const done = steps.slice(0, results.length);
  const where = { ...details, step: results.length, completed: results.length };
  const told = `Step ${results.length + 1} of ${steps.length} (${failed?.tool}) failed: ${code}: ${message}`;
  const hasActed = done.some(({ tool }) => {
    const found = ports.find(tool);
    return found === undefined || isActing(found.definition);
  });
  const isSettled = ERROR_CODES[code].retry !== 'later' && code !== 'CANCELLED' && code !== 'TIMEOUT';
  if (!hasActed || isSettled) return new AtmoError(code, told, where);
  return new AtmoError('OUTCOME_UNKNOWN', `${told}. The steps before it have run and acted; read the state before calling again`, {
    ...where,
    code,
  });
}

function tooDeep(name: string): AtmoError {
  return new AtmoError(
    'RESOURCE_EXCEEDED',
    `The tool ${name} is called by composed tools that call each other more than ${MAX_COMPOSITION_DEPTH} deep; take the ring apart`,
    { permanent: true },
  );
}
