import { isRemoteDevice, NOT_FOUND_CODES } from '../calls/routing/announced-device.ts';
import { excessPermissions } from '../core/auth/permission.ts';
import type { Principal } from '../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { pointerTo } from '../core/json.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { callerView, canSeeTool, mayCallTool, requiredPermissions } from '../tools/definition/tool-permissions.ts';
import type { AccessPorts } from './automation-ports.ts';
import { observedBy, permissionToObserve } from './observed.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import { isFilledAtRun } from './plan/references.ts';
import type { Action, Step } from './plan/step-schema.ts';
import { callsIn } from './run/step-calls.ts';

type ActionPorts = Pick<AccessPorts, 'authorizer' | 'registry' | 'mesh' | 'validator' | 'clock'>;

/**
 * Throws if an action could never succeed, for example because of an unknown tool, invalid parameters or missing permissions. A rehearsal by
 * the pipeline is not used: it has a rate limit and a note in the audit log for each call, and it needs values in place of the references to
 * triggers. The pipeline checks each call again; this check only tells the author about mistakes early.
 */
export function checkActions(steps: readonly Step[], principal: Principal, ports: ActionPorts): void {
  checkActionsFor(steps, { viewer: principal, holder: principal }, ports);
}

/** Who looks at what the actions name, and whose permissions they have. They differ while a proposal waits. */
interface ActionsOf {
  /** The one for whom tools and devices that it may not see do not exist. */
  readonly viewer: Principal;
  readonly holder: Principal;
}

/** Throws as `checkActions` does. What `viewer` may not see is as unknown as what does not exist. */
export function checkActionsFor(steps: readonly Step[], of: ActionsOf, ports: ActionPorts): void {
  for (const { action, path } of callsIn(steps, ports.clock.now())) {
    try {
      checkAction(action, of, ports);
    } catch (thrown) {
      const { code, message, details } = toAtmoError(thrown);
      const whose = code === 'TOOL_NOT_FOUND' ? ', with the permissions of this agent' : '';
      const pointer = pointerTo(['actions', ...path]);
      throw new AtmoError(code, `actions/${path[0]} (${action.tool})${whose}: ${message}`, { ...details, pointer });
    }
  }
}

/**
 * Returns the permissions that a plan needs and that a list of permissions lacks, as far as they are known before a run. `author` is who may see
 * the tools and devices of the plan.
 */
export function permissionsLacking(plan: AutomationPlan, of: AuthorAndAgent, ports: ActionPorts): readonly string[] {
  return lackingOf(neededPermissions(plan, of, ports).known, of.agent, ports);
}

/**
 * Returns permissions of the agent that a plan can do without, all of them together; of two of which each is enough, the wider one. Returns
 * nothing if what a call needs is only known in a run.
 */
export function permissionsUnneeded(plan: AutomationPlan, of: AuthorAndAgent, ports: ActionPorts): readonly string[] {
  const { known, isComplete } = neededPermissions(plan, of, ports);
  if (!isComplete) return [];
  const all = of.agent.permissions;
  const width = (permission: string) => all.length - excessPermissions(all, [permission]).length;
  let kept = all;
  for (const permission of all.toSorted((a, b) => width(b) - width(a))) {
    const rest = kept.filter((one) => one !== permission);
    if (lackingOf(known, { ...of.agent, permissions: rest }, ports).length === 0) kept = rest;
  }
  return all.filter((permission) => !kept.includes(permission));
}

/** Who writes a plan, and the agent that would follow it. */
interface AuthorAndAgent {
  readonly author: Principal;
  readonly agent: Principal;
}

interface NeededPermissions {
  readonly known: readonly string[];
  /** False if some are only known in a run, or by another hub. */
  readonly isComplete: boolean;
}

function neededPermissions(plan: AutomationPlan, { author, agent }: AuthorAndAgent, ports: ActionPorts): NeededPermissions {
  const seen = observedBy(plan).flatMap((about) => permissionToObserve(about, agent) ?? []);
  const called = callsIn(plan.actions, ports.clock.now()).map(({ action }) => permissionsOfCall(action, author, ports));
  return { known: [...new Set([...seen, ...called.flatMap((one) => one ?? [])])], isComplete: !called.includes(undefined) };
}

function lackingOf(needed: readonly string[], agent: Principal, { authorizer }: ActionPorts): readonly string[] {
  return needed.filter((permission) => !authorizer.authorize(agent, [permission]).allowed);
}

/** Returns what a call needs; undefined if its tool is not known or its parameters are only known in a run, which the check of the call says. */
function permissionsOfCall(action: Action, author: Principal, ports: ActionPorts): readonly string[] | undefined {
  const { registry, authorizer, validator } = ports;
  if (isFilledAtRun(action.params)) return undefined;
  try {
    const tool = registry.resolve(action.tool, { isVisible: (candidate) => canSeeTool(candidate, author, authorizer) });
    const params = validator.parameters(tool.definition.parameters, action.params);
    const canonical = tool.hubs ? undefined : canonicalOf(tool, params, { principal: author, ports });
    return canonical && permissionsOf(tool, canonical);
  } catch {
    return undefined;
  }
}

function checkAction(action: Action, { viewer, holder }: ActionsOf, ports: ActionPorts): void {
  const { registry, authorizer, validator } = ports;
  const tool = registry.resolve(action.tool, { isVisible: (candidate) => canSeeTool(candidate, viewer, authorizer) });
  const required = tool.definition.requires.permissions;
  if (!mayCallTool(tool, holder, authorizer)) throw lacks(required);
  if (isFilledAtRun(action.params)) return;
  const params = validator.parameters(tool.definition.parameters, action.params);
  // For a tool of another hub, the permissions for effects are not checked: only that hub can resolve the devices.
  if (tool.hubs) return;
  const canonical = canonicalOf(tool, params, { principal: viewer, ports });
  if (!canonical) return;
  const decision = authorizer.authorize(holder, permissionsOf(tool, canonical));
  if (!decision.allowed) throw lacks(decision.required);
}

/** Returns the canonical parameters; undefined if they name a device of another hub, because only that hub can resolve it. */
function canonicalOf(
  tool: RegisteredTool,
  params: Action['params'],
  { principal, ports }: { readonly principal: Principal; readonly ports: ActionPorts },
): Action['params'] | undefined {
  const { authorizer, registry, mesh } = ports;
  try {
    return tool.canonicalize?.(params, callerView(principal, authorizer)) ?? params;
  } catch (error) {
    if (!NOT_FOUND_CODES.has(toAtmoError(error).code)) throw error;
    if (isRemoteDevice({ tool, params }, { principal, authorizer }, { tools: registry, peers: mesh.view.peers() })) return undefined;
    throw error;
  }
}

function permissionsOf(tool: RegisteredTool, params: Action['params']): readonly string[] {
  const own = requiredPermissions(tool, params);
  return [...own, ...(tool.effects?.(params) ?? []).map(({ permission }) => permission)];
}

function lacks(required: readonly string[]): AtmoError {
  return new AtmoError('PERMISSION_DENIED', `the agent would lack ${required.join(', ')}; add it to permissions`, { required });
}
