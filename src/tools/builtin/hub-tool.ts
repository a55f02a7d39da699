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

/** Port: tells which devices form a Matter node, which of its endpoints each device has, and what commands to a device can change. */
export interface DeviceBounds {
  /** Returns the device with the endpoint: `device`, or another device of the same Matter node. Returns undefined if there is none. */
  ownerOf(device: DeviceId, endpoint: number): DeviceId | undefined;
  nodeOf(device: DeviceId): readonly DeviceId[];
  /** Returns the device that represents the whole node: the bridge of a bridged lamp, or the device itself if it has no parent. */
  wholeOf(device: DeviceId): DeviceId;
  /** Returns whether the device may be dangerous, such as a lock. `restore_device` restores such a device only if the caller names it. */
  isGuarded(device: DeviceId): boolean;
  /** Returns whether two devices are of one kind, such as two lights. */
  isOfKind(device: DeviceId, other: DeviceId): boolean;
  riskOn(device: DeviceId, endpoint: number): Risk;
  /** Returns the highest risk of the device's tools that use the command: `none` if no tool uses it. An unknown device is `dangerous`. */
  riskOfCommand(path: CommandPath): Risk;
  /** Returns the values that a command sets. `unforeseen` has the names of values that the command may change in unknown ways. */
  outcomeOf(path: CommandPath, fields: JsonObject): Pick<Effect, 'values' | 'unforeseen'>;
  /** Returns the names of the values that can change through an endpoint. If `cluster` has values there, returns only their names. */
  valuesOn(device: DeviceId, endpoint: number, cluster?: string): readonly string[];
  /** Returns the clusters of the device. Each says which kind of tools uses it. */
  servedClusters(device: DeviceId): readonly ServedCluster[];
}

/** A cluster of a device. `served_by` is the kind of tools that use the cluster. */
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
  /** Returns the risk that the device profiles give to a command of a cluster. */
  readonly riskOf: (cluster: string, command: string) => Risk;
  readonly naming: NamingPorts;
}

/** Common fields of the hub's tools that only read. */
export const HUB_READS = { namespace: 'hub', category: 'managing', hasSideEffects: false, preferLocal: true } as const;
/** Common fields of the hub's tools that change something. */
export const HUB_ACTS = { ...HUB_READS, hasSideEffects: true } as const;
/** Common fields of tools that read data about the whole hub or its whole fabric. */
export const READS_WHOLE_HUB = { ...HUB_READS, permissions: ['admin:hub'] } as const;
/** Common fields of tools that change the whole hub or its whole fabric. */
export const ACTS_ON_HUB = { ...READS_WHOLE_HUB, hasSideEffects: true } as const;

/** The parameter `device_id` of a tool on one device. */
export const deviceParameter = p.string({ description: 'Device id, or its name if only one device has it', maxLength: 64 });
/** The parameter `endpoint` of a tool on one endpoint. */
export const endpointParameter = p.integer({ description: 'Endpoint of the device', minimum: 0, maximum: 65_534 });
/** Result schema of tools that only return success. */
export const DONE = resultSchema({ success: { const: true } });
/** The result of tools with the result schema `DONE`. */
export const SUCCESS = { success: true } as const;

/** Waits for `work`, then returns `SUCCESS`. */
export async function done(work: Promise<unknown>): Promise<typeof SUCCESS> {
  await work;
  return SUCCESS;
}

/** Returns the common fields of tools that change one device. `canonicalize` replaces the device's name by its id. */
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

/** Returns the same fields as `actsOnDevice`, but for a tool that only reads. */
export function readsDevice(ports: AdminPorts) {
  return { ...actsOnDevice(ports), hasSideEffects: false };
}

/** Returns the fields of `actsOnDevice` for a tool that changes a whole node. The caller needs a permission for each device of the node. */
export function actsOnNode(ports: AdminPorts) {
  return {
    ...actsOnDevice(ports),
    effects: (params: { readonly device_id: string }): readonly Effect[] =>
      ports.bounds
        .nodeOf(deviceOf(params))
        .map((device) => ({ permission: `admin:device:${device}`, risk: 'low', target: device, device })),
  };
}

/** Throws VALIDATION_ERROR if the endpoint belongs to another device of the node: the permission check covers only `device`. */
export function requireOwnEndpoint({ bounds }: AdminPorts, device: DeviceId, endpoint: number): void {
  const owner = bounds.ownerOf(device, endpoint);
  if (owner === undefined || owner === device) return;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `Endpoint ${endpoint} is not part of ${device} but of another device of its node; name that one`,
    { endpoint },
  );
}

/** Returns the device id from parameters that `canonicalize` has already processed. */
export function deviceOf(params: { readonly device_id: string }): DeviceId {
  return parseDeviceId(params.device_id);
}
