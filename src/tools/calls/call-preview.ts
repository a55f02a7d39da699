import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';
import type { RuledCall } from '../../core/access/rule-engine.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { KnownTools } from '../elsewhere/known-tools.ts';
import { LARGE_PARAMS_LIMITS } from '../schema/plain-json.ts';
import type { SchemaValidator } from '../schema/schema-validator.ts';
import { callerView, canSeeTool } from '../visibility.ts';
import { effectsOf } from './stages/effect-stages.ts';

/** What tells a call's effects without making it. */
export interface CallPreviewPorts {
  readonly registry: Pick<KnownTools, 'resolve'>;
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

/** The call with canonical parameters and its real effects; runs nothing, asks nobody. Errors as a call's: TOOL_NOT_FOUND, VALIDATION_ERROR … */
export function previewCall(
  ports: CallPreviewPorts,
  { tool: name, params: given, viewer }: PreviewedRequest,
): Omit<RuledCall, 'principal'> {
  const { registry, validator, authorizer } = ports;
  const tool = registry.resolve(name, { isVisible: (candidate) => canSeeTool(candidate, viewer, authorizer) });
  const checked: JsonObject = validator.parameters(tool.definition.parameters, given, LARGE_PARAMS_LIMITS);
  const params = tool.canonicalize?.(checked, callerView(viewer, authorizer)) ?? checked;
  // What a tool of another hub does, only that hub can tell.
  return { toolId: tool.id, params, effects: tool.hubs ? [] : effectsOf(tool, params) };
}
