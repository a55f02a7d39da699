import type { DeviceId } from '../ids.ts';
import type { Json, JsonObject, JsonSchema } from '../json.ts';

/** Charge in percent at which a battery is low if the device does not say so itself. */
export const LOW_BATTERY_PERCENT = 10;

/** Access privileges of the Matter specification (Core §6.6.5.2). */
export type Privilege = 'view' | 'operate' | 'manage' | 'administer';

/*
 * Names: clusters, attributes, commands, events and enum values as the Matter specification writes them
 * (`MoveToLevel`); fields of commands, events and structs and flags of bitmaps in camelCase (`transitionTime`).
 * Schemas carry `x-unit` and `x-scale` where a number has a unit. Enums that devices report (read-only attributes, responses,
 * events) are `anyOf` [names, integer], since a device may be newer than the model.
 */

/** An attribute of a device. `schema` describes its JSON value in raw Matter units. */
export interface AttributeDescription {
  readonly id: number;
  /** Name in the Matter specification, such as `OccupiedHeatingSetpoint`, or `Attr0x<hex>` for an unknown manufacturer attribute. */
  readonly name: string;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly writable: boolean;
  readonly readPrivilege: Privilege;
  readonly writePrivilege?: Privilege;
  /** Unit of the value after multiplication by `scale`; absent if the data model defines no unit. */
  readonly unit?: string;
  readonly scale?: number;
  /** True if the device does not report changes of the value (quality C), so that the hub must read it. */
  readonly changesOmitted: boolean;
  /** True if the value never changes (quality F). */
  readonly fixed: boolean;
}

/** A command that a device accepts. */
export interface CommandDescription {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the request fields. It allows no other fields. */
  readonly parameters: JsonSchema;
  /** JSON Schema of the response fields; absent if the device answers only with a status. */
  readonly returns?: JsonSchema;
  readonly timed: boolean;
  readonly privilege: Privilege;
}

/** An event that a device may send. */
export interface EventDescription {
  readonly id: number;
  readonly name: string;
  readonly schema: JsonSchema;
  readonly priority: 'debug' | 'info' | 'critical';
}

/** A server cluster of an endpoint. It contains only the elements that the device supports. */
export interface ClusterDescription {
  readonly id: number;
  /** Name in the Matter specification, such as `OnOff`, or `Cluster0x<hex>` for an unknown manufacturer cluster. */
  readonly name: string;
  readonly description?: string;
  readonly revision: number;
  /** Short feature codes such as `LT`, as in the specification's feature tables. */
  readonly features: readonly string[];
  readonly attributes: readonly AttributeDescription[];
  readonly commands: readonly CommandDescription[];
  readonly events: readonly EventDescription[];
}

/** A device type that an endpoint declares in its Descriptor cluster. */
export interface DeviceTypeEntry {
  readonly id: number;
  /** Name in the Matter device library, such as `DimmableLight`, or `DeviceType0x<hex>` for an unknown device type. */
  readonly name: string;
  readonly revision: number;
}

/** A tag of the Descriptor's TagList (Core §9.5.6.5), which distinguishes similar endpoints. */
export interface SemanticTag {
  readonly namespace: number;
  readonly tag: number;
  readonly label?: string;
}

/** An endpoint of a device. */
export interface EndpointDescription {
  readonly endpoint: number;
  readonly deviceTypes: readonly DeviceTypeEntry[];
  readonly tags: readonly SemanticTag[];
  /** Labels that distinguish similar endpoints, such as `Panel 1` or `left`: the user label first, then tags, then the fixed label. */
  readonly labels?: readonly string[];
  readonly clusters: readonly ClusterDescription[];
}

/** Whether a device responds. After a start of the hub, it is `unknown` until the device's first response or timeout. */
export const REACHABILITIES = ['reachable', 'unreachable', 'unknown'] as const;
export type Reachability = (typeof REACHABILITIES)[number];

/** A device as people see it: a Matter node, a bridged device, a part of a composed device, or a device of the board. */
export interface Device {
  readonly id: DeviceId;
  /** Name for people, not necessarily unique: at most 64 characters, no control characters. */
  readonly name: string;
  /** True if a person set the name on this hub; absent if the name comes from the device. */
  readonly isNamedHere?: true;
  readonly area?: string;
  /** Kind of device. A `board` device is not a Matter device, but a chip, a probe or a GPIO line of the board. */
  readonly kind: 'node' | 'bridged' | 'part' | 'board';
  /** Operational node id in this hub's fabric, as decimal text; empty for devices of the board. */
  readonly nodeId: string;
  /** For a part: the composed device. For a bridged device: the bridge. Absent for other devices. */
  readonly parent?: DeviceId;
  readonly vendor: { readonly id: number; readonly name: string };
  readonly product: { readonly id: number; readonly name: string };
  readonly serial?: string;
  readonly softwareVersion?: string;
  /** Device types, the primary type first. */
  readonly deviceTypes: readonly string[];
  readonly reachability: Reachability;
  /** Time of the last response or report, milliseconds since 1970; 0 if there was none. */
  readonly lastSeenMs: number;
  /** True for a battery device that sleeps. It responds late, so its timeouts are longer. */
  readonly isSleepy: boolean;
}

/** A device with its endpoints. If the device is the Matter node itself, endpoint 0 is one of them. */
export interface DeviceDescription {
  readonly device: Device;
  readonly endpoints: readonly EndpointDescription[];
}

/** Path of an attribute. */
export interface AttributePath {
  readonly device: DeviceId;
  readonly endpoint: number;
  readonly cluster: string;
  readonly attribute: string;
}

/** Path of a command. */
export interface CommandPath {
  readonly device: DeviceId;
  readonly endpoint: number;
  readonly cluster: string;
  readonly command: string;
}

/** A value of an attribute, in the form of the attribute's schema, with the time at which the device reported it. */
export interface AttributeReading {
  readonly path: AttributePath;
  readonly value: Json;
  /** Time at which the device reported the value, milliseconds since 1970. */
  readonly atMs: number;
  readonly reachability: Reachability;
}

/** An event record that a device sent. */
export interface DeviceEvent {
  readonly device: DeviceId;
  readonly endpoint: number;
  readonly cluster: string;
  readonly event: string;
  readonly data: JsonObject;
  readonly atMs: number;
}

// Bitmaps that only modify how a command works. If absent, they count as empty. Other bitmaps of a command have no default.
const OPTION_DEFAULTS = ['optionsMask', 'optionsOverride', 'onOffControl'];

/** Returns a command's fields. If a mandatory option bitmap is absent, adds it as empty. `required` names the mandatory fields. */
export function withDefaultOptions(fields: JsonObject, required: readonly string[]): JsonObject {
  const missing = OPTION_DEFAULTS.filter((name) => required.includes(name) && !Object.hasOwn(fields, name));
  return { ...fields, ...Object.fromEntries(missing.map((name) => [name, {}])) };
}

/**
 * Raw values of devices: by device id, then by `<endpoint>/<cluster>/<attribute>`. The values have the form in which `DeviceAccess` returns
 * them. A value that is not known is absent.
 */
export type DeviceState = Readonly<Record<string, JsonObject>>;

/** Stands in a DeviceState for what calls change elsewhere than in values of devices. It is no device id. */
export const KEPT_BY_HUB = '@hub';
