import type { Risk } from '../../core/auth/principal.ts';
import type { Device, DeviceDescription } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { EventEntry } from '../files/profile-format.ts';
import { propertiesOf } from '../values/converter.ts';
import type { Bounds } from '../values/human-schema.ts';
import type { ClusterView, CompiledValue, LiveValues } from './cluster-view.ts';

/** A tool of a device, with its final action. */
export interface DeviceTool extends ToolBlueprint {
  /** Endpoint, cluster and action: the same for the same tool, whatever its name is. */
  readonly key: string;
  readonly risk: Risk;
  /** People's word for the part that it acts on: `light`. */
  readonly noun: string;
  /** The action without the suffix for its endpoint. */
  readonly plainAction: string;
  /** The action with the number of its endpoint, where several endpoints have it. */
  readonly numbered?: string;
  /** The device's label of the endpoint, which no other endpoint with the action has. */
  readonly part?: string;
}

/** A reading of a device; on a device that is new here its sensor is `<device id>/<path>`. */
export interface DeviceReading extends CompiledValue {
  readonly kind: string;
  /** Endpoint, cluster and value: the same for the same reading, whatever its name is. */
  readonly key: string;
  /** `temperature`, or `temperature/3` where several endpoints have it. */
  readonly path: string;
  /** The path by the rule of hubs that kept no ids of readings. */
  readonly formerPath: string;
}

/** The source of the tools of a cluster. */
export interface Coverage {
  readonly endpoint: number;
  readonly cluster: string;
  readonly by: 'capability' | 'generic' | 'administrative' | 'nothing';
  readonly capability?: string;
}

/** An event of a device that the hub emits. */
export interface DeviceEventRule extends EventEntry {
  readonly endpoint: number;
  readonly cluster: string;
  readonly event: string;
}

/** The tools, values, readings and events that profiles make of a device. */
export interface CompiledDevice {
  readonly device: Device;
  readonly noun: string;
  readonly tools: readonly DeviceTool[];
  /** The values that tools show and rules may name. */
  readonly values: readonly CompiledValue[];
  readonly readings: readonly DeviceReading[];
  readonly events: readonly DeviceEventRule[];
  readonly coverage: readonly Coverage[];
  /** Attributes whose live value shaped a tool, as `endpoint/cluster/attribute`. */
  readonly dependsOn: ReadonlySet<string>;
  /** The last reported values. */
  readonly live: LiveValues;
}

/** The present devices as profiles compile them. */
export interface CompiledDevices {
  get(id: DeviceId): CompiledDevice | undefined;
  list(): readonly CompiledDevice[];
  describe(id: DeviceId): DeviceDescription | undefined;
}

/** A tool of one cluster on one endpoint, before it belongs to a named device. */
export interface ToolBlueprint {
  /** `turn_on`; the device's name and the endpoint come in front of and behind it. */
  readonly action: string;
  readonly alias?: string;
  /** The action by the naming rule of older hubs; it stays an alias of the tool. */
  readonly formerAction?: string;
  readonly title: string;
  /** Description with `{device}` where noun and name belong. */
  readonly description: string;
  readonly endpoint: number;
  readonly cluster: string;
  /** Capability file; absent for the generic rule. */
  readonly capability?: string;
  readonly risk: Risk | 'highest';
  /** `read` returns values of the device and changes nothing. */
  readonly kind: 'act' | 'read';
  /** The commands or attributes that it touches. */
  readonly elements: readonly string[];
  /** It administers the device: needs `admin:device:<id>`. */
  readonly isAdministrative: boolean;
  readonly isIdempotent: boolean;
  readonly timeoutMs: number;
  readonly parameters: JsonSchema;
  readonly example?: JsonObject;
  /** Schema of the command's response, raw. */
  readonly response?: JsonSchema;
  /** The values in the state of the result. */
  readonly values: readonly CompiledValue[];
  /** Throws VALIDATION_ERROR for mistakes that schemas cannot express. */
  plan(params: JsonObject): DevicePlan;
  /** Bounds that the tool sets to raw fields and attributes. */
  readonly limits?: readonly ElementLimit[];
  /** For a tool of one command: the values that raw fields set, by their names; undefined for fields that this tool never sends. */
  outcome?(fields: JsonObject): JsonObject | undefined;
}

/** Bounds of one raw number that a tool sends. */
export interface ElementLimit extends Bounds {
  /** Command or attribute. */
  readonly element: string;
  /** Field of the command, as a path with dots; absent for an attribute. */
  readonly field?: string;
}

export const DEFAULT_TIMEOUT_MS = 15_000;

/** One command, write or read of a call, in raw Matter values. */
export type DeviceStep =
  | { readonly kind: 'invoke'; readonly endpoint: number; readonly cluster: string; readonly command: string; readonly fields: JsonObject }
  | {
      readonly kind: 'write';
      readonly endpoint: number;
      readonly cluster: string;
      readonly attribute: string;
      readonly value: Json;
      /** The next steps follow also where the device refuses this one. */
      readonly isOptional?: boolean;
    }
  | { readonly kind: 'read'; readonly endpoint: number; readonly cluster: string; readonly attribute: string };

/** The steps of a call, and the values that the device should show afterwards, by name in human units. */
export interface DevicePlan {
  readonly steps: readonly DeviceStep[];
  readonly target: JsonObject;
}

/** Returns an invocation of one of the cluster's commands, with its name and fields spelled as the device's description does. */
export function invoke(view: ClusterView, command: string, fields: JsonObject): DeviceStep {
  const found = view.command(command);
  const schema = found?.parameters ?? {};
  return { kind: 'invoke', endpoint: view.endpoint, cluster: view.name, command: found?.name ?? command, fields: spelled(fields, schema) };
}

/** Returns a write of one of the cluster's attributes. */
export function write(view: ClusterView, attribute: string, value: Json): DeviceStep {
  return { kind: 'write', endpoint: view.endpoint, cluster: view.name, attribute: view.attribute(attribute)?.name ?? attribute, value };
}

/** Fields with the names of the schema, without those that this device lacks. */
function spelled(fields: JsonObject, schema: JsonSchema): JsonObject {
  const names = Object.keys(propertiesOf(schema));
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = names.find((one) => one.toLowerCase() === field.toLowerCase());
      return name === undefined ? [] : [[name, value]];
    }),
  );
}
