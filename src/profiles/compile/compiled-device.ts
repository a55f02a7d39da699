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
  /** Endpoint, cluster and action of the tool. They identify it even if its name changes. */
  readonly key: string;
  readonly risk: Risk;
  /** Noun for the endpoint, such as `light`. */
  readonly noun: string;
  /** The action without the suffix for its endpoint. */
  readonly plainAction: string;
  /** The action with the number of its endpoint, if several endpoints have the action. */
  readonly numbered?: string;
  /** The label that the device gives the endpoint, if it differs from the labels of all other endpoints with the action. */
  readonly part?: string;
}

/** A reading of a device. A newly added device gets the sensor id `<device id>/<path>`. */
export interface DeviceReading extends CompiledValue {
  readonly kind: string;
  /** Endpoint, cluster and value of the reading. They identify it even if its name changes. */
  readonly key: string;
  /** Path such as `temperature`, or `temperature/3` if several endpoints have the reading. */
  readonly path: string;
  /** The path that older hub versions, which stored no reading ids, gave the reading. */
  readonly formerPath: string;
}

/** States which profile, if any, made the tools of a cluster. */
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

/** The tools, values, readings and events that profiles define for a device. */
export interface CompiledDevice {
  readonly device: Device;
  readonly noun: string;
  readonly tools: readonly DeviceTool[];
  /** The values that tools return and the owner's rules may name. */
  readonly values: readonly CompiledValue[];
  readonly readings: readonly DeviceReading[];
  readonly events: readonly DeviceEventRule[];
  readonly coverage: readonly Coverage[];
  /** Attributes whose live value determines a tool's schema, as `endpoint/cluster/attribute`. */
  readonly dependsOn: ReadonlySet<string>;
  readonly live: LiveValues;
}

/** The current devices, compiled with their profiles. */
export interface CompiledDevices {
  get(id: DeviceId): CompiledDevice | undefined;
  list(): readonly CompiledDevice[];
  describe(id: DeviceId): DeviceDescription | undefined;
}

/** A tool of one cluster on one endpoint, before it belongs to a named device. */
export interface ToolBlueprint {
  /** Action such as `turn_on`; the tool name adds the device's name as a prefix and the endpoint as a suffix. */
  readonly action: string;
  readonly alias?: string;
  /** The action as older hub versions named it; it stays an alias of the tool. */
  readonly formerAction?: string;
  readonly title: string;
  /** Description in which `{device}` stands for the device's noun and name. */
  readonly description: string;
  readonly endpoint: number;
  readonly cluster: string;
  /** Id of the capability file; absent for a generic tool. */
  readonly capability?: string;
  readonly risk: Risk | 'highest';
  /** A `read` tool returns values of the device and changes nothing. */
  readonly kind: 'act' | 'read';
  /** The commands or attributes that the tool uses. */
  readonly elements: readonly string[];
  /** True if the tool administers the device and needs the permission `admin:device:<id>`. */
  readonly isAdministrative: boolean;
  readonly isIdempotent: boolean;
  readonly timeoutMs: number;
  readonly parameters: JsonSchema;
  readonly example?: JsonObject;
  /** Schema of the command's response in raw Matter units. */
  readonly response?: JsonSchema;
  /** The values in the `state` of the tool's result. */
  readonly values: readonly CompiledValue[];
  /** Returns the steps of a call. Throws VALIDATION_ERROR if the parameters have a mistake that the schema cannot express. */
  plan(params: JsonObject): DevicePlan;
  /** Bounds that the tool imposes on raw fields and attributes. */
  readonly limits?: readonly ElementLimit[];
  /** Only for a tool of one command: returns the values that these raw fields set; undefined if the tool never sends such fields. */
  outcome?(fields: JsonObject): JsonObject | undefined;
}

/** Bounds of one raw number that a tool sends. */
export interface ElementLimit extends Bounds {
  readonly element: string;
  /** Dotted path of a command field; absent for an attribute. */
  readonly field?: string;
}

/** Default time limit of a device tool. */
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
      /** True if the call continues after the device rejects this write. */
      readonly isOptional?: boolean;
    }
  | { readonly kind: 'read'; readonly endpoint: number; readonly cluster: string; readonly attribute: string };

/** The steps of a call, and the values (by name, in human units) that the device should report afterwards. */
export interface DevicePlan {
  readonly steps: readonly DeviceStep[];
  readonly target: JsonObject;
}

/** Returns the step that invokes a command, with command and fields spelled as in the device's description. */
export function invoke(view: ClusterView, command: string, fields: JsonObject): DeviceStep {
  const found = view.command(command);
  const schema = found?.parameters ?? {};
  return { kind: 'invoke', endpoint: view.endpoint, cluster: view.name, command: found?.name ?? command, fields: spelled(fields, schema) };
}

/** Returns the step that writes an attribute of the cluster. */
export function write(view: ClusterView, attribute: string, value: Json): DeviceStep {
  return { kind: 'write', endpoint: view.endpoint, cluster: view.name, attribute: view.attribute(attribute)?.name ?? attribute, value };
}

/** Returns the fields as the schema spells them, without fields that this device lacks. */
function spelled(fields: JsonObject, schema: JsonSchema): JsonObject {
  const names = Object.keys(propertiesOf(schema));
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = names.find((one) => one.toLowerCase() === field.toLowerCase());
      return name === undefined ? [] : [[name, value]];
    }),
  );
}
