import type { Risk } from '../../core/auth/authorizer.ts';
import type { Device, DeviceDescription } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { EventEntry } from '../files/profile-format.ts';
import type { Bounds } from '../values/reasonable-bounds.ts';
import type { ClusterView, LiveValues } from './cluster-view.ts';
import type { CompiledValue } from './compile-value.ts';
import type { StepOutcome } from './step-outcome.ts';

/** A tool of a device, under its final action. */
export interface DeviceTool extends ToolBlueprint {
  /** Endpoint, cluster and action: the same for the same tool, whatever it is called. */
  readonly key: string;
  readonly risk: Risk;
  /** What people call the part that it acts on: `light`. */
  readonly noun: string;
  /** The action without what tells its endpoint from others. */
  readonly plainAction: string;
  /** The action with the number of its endpoint, where several endpoints have it. */
  readonly numbered?: string;
  /** What the device calls the endpoint among those that have the action. */
  readonly part?: string;
}

/** A reading of a device; a device that is new here has it as the sensor `<device id>/<path>`. */
export interface DeviceReading extends CompiledValue {
  readonly kind: string;
  /** Endpoint, cluster and value: the same for the same reading, whatever it is called. */
  readonly key: string;
  /** `temperature`, or `temperature/3` where several endpoints have it. */
  readonly path: string;
  /** The path by the rule of hubs that kept no ids of readings. */
  readonly formerPath: string;
}

/** Which layer took care of a cluster. */
export interface Coverage {
  readonly endpoint: number;
  readonly cluster: string;
  readonly by: 'capability' | 'generic' | 'administrative' | 'nothing';
  readonly capability?: string;
}

/** An event that is worth telling. */
export interface DeviceEventRule extends EventEntry {
  readonly endpoint: number;
  readonly cluster: string;
  readonly event: string;
}

/** All that profiles make of a device. */
export interface CompiledDevice {
  readonly device: Device;
  readonly noun: string;
  readonly tools: readonly DeviceTool[];
  /** Everything that tools show and rules may name. */
  readonly values: readonly CompiledValue[];
  readonly readings: readonly DeviceReading[];
  readonly events: readonly DeviceEventRule[];
  readonly coverage: readonly Coverage[];
  /** Attributes whose live value shaped a tool, as `endpoint/cluster/attribute`. */
  readonly dependsOn: ReadonlySet<string>;
  /** What a command or write sets, as the device is now; `fresh` values count before those that are kept. */
  outcomeOf(step: DeviceStep, fresh?: LiveValues): StepOutcome;
}

/** What profiles made of the devices that are here. */
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
  /** What hubs before this one called the action; it goes on naming the tool where it did. */
  readonly formerAction?: string;
  readonly title: string;
  /** Description with `{device}` where noun and name belong. */
  readonly description: string;
  readonly endpoint: number;
  readonly cluster: string;
  /** Capability file; absent for the generic rule. */
  readonly capability?: string;
  readonly risk: Risk | 'highest';
  /** `read` answers what the device tells and changes nothing. */
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
  /** What the answer's state holds. */
  readonly values: readonly CompiledValue[];
  /** Throws VALIDATION_ERROR for what schemas cannot say. */
  plan(params: JsonObject): DevicePlan;
  /** What the tool keeps raw fields and attributes within, by the element that holds them. */
  readonly limits?: readonly ElementLimit[];
  /** For a tool of one command: what its raw fields set, by the names of values; undefined for fields that are not this tool's. */
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

/** One thing that a call does to a device, in raw Matter values. */
export type DeviceStep =
  | { readonly kind: 'invoke'; readonly endpoint: number; readonly cluster: string; readonly command: string; readonly fields: JsonObject }
  | {
      readonly kind: 'write';
      readonly endpoint: number;
      readonly cluster: string;
      readonly attribute: string;
      readonly value: Json;
      /** The steps behind it make sense also where the device refuses it. */
      readonly isOptional?: boolean;
    }
  | { readonly kind: 'read'; readonly endpoint: number; readonly cluster: string; readonly attribute: string };

/** What a call does, and what the device should show afterwards, by the names of the tool's values in human units. */
export interface DevicePlan {
  readonly steps: readonly DeviceStep[];
  readonly target: JsonObject;
}

/** Command or attribute that a step touches. */
export function elementOf(step: DeviceStep): string {
  return step.kind === 'invoke' ? step.command : step.attribute;
}

/** An invocation of one of the cluster's commands, with its name and fields spelled as the device's description does. */
export function invoke(view: ClusterView, command: string, fields: JsonObject): DeviceStep {
  const found = view.command(command);
  const schema = found?.parameters ?? {};
  return { kind: 'invoke', endpoint: view.endpoint, cluster: view.name, command: found?.name ?? command, fields: spelled(fields, schema) };
}

/** A write of one of the cluster's attributes. */
export function write(view: ClusterView, attribute: string, value: Json): DeviceStep {
  return { kind: 'write', endpoint: view.endpoint, cluster: view.name, attribute: view.attribute(attribute)?.name ?? attribute, value };
}

/** Fields named as the schema names them; those that this device does not know are left out. */
function spelled(fields: JsonObject, schema: JsonSchema): JsonObject {
  const names = Object.keys((schema.properties ?? {}) as object);
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = names.find((one) => one.toLowerCase() === field.toLowerCase());
      return name === undefined ? [] : [[name, value]];
    }),
  );
}
