import type { PlannedCall, PlannedProgram } from '../../core/access/approvals.ts';
import { readsIn } from '../../core/devices/action-words.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { canonicalJson } from '../../wire/canonical-json.ts';
import { sha256Hex } from '../../wire/hashes.ts';
import { effectsOf } from '../definition/permission-template.ts';
import type { CallerView, InnerCall, RegisteredTool } from '../definition/tool-definition.ts';
import { toPublicDefinition } from '../forms/public-definition.ts';
import { copyJson, LARGE_PARAMS_LIMITS, RESULT_LIMITS } from '../schema/plain-json.ts';
import type { SchemaValidator } from '../schema/schema-validator.ts';
import { hasSecrets, maskSecrets, secretTexts, withoutSecretTexts } from '../schema/secret-params.ts';
import { shownParams } from './told/shown-params.ts';

/** Composed tools may be registered four deep; a ring that was closed later ends here. */
const MAX_DEPTH = 6;
const MAX_CALLS = 256;
/** Longest JSON text of a plan that people are shown. */
const MAX_LENGTH = 262_144;

/** What a plan is made with. */
export interface PlanParts {
  /** The tool that the name of a step means to the caller now; undefined when there is none. */
  find(name: string): RegisteredTool | undefined;
  readonly caller: CallerView;
  readonly validator: Pick<SchemaValidator, 'parameters'>;
  /** What a secret value counts as in a hash that leaves the hub. */
  readonly seal: (value: Json) => string;
}

/**
 * What a call on canonical parameters is going to run: its program, or the calls that it makes, down to the definitions of the last
 * of them. RESOURCE_EXCEEDED for so much that no person could read it.
 */
export function plannedCall(tool: RegisteredTool, params: JsonObject, parts: PlanParts): PlannedCall {
  const planned = new Planner(parts).of({ tool, params, written: params }, 0);
  if (JSON.stringify(planned).length > MAX_LENGTH) throw tooMuch(tool);
  return planned;
}

/** The SHA-256 that an approval is for: another tool, other arguments, or another definition of anything that will run is another call. */
export function approvalHash(plan: PlannedCall): string {
  return sha256Hex(canonicalJson(copyJson(plan, RESULT_LIMITS)));
}

/** Whether a call is the step that a plan has: the same in all, or filled into the places that results of earlier steps were to fill. */
export function isPlannedStep(planned: PlannedCall, now: PlannedCall): boolean {
  if (!planned.open) return approvalHash(planned) === approvalHash(now);
  return planned.tool === now.tool && planned.definition === now.definition && areSameSteps(planned.steps ?? [], now.steps ?? []);
}

function areSameSteps(planned: readonly PlannedCall[], now: readonly PlannedCall[]): boolean {
  return planned.length === now.length && planned.every((step, index) => now[index] !== undefined && isPlannedStep(step, now[index]));
}

interface Planned {
  readonly tool: RegisteredTool;
  /** Undefined while results of earlier steps decide on them. */
  readonly params: JsonObject | undefined;
  readonly written: JsonObject;
}

class Planner {
  readonly #parts: PlanParts;
  #callsLeft = MAX_CALLS;

  constructor(parts: PlanParts) {
    this.#parts = parts;
  }

  of({ tool, params, written }: Planned, depth: number): PlannedCall {
    this.#callsLeft -= 1;
    if (this.#callsLeft < 0 || depth > MAX_DEPTH) throw tooMuch(tool);
    const { definition } = tool;
    const given = params ?? written;
    const program = programOf(tool, params);
    const steps = tool.innerCalls?.(params).map((inner) => this.#step(inner, depth + 1));
    return {
      tool: tool.id,
      title: definition.metadata.title,
      params: shownParams(maskSecrets(definition.parameters, given)),
      definition: this.#definitionHash(tool),
      arguments: argumentsHash(maskSecrets(definition.parameters, given, this.#parts.seal)),
      ...(!params && { open: true }),
      ...(program && { program }),
      ...targetsOf(tool, params),
      ...(steps && steps.length > 0 && { steps }),
    };
  }

  #step({ tool: name, params, written }: InnerCall, depth: number): PlannedCall {
    const tool = this.#parts.find(name);
    const asWritten = params ?? written ?? {};
    if (tool) return this.of({ tool, params: params && this.#canonical(tool, params), written: asWritten }, depth);
    return { tool: name, title: name, params: shownParams(asWritten), definition: '', arguments: argumentsHash(asWritten), targets: [] };
  }

  /** As the step will have them. Parameters that the tool does not take, such as a device that there is not, are refused when the step runs. */
  #canonical(tool: RegisteredTool, params: JsonObject): JsonObject {
    try {
      const whole = this.#parts.validator.parameters(tool.definition.parameters, params, LARGE_PARAMS_LIMITS);
      return tool.canonicalize?.(whole, this.#parts.caller) ?? whole;
    } catch {
      return params;
    }
  }

  /** Settings among the implementation may be secret. */
  #definitionHash({ definition, program, implementation }: RegisteredTool): string {
    const parts = { definition: toPublicDefinition(definition), program: copyJson(program?.(undefined) ?? null) };
    return sha256Hex(canonicalJson({ ...parts, ...(implementation && { implementation: this.#parts.seal(implementation()) }) }));
  }
}

/** With its arguments filled in and no secret among them; the files that it takes are those of the real arguments. */
function programOf({ program, definition: { parameters } }: RegisteredTool, params: JsonObject | undefined): PlannedProgram | undefined {
  if (!program || !params || !hasSecrets(parameters)) return program?.(params);
  const { versions } = program(params);
  return { ...program(maskSecrets(parameters, params)), versions: withoutSecretTexts([...versions], secretTexts(parameters, params)) };
}

function argumentsHash(params: JsonObject): string {
  return sha256Hex(canonicalJson(params));
}

/** Parameters that fit no schema name nothing that could be touched: the call is refused before it runs. */
function targetsOf(tool: RegisteredTool, params: JsonObject | undefined): Pick<PlannedCall, 'targets' | 'reads'> {
  if (tool.hubs || !params) return { targets: [] };
  try {
    const effects = effectsOf(tool, params);
    const reads = [...readsIn(effects)];
    return { targets: [...new Set(effects.map(({ target }) => target))], ...(reads.length > 0 && { reads }) };
  } catch {
    return { targets: [] };
  }
}

function tooMuch({ id }: RegisteredTool): AtmoError {
  return new AtmoError(
    'RESOURCE_EXCEEDED',
    `${id} would run more than a person can read before approving it; call its steps by themselves`,
    {
      permanent: true,
    },
  );
}
