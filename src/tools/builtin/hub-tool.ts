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

/** The extent of a device: several devices may share one node, its access control and its endpoint numbers. */
export interface DeviceBounds {
  /** Returns the device of the same node that has the endpoint; undefined when none has. */
  ownerOf(device: DeviceId, endpoint: number): DeviceId | undefined;
  /** Returns the device and the others of its node. */
  nodeOf(device: DeviceId): readonly DeviceId[];
  /** Returns the device that represents the whole node, such as the bridge of a lamp; the device itself where it is the only one. */
  wholeOf(device: DeviceId): DeviceId;
  /** Returns true for locks, valves and other devices that are dangerous to restore by mistake. */
  isGuarded(device: DeviceId): boolean;
  /** Returns the highest risk of any operation on the endpoint. */
  riskOn(device: DeviceId, endpoint: number): Risk;
  /** Returns the risk of a command in the device's own tools and its device file; `none` where they do not have it. */
  riskOfCommand(path: CommandPath): Risk;
  /** Returns the values that a command to an endpoint sets, and those that it may change besides. */
  outcomeOf(path: CommandPath, fields: JsonObject): Pick<Effect, 'values' | 'unforeseen'>;
  /** Returns names of the values that whoever operates the endpoint, or one cluster of it, can change. */
  valuesOn(device: DeviceId, endpoint: number, cluster?: string): readonly string[];
  /** Returns the kind of tools that reach each cluster of the device. */
  servedClusters(device: DeviceId): readonly ServedCluster[];
}

/** A cluster of a device and the source of its tools. */
export interface ServedCluster {
  readonly endpoint: number;
  readonly cluster: string;
  /**
   * `profile`: tools with friendly names and units; `data_model`: tools by the Matter data model alone; `administration`: tools of the
   * hub itself; `none`: `control_matter_device` reaches it.
   */
  readonly served_by: 'profile' | 'data_model' | 'administration' | 'none';
}

/** The parts of the hub that the tools for devices use. */
export interface AdminPorts {
  readonly administration: DeviceAdministration;
  readonly devices: DeviceNames;
  readonly bounds: DeviceBounds;
  /** The risk of one command of one cluster, as the device profiles state it. */
  readonly riskOf: (cluster: string, command: string) => Risk;
  readonly naming: NamingPorts;
}

/** Members that all tools of the hub have in common. */
export const HUB_READS = { namespace: 'hub', category: 'managing', hasSideEffects: false, preferLocal: true } as const;
/** The same for tools that change something. */
export const HUB_ACTS = { ...HUB_READS, hasSideEffects: true } as const;
/** The same for tools on the hub or its fabric as a whole. */
export const READS_WHOLE_HUB = { ...HUB_READS, permissions: ['admin:hub'] } as const;
/** The same for tools that change something. */
export const ACTS_ON_HUB = { ...READS_WHOLE_HUB, hasSideEffects: true } as const;

/** `device_id` of a tool on one device. */
export const deviceParameter = p.string({ description: 'Device id, or its name if only one device has it', maxLength: 64 });
/** `endpoint` of a tool on one endpoint. */
export const endpointParameter = p.integer({ description: 'Endpoint of the device', minimum: 0, maximum: 65_534 });
/** Result schema of tools whose only result is success. */
export const DONE = resultSchema({ success: { const: true } });
/** The result that goes with `DONE`. */
export const SUCCESS = { success: true } as const;

/** Waits for the work of a tool whose only result is success. */
export async function done(work: Promise<unknown>): Promise<typeof SUCCESS> {
  await work;
  return SUCCESS;
}

/** Common members of the tools that change one device: the permission for it, and its name turned into its id before that is checked. */
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

/** As `actsOnDevice`, for tools that only read. */
export function readsDevice(ports: AdminPorts) {
  return { ...actsOnDevice(ports), hasSideEffects: false };
}

/** As `actsOnDevice`, for tools that change the whole node: they need the permission for every device of it. */
export function actsOnNode(ports: AdminPorts) {
  return {
    ...actsOnDevice(ports),
    effects: (params: { readonly device_id: string }): readonly Effect[] =>
      ports.bounds
        .nodeOf(deviceOf(params))
        .map((device) => ({ permission: `admin:device:${device}`, risk: 'low', target: device, device })),
  };
}

/** Rejects an endpoint of another device of the same node: the permission was checked for this device only. */
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
