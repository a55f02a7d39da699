import { type Authorizer, maxRisk, type Risk, type RuledCall } from '../core/auth/authorizer.ts';
import type { Principal } from '../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { NEEDS_APPROVAL, type RegisteredTool } from '../tools/definition/tool-definition.ts';
import { formerToolIds } from '../tools/definition/tool-names.ts';
import { callerView, canSeeTool, effectsOf } from '../tools/definition/tool-permissions.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import { LARGE_PARAMS_LIMITS } from '../tools/schema/plain-json.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';

/** As deep as composed tools may be registered, inside of a sequence. */
const MAX_DEPTH = 6;
/** As many as a call is judged with before it runs. */
const MAX_CALLS = 256;

/** What tells a call's effects without making it. */
export interface CallPreviewPorts {
  readonly registry: Pick<ToolDirectory, 'resolve'>;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
}

/** A call that might be made, and for whom it is looked at. */
interface PreviewedRequest {
  readonly tool: string;
  readonly params: Json;
  /** Sees only tools and devices that it may know of. */
  readonly viewer: Principal;
}

/** What a call would do, or one of those that it makes in turn. */
interface PreviewedCall extends Omit<RuledCall, 'principal'> {
  /** False while results of earlier steps decide on its parameters: its effects are not known then, and these are none. */
  readonly isKnown: boolean;
}

/**
 * The call with canonical parameters and its real effects, and behind it, in their order, the calls that it makes in turn: each of them is
 * judged as a call of its own. Runs nothing, asks nobody. Errors as a call's: TOOL_NOT_FOUND, VALIDATION_ERROR …
 */
export function previewCalls(ports: CallPreviewPorts, { tool: name, params, viewer }: PreviewedRequest): readonly PreviewedCall[] {
  const calls = callsOf(ports, { name, given: params, viewer }, 0);
  if (calls.length <= MAX_CALLS) return calls;
  throw new AtmoError('RESOURCE_EXCEEDED', `${name} would make more than ${MAX_CALLS} calls; call its steps by themselves`, {
    permanent: true,
  });
}

function callsOf(ports: CallPreviewPorts, { name, given, viewer }: PreviewTarget, depth: number): readonly PreviewedCall[] {
  const tool = toolOf(ports, name, viewer);
  const params = given === undefined ? undefined : canonicalParams(tool, given, { ...ports, viewer });
  // What a tool of another hub does, only that hub can tell.
  const effects = params === undefined || tool.hubs ? [] : effectsOf(tool, params);
  const own = { toolId: tool.id, formerToolIds: formerToolIds(tool), params: params ?? {}, effects, isKnown: params !== undefined };
  const inner = depth === MAX_DEPTH ? [] : (tool.innerCalls?.(params) ?? []);
  const steps = inner.flatMap((step) => {
    try {
      return callsOf(ports, { name: step.tool, given: step.params, viewer }, depth + 1);
    } catch (thrown) {
      const { code, message, details } = toAtmoError(thrown);
      throw new AtmoError(code, `${name} would call ${step.tool}: ${message}`, details);
    }
  });
  return [own, ...steps];
}

/**
 * The highest risk of anything that the call does, by itself or by the calls that it makes in turn: what makes several calls is as
 * dangerous as the worst of them. Of a call whose parameters are not known yet it is what its tool could do.
 */
export function previewRisk(ports: CallPreviewPorts, { tool: name, params: given, viewer }: PreviewedRequest): Risk {
  return riskOf(ports, { name, given, viewer }, 0);
}

interface PreviewTarget {
  readonly name: string;
  readonly given: Json | undefined;
  readonly viewer: Principal;
}

function riskOf(ports: CallPreviewPorts, { name, given, viewer }: PreviewTarget, depth: number): Risk {
  const tool = undefinedIfThrown(() => toolOf(ports, name, viewer));
  if (!tool) return 'none';
  const { isDangerous, tags } = tool.definition.metadata;
  if (isDangerous || tags.includes(NEEDS_APPROVAL) || depth === MAX_DEPTH) return 'dangerous';
  const params = given === undefined ? undefined : undefinedIfThrown(() => canonicalParams(tool, given, { ...ports, viewer }));
  // What is wrong with parameters the call itself says; it does nothing then.
  if (given !== undefined && !params) return 'none';
  const own = params
    ? (tool.hubs ? [] : (undefinedIfThrown(() => effectsOf(tool, params)) ?? [])).map(({ risk }) => risk)
    : [riskOfAny(tool)];
  const inner = tool.innerCalls?.(params) ?? [];
  return maxRisk(...own, ...inner.map((call) => riskOf(ports, { name: call.tool, given: call.params, viewer }, depth + 1)));
}

/** A tool for many devices that is told only later what to do could be told anything. */
function riskOfAny({ definition, effects, hubs }: RegisteredTool): Risk {
  if (!definition.execution.hasSideEffects) return 'none';
  return (effects ?? hubs) && definition.metadata.device === undefined ? 'dangerous' : 'low';
}

function toolOf({ registry, authorizer }: CallPreviewPorts, name: string, viewer: Principal): RegisteredTool {
  return registry.resolve(name, { isVisible: (candidate) => canSeeTool(candidate, viewer, authorizer) });
}

function canonicalParams(
  tool: RegisteredTool,
  given: Json,
  { validator, authorizer, viewer }: CallPreviewPorts & Pick<PreviewTarget, 'viewer'>,
): JsonObject {
  const checked: JsonObject = validator.parameters(tool.definition.parameters, given, LARGE_PARAMS_LIMITS);
  return tool.canonicalize?.(checked, callerView(viewer, authorizer)) ?? checked;
}

function undefinedIfThrown<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
