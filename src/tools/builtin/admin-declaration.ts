import type { Risk } from '../../core/authorizer.ts';
import type { DeviceAdministration } from '../../core/device-administration.ts';
import { type DeviceId, parseDeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { p } from '../parameter-builder.ts';
import type { DeviceNames } from '../resolve-device.ts';
import type { CallerView } from '../tool-definition.ts';

/** What the hub tools work with. */
export interface AdminPorts {
  readonly administration: DeviceAdministration;
  readonly devices: DeviceNames;
  /** The risk of one command of one cluster, as the device profiles state it. */
  readonly riskOf: (cluster: string, command: string) => Risk;
}

/** What all hub tools have in common. */
export const HUB_READS = { namespace: 'hub', category: 'managing', hasSideEffects: false, preferLocal: true } as const;
export const HUB_ACTS = { ...HUB_READS, hasSideEffects: true } as const;
export const FOR_HUB = { permissions: ['admin:hub'] } as const;

export const deviceParameter = p.string({ description: 'Device id, or its name if only one device has it', maxLength: 64 });
export const endpointParameter = p.integer({ description: 'Endpoint of the device', minimum: 0, maximum: 65_534 });
export const done = { type: 'object', required: ['success'], properties: { success: { const: true } } } as const;
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

/** The canonical id that `canonicalize` put in. */
export function deviceOf(params: { readonly device_id: string }): DeviceId {
  return parseDeviceId(params.device_id);
}
