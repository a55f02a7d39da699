import type { DeviceId } from '../ids.ts';
import type { Json, JsonObject, JsonSchema } from '../json.ts';

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
  /** Name in the Matter specification, such as `OccupiedHeatingSetpoint`; manufacturer attributes without a model are `Attr0x<hex>`. */
  readonly name: string;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly writable: boolean;
  readonly readPrivilege: Privilege;
  readonly writePrivilege?: Privilege;
  /** Unit of `value * scale`, if the data model defines it. */
  readonly unit?: string;
  readonly scale?: number;
  /** True if the device does not report changes (quality C): the hub must read the value. */
  readonly changesOmitted: boolean;
  /** True if the value never changes (quality F). */
  readonly fixed: boolean;
}

/** A command that a device accepts. */
export interface CommandDescription {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
  /** Schema of the request fields: an object without additional properties. */
  readonly parameters: JsonSchema;
  /** Schema of the response fields; absent if the command returns only a status. */
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

/** A server cluster on an endpoint, with only the elements that the device supports. */
export interface ClusterDescription {
  readonly id: number;
  /** Name in the Matter specification, such as `OnOff`; unknown manufacturer clusters are `Cluster0x<hex>`. */
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
  /** Name in the device library, such as `DimmableLight`; unknown device types are `DeviceType0x<hex>`. */
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
  /** Labels that distinguish similar endpoints, such as `Panel 1` or `left`: user labels, tags, fixed labels. */
  readonly labels?: readonly string[];
  readonly clusters: readonly ClusterDescription[];
}

/** Whether a device responds; `unknown` until its first response or timeout after the hub's start. */
export const REACHABILITIES = ['reachable', 'unreachable', 'unknown'] as const;
export type Reachability = (typeof REACHABILITIES)[number];

/** A device as people see it: a Matter node, a bridged device, or a logical part of a composed device. */
export interface Device {
  readonly id: DeviceId;
  /** Name for people, not necessarily unique: at most 64 characters, no control characters. */
  readonly name: string;
  /** True if a person set the name on this hub; absent if the device reports it. */
  readonly isNamedHere?: true;
  readonly area?: string;
  /** Kind of device. `board` is not a Matter device, but a chip, a probe or a GPIO line of the board. */
  readonly kind: 'node' | 'bridged' | 'part' | 'board';
  /** Operational node id in this hub's fabric, as decimal text; empty for devices of the board. */
  readonly nodeId: string;
  /** The device that represents this device's node or bridge. */
  readonly parent?: DeviceId;
  readonly vendor: { readonly id: number; readonly name: string };
  readonly product: { readonly id: number; readonly name: string };
  readonly serial?: string;
  readonly softwareVersion?: string;
  /** Device types, the primary type first. */
  readonly deviceTypes: readonly string[];
  readonly reachability: Reachability;
  /** Time of the last response or report, ms since 1970; 0 before the first. */
  readonly lastSeenMs: number;
  /** True for battery devices that sleep. They respond late, so their timeouts are longer. */
  readonly isSleepy: boolean;
}

/** A device with its application endpoints, including endpoint 0 if the device is the node itself. */
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

/** The value of an attribute, in the form of its schema, and the time of its last report. */
export interface AttributeReading {
  readonly path: AttributePath;
  readonly value: Json;
  /** Time of the last report, ms since 1970. */
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

// Bitmaps that only modify how a command works. They are empty by default. Any other bitmap of a command has no default.
const OPTION_DEFAULTS = ['optionsMask', 'optionsOverride', 'onOffControl'];

/** Returns the raw fields of a command, with empty option bitmaps where the caller omitted them. `required` lists the mandatory fields. */
export function withDefaultOptions(fields: JsonObject, required: readonly string[]): JsonObject {
  const missing = OPTION_DEFAULTS.filter((name) => required.includes(name) && !Object.hasOwn(fields, name));
  return { ...fields, ...Object.fromEntries(missing.map((name) => [name, {}])) };
}
