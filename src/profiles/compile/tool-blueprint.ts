import type { Risk } from '../../core/access/authorizer.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { Bounds } from '../parameters/reasonable-bounds.ts';
import type { CompiledValue } from './compile-value.ts';
import type { DevicePlan } from './device-plan.ts';

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
