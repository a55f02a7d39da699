import type { Effect, Risk } from '../../core/auth/principal.ts';
import type { DeviceAdministration } from '../../core/devices/device-administration.ts';
import type { CommandPath } from '../../core/devices/device-model.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { p, resultSchema } from '../definition/define-tool.ts';
import type { CallerView } from '../definition/tool-definition.ts';
import type { NamingPorts } from '../names/name-references.ts';
import type { DeviceNames } from '../names/resolve-names.ts';

/** The extent of a device: several devices may share one node with its access control and endpoint numbers. */
export interface DeviceBounds {
  /** Returns the device of the same node that has the endpoint, or undefined. */
  ownerOf(device: DeviceId, endpoint: number): DeviceId | undefined;
  nodeOf(device: DeviceId): readonly DeviceId[];
  /** Returns the device that represents the whole node, such as the bridge of a lamp; a node's only device represents it. */
  wholeOf(device: DeviceId): DeviceId;
  /** Returns true for locks, valves and other devices that are dangerous to restore by mistake. */
  isGuarded(device: DeviceId): boolean;
  riskOn(device: DeviceId, endpoint: number): Risk;
  /** Returns the risk of a command in the device's own tools and its device file; `none` if they do not contain the command. */
  riskOfCommand(path: CommandPath): Risk;
  /** Returns the values that a command to an endpoint sets, and further values that it may change. */
  outcomeOf(path: CommandPath, fields: JsonObject): Pick<Effect, 'values' | 'unforeseen'>;
  /** Returns the names of the values that can be changed through an endpoint, or through one of its clusters. */
  valuesOn(device: DeviceId, endpoint: number, cluster?: string): readonly string[];
  /** Returns the kind of tools that reach each cluster of the device. */
  servedClusters(device: DeviceId): readonly ServedCluster[];
}

/** A cluster of a device and the source of its tools. */
export interface ServedCluster {
  readonly endpoint: number;
  readonly cluster: string;
  /**
   * `profile`: tools with friendly names and units; `data_model`: tools derived from the Matter data model; `administration`: tools of the
   * hub itself; `none`: only `control_matter_device` reaches the cluster.
   */
  readonly served_by: 'profile' | 'data_model' | 'administration' | 'none';
}

/** The parts of the hub that the tools for devices use. */
export interface AdminPorts {
  readonly administration: DeviceAdministration;
  readonly devices: DeviceNames;
  readonly bounds: DeviceBounds;
  /** Returns the risk of a cluster's command from the device profiles. */
  readonly riskOf: (cluster: string, command: string) => Risk;
  readonly naming: NamingPorts;
}

/** Members that all tools of the hub have in common. */
export const HUB_READS = { namespace: 'hub', category: 'managing', hasSideEffects: false, preferLocal: true } as const;
/** Common members of tools on the hub that change something. */
export const HUB_ACTS = { ...HUB_READS, hasSideEffects: true } as const;
/** Common members of tools that read the hub or its fabric as a whole. */
export const READS_WHOLE_HUB = { ...HUB_READS, permissions: ['admin:hub'] } as const;
/** Common members of tools that change the hub or its fabric as a whole. */
export const ACTS_ON_HUB = { ...READS_WHOLE_HUB, hasSideEffects: true } as const;

/** The parameter `device_id` of a tool on one device. */
export const deviceParameter = p.string({ description: 'Device id, or its name if only one device has it', maxLength: 64 });
/** The parameter `endpoint` of a tool on one endpoint. */
export const endpointParameter = p.integer({ description: 'Endpoint of the device', minimum: 0, maximum: 65_534 });
/** Result schema of tools without a result except success. */
export const DONE = resultSchema({ success: { const: true } });
/** The result for the schema `DONE`. */
export const SUCCESS = { success: true } as const;

/** Waits for work and returns the result of a tool without a result except success. */
export async function done(work: Promise<unknown>): Promise<typeof SUCCESS> {
  await work;
  return SUCCESS;
}

/**
 * Returns the common members of tools that change one device: the required permission, and the resolution of the device's name to its id
 * before the permission is checked.
 */
export function actsOnDevice(ports: AdminPorts) {
  return {
    ...HUB_ACTS,
    permissions: ['admin:device:{device_id}'],
    canonicalize: (params: { readonly device_id: string }, caller: CallerView): JsonObject => ({
      ...params,
      device_id: ports.devices.resolve(params.device_id, caller),
    }),
  };
}

/** Returns the members of `actsOnDevice`, for tools that only read. */
export function readsDevice(ports: AdminPorts) {
  return { ...actsOnDevice(ports), hasSideEffects: false };
}

/**
 * Returns the members of `actsOnDevice`, for tools that change the whole node: they require the permission for every device of the node.
 */
export function actsOnNode(ports: AdminPorts) {
  return {
    ...actsOnDevice(ports),
    effects: (params: { readonly device_id: string }): readonly Effect[] =>
      ports.bounds
        .nodeOf(deviceOf(params))
        .map((device) => ({ permission: `admin:device:${device}`, risk: 'low', target: device, device })),
  };
}

/** Throws for an endpoint of another device on the same node: the permission was checked only for this device. */
export function requireOwnEndpoint({ bounds }: AdminPorts, device: DeviceId, endpoint: number): void {
  const owner = bounds.ownerOf(device, endpoint);
  if (owner === undefined || owner === device) return;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `Endpoint ${endpoint} is not part of ${device} but of another device of its node; name that one`,
    { endpoint },
  );
}

/** Returns the canonical id that `canonicalize` put into the parameters. */
export function deviceOf(params: { readonly device_id: string }): DeviceId {
  return parseDeviceId(params.device_id);
}
