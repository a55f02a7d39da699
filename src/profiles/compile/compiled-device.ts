import type { Risk } from '../../core/auth/principal.ts';
import type { Device, DeviceDescription } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { EventEntry, ToolEntry } from '../files/profile-format.ts';
import { propertiesOf } from '../values/converter.ts';
import type { Bounds } from '../values/human-schema.ts';
import type { ClusterView, CompiledValue, LiveValues } from './cluster-view.ts';

/** A tool of a device, with its final action. */
export interface DeviceTool extends ToolBlueprint {
  /** Identifies the tool even if its name changes: endpoint, cluster and action, separated by slashes. */
  readonly key: string;
  readonly risk: Risk;
  /** Noun for the endpoint, such as `light`. */
  readonly noun: string;
  /** The action without the suffix for its endpoint. */
  readonly plainAction: string;
  /** The action with the number of its endpoint, if several endpoints have the action. */
  readonly numbered?: string;
  /** The device's label for the endpoint. Set only if several endpoints have the action and all their labels differ. */
  readonly part?: string;
}

/** A call to a device's own tool. */
export interface Delegation {
  readonly tool: DeviceTool;
  readonly params: JsonObject;
}

/** A reading of a device. Its sensor id is `<device id>/<path>`, unless the hub has stored another path for it. */
export interface DeviceReading extends CompiledValue {
  readonly kind: string;
  /** Identifies the reading even if its name changes: endpoint, cluster and value, separated by slashes. */
  readonly key: string;
  /** Path such as `temperature`, or `temperature/3` if several endpoints have the reading. */
  readonly path: string;
  /** The path of the reading in older hub versions, which stored no reading ids. */
  readonly formerPath: string;
}

/** Tells where the tools of a cluster come from. `capability` is the id of the capability file, if one is used. */
export interface Coverage {
  readonly endpoint: number;
  readonly cluster: string;
  readonly by: 'capability' | 'generic' | 'administrative' | 'nothing';
  readonly capability?: string;
}

/** A kind of device event that the hub emits as `device.event`. */
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
  /** The values that tools return and that the owner's rules may name. */
  readonly values: readonly CompiledValue[];
  readonly readings: readonly DeviceReading[];
  readonly events: readonly DeviceEventRule[];
  readonly coverage: readonly Coverage[];
  /** Attributes whose live values determine the tools' schemas. Each has the form `endpoint/cluster/attribute`. */
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
  /** Action such as `turn_on`. In the tool's name, the device's name comes before the action, and an endpoint suffix may follow it. */
  readonly action: string;
  readonly alias?: string;
  /** The action in older hub versions. It remains an alias of the tool. */
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
  /**
   * `never`: nothing puts back what a call does, whatever values the device shows afterwards: a door was open, a wash has begun. `sometimes`:
   * it depends on the state of the device before the call. An object: another tool removes what a call creates.
   */
  readonly undo?: ToolEntry['undo'];
  readonly timeoutMs: number;
  readonly parameters: JsonSchema;
  readonly example?: JsonObject;
  /** Schema of the command's response in raw Matter units. */
  readonly response?: JsonSchema;
  /** The values that `state` contains in the tool's result. */
  readonly values: readonly CompiledValue[];
  /** Returns the steps of a call. Throws VALIDATION_ERROR if the parameters have a mistake that the schema cannot express. */
  plan(params: JsonObject): DevicePlan;
  /** Bounds that the tool imposes on raw fields and attributes. */
  readonly limits?: readonly ElementLimit[];
  /** Only for command tools: returns the values that a command with these raw fields sets; undefined if the tool never sends these. */
  outcome?(fields: JsonObject): JsonObject | undefined;
}

/** Bounds of one raw number that a tool sends. */
interface ElementLimit extends Bounds {
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
      /** True if the call continues even if the device rejects this write. */
      readonly isOptional?: boolean;
    }
  | { readonly kind: 'read'; readonly endpoint: number; readonly cluster: string; readonly attribute: string };

/** The steps of a call and its target: the values that the device should report afterwards, by name and in human units. */
export interface DevicePlan {
  readonly steps: readonly DeviceStep[];
  readonly target: JsonObject;
}

/** Returns the step that invokes a command. Spells names as the device's description does, and omits fields that the device lacks. */
export function invoke(view: ClusterView, command: string, fields: JsonObject): DeviceStep {
  const found = view.command(command);
  const schema = found?.parameters ?? {};
  return { kind: 'invoke', endpoint: view.endpoint, cluster: view.name, command: found?.name ?? command, fields: spelled(fields, schema) };
}

/** Returns the step that writes an attribute of the cluster. */
export function write(view: ClusterView, attribute: string, value: Json): DeviceStep {
  return { kind: 'write', endpoint: view.endpoint, cluster: view.name, attribute: view.attribute(attribute)?.name ?? attribute, value };
}

/** Returns the fields with their names spelled as in the schema. Omits fields that the schema lacks. */
function spelled(fields: JsonObject, schema: JsonSchema): JsonObject {
  const names = Object.keys(propertiesOf(schema));
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = names.find((one) => one.toLowerCase() === field.toLowerCase());
      return name === undefined ? [] : [[name, value]];
    }),
  );
}
