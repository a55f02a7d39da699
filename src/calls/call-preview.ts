import { type Authorizer, type CallToJudge, maxRisk, type Principal, type Risk } from '../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { type InnerCall, needsApproval, type RegisteredTool } from '../tools/definition/tool-definition.ts';
import { formerToolIds } from '../tools/definition/tool-names.ts';
import { callerView, canSeeTool, effectsOf, highestRiskOf } from '../tools/definition/tool-permissions.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import { canonicalParams } from './call-plan.ts';
import { MAX_CALL_DEPTH, MAX_NESTED_CALLS, tooManyCalls } from './limits.ts';

/** The parts of the hub that a preview of calls needs. */
export interface CallPreviewPorts {
  readonly registry: {
    /** Returns the tool with a name, if it is visible. Throws as the tool directory does, for example TOOL_NOT_FOUND. */
    resolve(name: string, options: { readonly isVisible: (tool: RegisteredTool) => boolean }): RegisteredTool;
  };
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
}

/** A call to preview, and the principal for whom it is previewed. */
interface PreviewedRequest {
  readonly tool: string;
  /** The parameters; undefined while they depend on results of earlier steps. */
  readonly params: Json | undefined;
  /** The principal that requests the preview; the preview shows only tools and devices that it may see. */
  readonly viewer: Principal;
}

interface PreviewedCall extends Omit<CallToJudge, 'principal'> {
  /** False if the parameters depend on results of earlier steps. The effects are then unknown, and `effects` is empty. */
  readonly isKnown: boolean;
}

/**
 * Returns the call and then its inner calls in the order in which they would run, each with canonical parameters and its effects. Runs
 * nothing. Throws, for example, TOOL_NOT_FOUND for an unknown tool, VALIDATION_ERROR for invalid parameters, and RESOURCE_EXCEEDED at the first
 * inner call that is too much.
 */
export function previewCalls(ports: CallPreviewPorts, request: PreviewedRequest): readonly PreviewedCall[] {
  return new PreviewedTree(ports, request.viewer).callsOf(request, 0);
}

/** A tool with its parameters; undefined while they depend on results of earlier steps. */
interface ToPreview {
  readonly tool: string;
  readonly params?: Json | undefined;
}

/** A call with the calls inside it. */
class PreviewedTree {
  readonly #ports: CallPreviewPorts;
  readonly #viewer: Principal;
  #callsLeft = MAX_NESTED_CALLS;

  constructor(ports: CallPreviewPorts, viewer: Principal) {
    this.#ports = ports;
    this.#viewer = viewer;
  }

  callsOf({ tool: name, params: given }: ToPreview, depth: number): readonly PreviewedCall[] {
    const tool = toolOf(this.#ports, name, this.#viewer);
    const params = given === undefined ? undefined : paramsOf(tool, given, this.#ports, this.#viewer);
    // Only the other hub can compute the effects of its tool, so they are unknown here.
    const effects = params === undefined || tool.hubs ? [] : effectsOf(tool, params);
    const own = { toolId: tool.id, formerToolIds: formerToolIds(tool), params: params ?? {}, effects, isKnown: params !== undefined };
    const inner = tool.innerCalls?.(params) ?? [];
    if (inner.length > 0 && depth === MAX_CALL_DEPTH) throw tooManyCalls(name);
    return [own, ...inner.flatMap((step) => this.#inside(name, step, depth))];
  }

  #inside(outer: string, step: InnerCall, depth: number): readonly PreviewedCall[] {
    this.#callsLeft -= 1;
    if (this.#callsLeft < 0) throw tooManyCalls(outer);
    try {
      return this.callsOf(step, depth + 1);
    } catch (thrown) {
      const { code, message, details } = toAtmoError(thrown);
      throw new AtmoError(code, `${outer} would call ${step.tool}: ${message}`, details);
    }
  }
}

/**
 * Returns the highest risk of a call and its inner calls. For unknown parameters, and for more inner calls than are previewed, assumes the
 * highest risk that is possible.
 */
export function previewRisk(ports: CallPreviewPorts, request: PreviewedRequest): Risk {
  return new RiskOfTree(ports, request.viewer).of(request, 0);
}

/** The risk of a call with the calls inside it. */
class RiskOfTree {
  readonly #ports: CallPreviewPorts;
  readonly #viewer: Principal;
  #callsLeft = MAX_NESTED_CALLS;

  constructor(ports: CallPreviewPorts, viewer: Principal) {
    this.#ports = ports;
    this.#viewer = viewer;
  }

  of({ tool: name, params: given }: ToPreview, depth: number): Risk {
    const tool = attempt(() => toolOf(this.#ports, name, this.#viewer));
    if (!tool) return 'none';
    if (needsApproval(tool.definition) || depth > MAX_CALL_DEPTH) return 'dangerous';
    const params = given === undefined ? undefined : attempt(() => paramsOf(tool, given, this.#ports, this.#viewer));
    // A call with invalid parameters is refused and has no effect.
    if (given !== undefined && !params) return 'none';
    const inner = tool.innerCalls?.(params) ?? [];
    return maxRisk(...ownRisks(tool, params), ...inner.map((call) => (this.#callsLeft-- > 0 ? this.of(call, depth + 1) : 'dangerous')));
  }
}

function ownRisks(tool: RegisteredTool, params: JsonObject | undefined): readonly Risk[] {
  if (!params) return [highestRiskOf(tool)];
  return tool.hubs ? [] : (attempt(() => effectsOf(tool, params)) ?? []).map(({ risk }) => risk);
}

function toolOf({ registry, authorizer }: CallPreviewPorts, name: string, viewer: Principal): RegisteredTool {
  return registry.resolve(name, { isVisible: (candidate) => canSeeTool(candidate, viewer, authorizer) });
}

function paramsOf(tool: RegisteredTool, given: Json, { validator, authorizer }: CallPreviewPorts, viewer: Principal): JsonObject {
  return canonicalParams(tool, given, { validator, caller: callerView(viewer, authorizer) });
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
