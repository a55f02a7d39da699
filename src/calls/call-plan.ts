import { canonicalJson } from '../codec/canonical-json.ts';
import { sha256Hex } from '../codec/hashes.ts';
import type { ApprovedStep, PlannedCall } from '../core/auth/approvals.ts';
import type { PlannedProgram } from '../core/auth/principal.ts';
import { readsIn } from '../core/devices/action-descriptions.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../core/json.ts';
import { toPublicDefinition } from '../tools/definition/public-definition.ts';
import type { CallerRights, InnerCall, RegisteredTool } from '../tools/definition/tool-definition.ts';
import { effectsOf, highestRiskOf } from '../tools/definition/tool-permissions.ts';
import { copyJson, LARGE_PARAMS_LIMITS, RESULT_LIMITS } from '../tools/schema/plain-json.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import { hasSecrets, maskSecrets, secretTexts, withoutSecretTexts } from '../tools/schema/secrets.ts';
import { MAX_CALL_DEPTH, MAX_NESTED_CALLS } from './limits.ts';

/** The schema of the parameters of an unknown tool: each parameter whose name means a secret counts as secret. */
const SECRET_BY_NAME: JsonSchema = { 'x-secret-members': true };
/** Maximum length of a plan that is shown to approvers, in characters of JSON text. */
const MAX_PLAN_LENGTH = 262_144;

/** What is needed to compute a plan. */
interface PlanningContext {
  /** Returns the tool that a step's name denotes for the caller now; undefined if there is none. */
  find(name: string): RegisteredTool | undefined;
  readonly caller: CallerRights;
  readonly validator: Pick<SchemaValidator, 'parameters'>;
  /** Returns a keyed hash of a secret value. The hash may leave the hub. */
  readonly seal: (value: Json) => string;
}

/**
 * Returns the plan of a call with canonical parameters: the call and all calls inside it, each with its program and the hash of its tool's
 * definition. Throws RESOURCE_EXCEEDED if the plan is too long for a person to read.
 */
export function plannedCall(tool: RegisteredTool, params: JsonObject, parts: PlanningContext): PlannedCall {
  const planned = new Planner(parts).of({ tool, params, written: params }, 0);
  if (JSON.stringify(planned).length > MAX_PLAN_LENGTH) throw planTooLong(tool);
  return planned;
}

/** Returns the SHA-256 that an approval covers. It depends on the arguments and on the definitions of all tools that will run. */
export function approvalHash(plan: PlannedCall): string {
  return sha256Hex(canonicalJson(copyJson(plan, RESULT_LIMITS)));
}

/** Returns whether the call `now` is the planned step. Its arguments may differ only if they depend on results of earlier steps. */
export function isPlannedStep(planned: PlannedCall, now: PlannedCall): boolean {
  if (!planned.open) return approvalHash(planned) === approvalHash(now);
  return planned.tool === now.tool && planned.definition === now.definition && areSameSteps(planned.steps ?? [], now.steps ?? []);
}

/** Returns the direct steps of an approved call. A step that people did not see is left out, so that it cannot run. */
export function approvedSteps({ seen, now }: ApprovedStep): readonly ApprovedStep[] {
  return (now.steps ?? []).flatMap((step, index) => {
    const asSeen = seen.steps?.[index];
    return asSeen ? [{ seen: asSeen, now: step }] : [];
  });
}

function areSameSteps(planned: readonly PlannedCall[], now: readonly PlannedCall[]): boolean {
  return planned.length === now.length && planned.every((step, index) => now[index] !== undefined && isPlannedStep(step, now[index]));
}

interface PlanStep {
  readonly tool: RegisteredTool;
  /** Undefined if the parameters depend on results of earlier steps. */
  readonly params: JsonObject | undefined;
  readonly written: JsonObject;
}

class Planner {
  readonly #parts: PlanningContext;
  #callsLeft = MAX_NESTED_CALLS;

  constructor(parts: PlanningContext) {
    this.#parts = parts;
  }

  of({ tool, params, written }: PlanStep, depth: number): PlannedCall {
    this.#callsLeft -= 1;
    if (this.#callsLeft < 0 || depth > MAX_CALL_DEPTH) throw planTooLong(tool);
    const { definition } = tool;
    const given = params ?? written;
    const program = programOf(tool, params);
    const steps = tool.innerCalls?.(params).map((inner) => this.#step(inner, depth + 1));
    return {
      tool: tool.id,
      title: definition.metadata.title,
      params: displayedParams(maskSecrets(definition.parameters, given)),
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
    // Without the tool's schema, only the names of the parameters tell which of them are secret.
    return {
      tool: name,
      title: name,
      params: displayedParams(maskSecrets(SECRET_BY_NAME, asWritten)),
      definition: '',
      arguments: argumentsHash(maskSecrets(SECRET_BY_NAME, asWritten, this.#parts.seal)),
      targets: [],
    };
  }

  /** Returns the step's parameters in canonical form. Returns invalid parameters unchanged: the step is refused when it runs. */
  #canonical(tool: RegisteredTool, params: JsonObject): JsonObject {
    try {
      return canonicalParams(tool, params, this.#parts);
    } catch {
      return params;
    }
  }

  /** Returns the hash of a tool's definition. `seal` protects the implementation in it, which may contain secret settings. */
  #definitionHash({ definition, program, implementation }: RegisteredTool): string {
    const facts = { definition: toPublicDefinition(definition), program: copyJson(program?.(undefined) ?? null) };
    return sha256Hex(canonicalJson({ ...facts, ...(implementation && { implementation: this.#parts.seal(implementation()) }) }));
  }
}

/** Returns the parameters of a call, with defaults and in the tool's canonical form. Throws VALIDATION_ERROR if they are invalid. */
export function canonicalParams(
  tool: RegisteredTool,
  given: Json,
  { validator, caller }: Pick<PlanningContext, 'validator' | 'caller'>,
): JsonObject {
  const whole: JsonObject = validator.parameters(tool.definition.parameters, given, LARGE_PARAMS_LIMITS);
  return tool.canonicalize?.(whole, caller) ?? whole;
}

/** Returns the program with masked secrets. Its `versions` are those for the unmasked parameters, but contain no secret texts. */
function programOf({ program, definition: { parameters } }: RegisteredTool, params: JsonObject | undefined): PlannedProgram | undefined {
  if (!program || !params || !hasSecrets(parameters)) return program?.(params);
  const { versions } = program(params);
  return { ...program(maskSecrets(parameters, params)), versions: withoutSecretTexts([...versions], secretTexts(parameters, params)) };
}

function argumentsHash(params: JsonObject): string {
  return sha256Hex(canonicalJson(params));
}

/** Returns the targets of a call, and whether it is or may be dangerous; no target if the tool is on another hub, or if the parameters are unknown or invalid. */
function targetsOf(tool: RegisteredTool, params: JsonObject | undefined): Pick<PlannedCall, 'targets' | 'reads' | 'dangerous'> {
  if (tool.hubs) return { targets: [] };
  if (!params) return { targets: [], ...(highestRiskOf(tool) === 'dangerous' && { dangerous: true }) };
  try {
    const effects = effectsOf(tool, params);
    const reads = [...readsIn(effects)];
    const isDangerous = effects.some(({ risk }) => risk === 'dangerous');
    const targets = [...new Set(effects.map(({ target }) => target))];
    return { targets, ...(reads.length > 0 && { reads }), ...(isDangerous && { dangerous: true }) };
  } catch {
    return { targets: [] };
  }
}

function planTooLong({ id }: RegisteredTool): AtmoError {
  return new AtmoError(
    'RESOURCE_EXCEEDED',
    `${id} would run more than a person can read before approving it; call its steps by themselves`,
    {
      permanent: true,
    },
  );
}

/** Maximum length of parameters that an approver sees in full, in characters of JSON text. */
const MAX_DISPLAYED_LENGTH = 65_536;
const MAX_TEXT_LENGTH = 1_024;
const HEAD_LENGTH = 256;

/**
 * Returns the parameters as shown to an approver. If they are too long, shortens long texts. If they are still too long, returns only their
 * length. The approval itself covers the hash of the whole call.
 */
export function displayedParams(params: JsonObject): JsonObject {
  const { length } = JSON.stringify(params);
  if (length <= MAX_DISPLAYED_LENGTH) return params;
  const short = shortened(params);
  return isJsonObject(short) && JSON.stringify(short).length <= MAX_DISPLAYED_LENGTH ? short : { params_length: length };
}

function shortened(value: Json): Json {
  if (typeof value === 'string') return value.length <= MAX_TEXT_LENGTH ? value : beginningOf(value);
  if (Array.isArray(value)) return value.map(shortened);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, shortened(item)]));
}

function beginningOf(text: string): string {
  return `${text.slice(0, HEAD_LENGTH).toWellFormed()}… (${text.length} characters)`;
}
