import { isRemoteDevice, NOT_FOUND_CODES } from '../calls/routing/remote-device.ts';
import { type Authorizer, isSelfOrDescendant, type Principal } from '../core/auth/principal.ts';
import { parseDeviceId, parseSensorId } from '../core/devices/device-names.ts';
import { AtmoError, invalidInput, toAtmoError } from '../core/errors.ts';
import { oncePerObject } from '../core/lifecycle.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { callerView, canSeeTool, filledPermissions, mayCallTool } from '../tools/definition/tool-permissions.ts';
import { canSeeDevice } from '../tools/names/resolve-names.ts';
import type { AccessPorts } from './automation-ports.ts';
import { type SimpleCondition, simpleConditions } from './plan/condition-schema.ts';
import { usesIn } from './plan/expression.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import { isFilledAtRun } from './plan/references.ts';
import { type Action, conditionsIn, expressionsOf, type Step } from './plan/step-schema.ts';
import type { Trigger } from './plan/trigger-schema.ts';
import { callsIn } from './run/step-calls.ts';

type VisibilityPorts = Pick<AccessPorts, 'authorizer' | 'readings' | 'devices' | 'house'>;
type ActionPorts = Pick<AccessPorts, 'authorizer' | 'registry' | 'mesh' | 'validator' | 'clock'>;

/** What an automation looks at. */
export type Observed = Trigger | SimpleCondition;

/** Returns what a plan looks at: its triggers, its conditions at any depth, and what its expressions use. */
export const observedBy = oncePerObject(({ triggers, conditions, actions }: AutomationPlan): readonly Observed[] => {
  const asked = simpleConditions([...conditions, ...conditionsIn(actions).flat()]);
  return [...triggers, ...asked, ...usedBy(expressionsOf({ conditions, actions }))];
});

/** Returns what expressions look at. */
export function usedBy(expressions: Iterable<string>): readonly Observed[] {
  const written = [...expressions];
  const readings = [...usesIn(written, 'readings')].map((sensor_id): Observed => ({ type: 'reading', sensor_id }));
  return [...readings, ...[...usesIn(written, 'flags')].map((flag): Observed => ({ type: 'flag', flag }))];
}

/**
 * Returns whether the principal may observe what a trigger or condition is about. For a sensor, the principal needs the permission to read
 * its value. For a device, the permission to see the device is enough. The sun shows where the house is. The time of day needs no permission.
 */
export function canObserve(about: Observed, principal: Principal, authorizer: Authorizer): boolean {
  if ('device_id' in about) return canSeeDevice(parseDeviceId(about.device_id), callerView(principal, authorizer));
  const permission = permissionOf(about, principal);
  return permission === undefined || authorizer.authorize(principal, [permission]).allowed;
}

/** Returns the permission that a look needs; undefined if it needs none. */
function permissionOf(about: Exclude<Observed, { readonly device_id: string }>, principal: Principal): string | undefined {
  switch (about.type) {
    case 'reading':
      return `sensor:read:${about.sensor_id}`;
    case 'sun':
      return 'location:read:hub';
    case 'flag':
      return `flag:read:${about.flag}`;
    case 'presence':
      return 'presence:read';
    case 'scene':
      return `scene:read:${about.scene_id}`;
    case 'decision':
      return about.agent_id !== undefined && isSelfOrDescendant(about.agent_id, principal.id) ? undefined : 'admin:approvals';
    case 'automation_ended':
      return isKin(about.agent_id, principal.id) ? undefined : 'admin:agents';
    default:
      return undefined;
  }
}

/** Returns whether an agent is a descendant of the principal, or was made by the same one. */
function isKin(agentId: string, principalId: string): boolean {
  return isSelfOrDescendant(agentId, principalId) || makerOf(agentId) === makerOf(principalId);
}

function makerOf(agentId: string): string {
  return agentId.split('/').slice(0, -1).join('/');
}

/**
 * Throws SENSOR_NOT_FOUND or DEVICE_NOT_FOUND if a sensor or device is unknown, and the same error if the principal may not see it. Throws
 * PERMISSION_DENIED for other things that the principal may not observe, NOT_CONFIGURED if the place of the sun is not known, VALIDATION_ERROR
 * if the automation would set itself off.
 */
export function requireVisible(plan: AutomationPlan, principal: Principal, ports: VisibilityPorts): void {
  for (const about of observedBy(plan)) {
    if (!exists(about, ports) || !canObserve(about, principal, ports.authorizer)) throw hidden(about, principal);
    if (about.type === 'sun' && ports.house.place() === undefined) throw nowhere();
    if (about.type === 'automation_ended' && about.agent_id === principal.id) throw invalidInput('It cannot be set off by its own end');
  }
}

function hidden(about: Observed, principal: Principal): AtmoError {
  const whose = 'The permissions of this agent show it no';
  if ('sensor_id' in about) {
    const sensor = JSON.stringify(about.sensor_id);
    return new AtmoError('SENSOR_NOT_FOUND', `${whose} sensor ${sensor}; write the id of one, as list_sensors returns it`);
  }
  if ('device_id' in about) {
    return new AtmoError('DEVICE_NOT_FOUND', `${whose} device ${JSON.stringify(about.device_id)}; write the id of one`);
  }
  const required = [permissionOf(about, principal) ?? ''];
  return new AtmoError('PERMISSION_DENIED', `For ${about.type}, the agent would lack ${required[0]}; add it to permissions`, { required });
}

function nowhere(): AtmoError {
  const what = 'Where the house is, is not known, so the sun cannot be computed';
  return new AtmoError('NOT_CONFIGURED', `${what}; set latitude and longitude of connectors.location.hub in the configuration of the hub`);
}

function exists(about: Observed, { readings, devices }: VisibilityPorts): boolean {
  if ('sensor_id' in about) return readings.current(parseSensorId(about.sensor_id)) !== undefined;
  return 'device_id' in about ? devices.get(parseDeviceId(about.device_id)) !== undefined : true;
}

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
  for (const { action, index } of callsIn(steps, ports.clock.now())) {
    try {
      checkAction(action, of, ports);
    } catch (thrown) {
      const { code, message, details } = toAtmoError(thrown);
      const whose = code === 'TOOL_NOT_FOUND' ? ', with the permissions of this agent' : '';
      throw new AtmoError(code, `actions/${index} (${action.tool})${whose}: ${message}`, { ...details, action: index });
    }
  }
}

/**
 * Returns the permissions that a plan needs and that a list of permissions lacks, as far as they are known before a run. `author` is who may see
 * the tools and devices of the plan.
 */
export function permissionsLacking(
  plan: AutomationPlan,
  { author, agent }: { readonly author: Principal; readonly agent: Principal },
  ports: ActionPorts,
): readonly string[] {
  const seen = observedBy(plan).flatMap((about) =>
    'device_id' in about ? `device:read:${about.device_id}` : (permissionOf(about, agent) ?? []),
  );
  const called = callsIn(plan.actions, ports.clock.now()).flatMap(({ action }) => permissionsOfCall(action, author, ports));
  return [...new Set([...seen, ...called])].filter((permission) => !ports.authorizer.authorize(agent, [permission]).allowed);
}

/** Returns what a call needs; nothing if its tool is not known or its parameters are only known in a run, which the check of the call says. */
function permissionsOfCall(action: Action, author: Principal, ports: ActionPorts): readonly string[] {
  const { registry, authorizer, validator } = ports;
  if (isFilledAtRun(action.params)) return [];
  try {
    const tool = registry.resolve(action.tool, { isVisible: (candidate) => canSeeTool(candidate, author, authorizer) });
    const params = validator.parameters(tool.definition.parameters, action.params);
    const canonical = tool.hubs ? undefined : canonicalOf(tool, params, { principal: author, ports });
    return canonical ? permissionsOf(tool, canonical) : [];
  } catch {
    return [];
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
  const own = filledPermissions(tool.definition.requires.permissions, params);
  return [...own, ...(tool.effects?.(params) ?? []).map(({ permission }) => permission)];
}

function lacks(required: readonly string[]): AtmoError {
  return new AtmoError('PERMISSION_DENIED', `the agent would lack ${required.join(', ')}; add it to permissions`, { required });
}
