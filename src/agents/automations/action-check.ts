import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { MeshView } from '../../core/mesh/mesh-view.ts';
import { isDeviceElsewhere, NOT_HERE } from '../../tools/calls/routes/device-elsewhere.ts';
import { filledPermissions } from '../../tools/definition/permission-template.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { KnownTools } from '../../tools/elsewhere/known-tools.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { callerView, canSeeTool, mayCallTool } from '../../tools/visibility.ts';
import type { Action } from './automation-config.ts';
import { referencesIn } from './reference.ts';

interface CheckPorts {
  readonly authorizer: Authorizer;
  readonly registry: Pick<KnownTools, 'resolve' | 'hubsOf'>;
  /** The other hubs. */
  readonly outlook: { readonly view: Pick<MeshView, 'peers'> };
  readonly validator: SchemaValidator;
}

/**
 * Refuses, before an automation exists, actions that could never be allowed: unknown tools, parameters that do not fit,
 * permissions that it lacks. A dry run of the pipeline would file requests for approval of dangerous ones, and the
 * pipeline judges each call anyway: this only spares its author an automation that fails at night.
 */
export function checkActions(actions: readonly Action[], principal: Principal, ports: CheckPorts): void {
  for (const [index, action] of actions.entries()) {
    try {
      checkAction(action, principal, ports);
    } catch (thrown) {
      const { code, message, details } = toAtmoError(thrown);
      const whose = code === 'TOOL_NOT_FOUND' ? ', with the permissions of this agent' : '';
      throw new AtmoError(code, `actions/${index} (${action.tool})${whose}: ${message}`, { ...details, action: index });
    }
  }
}

function checkAction(action: Action, principal: Principal, ports: CheckPorts): void {
  const { registry, authorizer, validator } = ports;
  const tool = registry.resolve(action.tool, { isVisible: (candidate) => canSeeTool(candidate, principal, authorizer) });
  const required = tool.definition.requires.permissions;
  if (!mayCallTool(tool, principal, authorizer)) throw lacks(required);
  if (referencesIn(action.params, 'trigger').size > 0) return;
  const params = validator.parameters(tool.definition.parameters, action.params);
  // Which devices a tool of another hub touches, that hub alone can tell.
  if (tool.hubs) return;
  const canonical = canonicalOf(tool, params, { principal, ports });
  if (!canonical) return;
  const decision = authorizer.authorize(principal, permissionsOf(tool, canonical));
  if (!decision.allowed) throw lacks(decision.required);
}

/** Undefined where the device is another hub's, which alone can tell what the call touches there. Throws what the tool does. */
function canonicalOf(
  tool: RegisteredTool,
  params: Action['params'],
  { principal, ports }: { readonly principal: Principal; readonly ports: CheckPorts },
): Action['params'] | undefined {
  const { authorizer, registry, outlook } = ports;
  try {
    return tool.canonicalize?.(params, callerView(principal, authorizer)) ?? params;
  } catch (error) {
    const peers = outlook.view.peers();
    if (
      NOT_HERE.has(toAtmoError(error).code) &&
      isDeviceElsewhere({ tool, params }, { principal, authorizer }, { tools: registry, peers })
    ) {
      return undefined;
    }
    throw error;
  }
}

function permissionsOf(tool: RegisteredTool, params: Action['params']): readonly string[] {
  const own = filledPermissions(tool.definition.requires.permissions, params);
  return [...own, ...(tool.effects?.(params) ?? []).map(({ permission }) => permission)];
}

function lacks(required: readonly string[]): AtmoError {
  return new AtmoError('PERMISSION_DENIED', `the agent would lack ${required.join(', ')}; add it to permissions`, { required });
}
