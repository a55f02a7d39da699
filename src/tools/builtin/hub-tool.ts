import type { Effect, Risk } from '../../core/auth/authorizer.ts';
import type { DeviceAdministration } from '../../core/devices/device-administration.ts';
import type { CommandPath } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { type DeviceId, parseDeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { p } from '../definition/define-tool.ts';
import type { CallerView } from '../definition/tool-definition.ts';
import type { DeviceNames } from '../names/resolve-names.ts';
import type { NamingPorts } from './device-name-tools.ts';

/** How far a device reaches: several devices may share one node, its access control and its endpoints' numbers. */
export interface DeviceBounds {
  /** The device of the same node that has the endpoint; undefined when none has. */
  ownerOf(device: DeviceId, endpoint: number): DeviceId | undefined;
  /** The device and the others of its node. */
  nodeOf(device: DeviceId): readonly DeviceId[];
  /** The device that stands for the whole node, such as the bridge that a lamp is behind; the device itself where it is all there is. */
  wholeOf(device: DeviceId): DeviceId;
  /** True for locks, valves and whatever else is dangerous to hand over by mistake. */
  isGuarded(device: DeviceId): boolean;
  /** The highest risk of what anybody can do who may operate the endpoint. */
  riskOn(device: DeviceId, endpoint: number): Risk;
  /** What the device's own tools say of a command, a device file among them; `none` where they say nothing. */
  riskOfCommand(path: CommandPath): Risk;
  /** What a command to an endpoint sets, and what it may change besides. */
  outcomeOf(path: CommandPath, fields: JsonObject): Pick<Effect, 'values' | 'unforeseen'>;
  /** Names of the values that whoever operates the endpoint, or one cluster of it, can change. */
  valuesOn(device: DeviceId, endpoint: number, cluster?: string): readonly string[];
  /** By which kind of tools each cluster of the device is reached. */
  servedClusters(device: DeviceId): readonly ServedCluster[];
}

/** A cluster of a device and what makes its tools. */
export interface ServedCluster {
  readonly endpoint: number;
  readonly cluster: string;
  /**
   * `profile`: tools with friendly names and units; `data_model`: tools by the Matter data model alone; `administration`: tools of the
   * hub itself; `none`: `control_matter_device` reaches it.
   */
  readonly served_by: 'profile' | 'data_model' | 'administration' | 'none';
}

/** What the hub tools work with. */
export interface AdminPorts {
  readonly administration: DeviceAdministration;
  readonly devices: DeviceNames;
  readonly bounds: DeviceBounds;
  /** The risk of one command of one cluster, as the device profiles state it. */
  readonly riskOf: (cluster: string, command: string) => Risk;
  /** Who has which name, and what uses it. */
  readonly naming: NamingPorts;
}

/** What all hub tools have in common. */
export const HUB_READS = { namespace: 'hub', category: 'managing', hasSideEffects: false, preferLocal: true } as const;
/** The same for tools that change something. */
export const HUB_ACTS = { ...HUB_READS, hasSideEffects: true } as const;
/** The permission for what concerns the hub or its fabric as a whole. */
export const FOR_HUB = { permissions: ['admin:hub'] } as const;

/** `device_id` of a tool on one device. */
export const deviceParameter = p.string({ description: 'Device id, or its name if only one device has it', maxLength: 64 });
/** `endpoint` of a tool on one endpoint. */
export const endpointParameter = p.integer({ description: 'Endpoint of the device', minimum: 0, maximum: 65_534 });
/** Result schema of tools that have nothing to tell but that it is done. */
export const DONE = { type: 'object', required: ['success'], properties: { success: { const: true } } } as const;
/** The result that goes with `done`. */
export const SUCCESS = { success: true } as const;

/** What every tool on one device has: the permission for this device, and its name turned into its id before that is asked. */
export function forDevice(ports: AdminPorts) {
  return {
    permissions: ['admin:device:{device_id}'],
    canonicalize: (params: { readonly device_id: string }, caller: CallerView): JsonObject => ({
      ...params,
      device_id: ports.devices.resolve(params.device_id, caller),
    }),
  };
}

/** As `forDevice`, for what changes the whole node: it takes the permission for every device that is part of it. */
export function forNode(ports: AdminPorts) {
  return {
    ...forDevice(ports),
    effects: (params: { readonly device_id: string }): readonly Effect[] =>
      ports.bounds
        .nodeOf(deviceOf(params))
        .map((device) => ({ permission: `admin:device:${device}`, risk: 'low', target: device, device })),
  };
}

/** Refuses an endpoint of another device of the same node: permission was asked for this device only. */
export function requireOwnEndpoint({ bounds }: AdminPorts, device: DeviceId, endpoint: number): void {
  const owner = bounds.ownerOf(device, endpoint);
  if (owner === undefined || owner === device) return;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `Endpoint ${endpoint} is not part of ${device} but of another device of its node; name that one`,
    {
      endpoint,
    },
  );
}

/** The canonical id that `canonicalize` put in. */
export function deviceOf(params: { readonly device_id: string }): DeviceId {
  return parseDeviceId(params.device_id);
}
