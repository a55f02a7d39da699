import { isRemoteDevice, NOT_FOUND_CODES } from '../calls/routing/remote-device.ts';
import type { Authorizer, Principal } from '../core/auth/principal.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import { parseDeviceId, parseSensorId } from '../core/devices/device-names.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { MeshView } from '../core/mesh-view.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { callerView, canSeeTool, filledPermissions, mayCallTool } from '../tools/definition/tool-permissions.ts';
import { canSeeDevice } from '../tools/names/resolve-names.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { Action, AutomationPlan, Condition, Trigger } from './automation-schema.ts';
import { referencesIn } from './parse-automation.ts';

/** The parts of the hub against which a configuration is checked. */
export interface AccessPorts {
  readonly authorizer: Authorizer;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly registry: Pick<ToolDirectory, 'resolve' | 'hubsOf'>;
  /** The other hubs. */
  readonly mesh: { readonly view: Pick<MeshView, 'peers'> };
  readonly validator: SchemaValidator;
}

type VisibilityPorts = Pick<AccessPorts, 'authorizer' | 'readings' | 'devices'>;
type ActionPorts = Pick<AccessPorts, 'authorizer' | 'registry' | 'mesh' | 'validator'>;

/**
 * Returns whether the principal may observe the sensor or device of a trigger or condition. For a sensor, the principal needs the
 * permission to read its value. For a device, the permission to see the device is enough. Times need no permission.
 */
export function canObserve(about: Trigger | Condition, principal: Principal, authorizer: Authorizer): boolean {
  if ('sensor_id' in about) return authorizer.authorize(principal, [`sensor:read:${about.sensor_id}`]).allowed;
  return 'device_id' in about ? canSeeDevice(parseDeviceId(about.device_id), callerView(principal, authorizer)) : true;
}

/** Throws SENSOR_NOT_FOUND or DEVICE_NOT_FOUND if a sensor or device is unknown. Throws the same error if the principal may not see it. */
export function requireVisible(plan: AutomationPlan, principal: Principal, ports: VisibilityPorts): void {
  for (const about of [...plan.triggers, ...plan.conditions]) {
    if (exists(about, ports) && canObserve(about, principal, ports.authorizer)) continue;
    if ('sensor_id' in about) {
      throw new AtmoError(
        'SENSOR_NOT_FOUND',
        `The permissions of this agent show it no sensor ${JSON.stringify(about.sensor_id)}; write the id of one, as list_sensors returns it`,
      );
    }
    const device = 'device_id' in about ? about.device_id : '';
    throw new AtmoError(
      'DEVICE_NOT_FOUND',
      `The permissions of this agent show it no device ${JSON.stringify(device)}; write the id of one`,
    );
  }
}

function exists(about: Trigger | Condition, { readings, devices }: VisibilityPorts): boolean {
  if ('sensor_id' in about) return readings.current(parseSensorId(about.sensor_id)) !== undefined;
  return 'device_id' in about ? devices.get(parseDeviceId(about.device_id)) !== undefined : true;
}

/**
 * Throws if an action could never succeed, for example because of an unknown tool, invalid parameters or missing permissions. A dry run of
 * the pipeline is not used, because it would ask people to approve dangerous actions. The pipeline checks each call again; this check only
 * tells the author about mistakes early.
 */
export function checkActions(actions: readonly Action[], principal: Principal, ports: ActionPorts): void {
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

function checkAction(action: Action, principal: Principal, ports: ActionPorts): void {
  const { registry, authorizer, validator } = ports;
  const tool = registry.resolve(action.tool, { isVisible: (candidate) => canSeeTool(candidate, principal, authorizer) });
  const required = tool.definition.requires.permissions;
  if (!mayCallTool(tool, principal, authorizer)) throw lacks(required);
  if (referencesIn(action.params, 'trigger').size > 0) return;
  const params = validator.parameters(tool.definition.parameters, action.params);
  // For a tool of another hub, the permissions for effects are not checked: only that hub can resolve the devices.
  if (tool.hubs) return;
  const canonical = canonicalOf(tool, params, { principal, ports });
  if (!canonical) return;
  const decision = authorizer.authorize(principal, permissionsOf(tool, canonical));
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
