import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';

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
