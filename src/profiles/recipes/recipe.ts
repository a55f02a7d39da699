import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../compile/cluster-view.ts';
import type { DevicePlan } from '../compile/compiled-device.ts';

/** Parameters of a recipe, as members of an object schema. */
export interface RecipeParameters {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly example: JsonObject;
}

/** A tool whose commands need logic. Numbers marked `x-unit: °C` arrive in Celsius whatever unit the caller chose. */
export interface Recipe {
  /** The cluster that it is for. */
  readonly cluster: string;
  /** Commands and attributes that it may touch. */
  readonly elements: readonly string[];
  isOffered(view: ClusterView): boolean;
  parameters(view: ClusterView): RecipeParameters;
  /** Throws VALIDATION_ERROR for a request that this device cannot fulfil. */
  plan(params: JsonObject, view: ClusterView): DevicePlan;
}

/** `transition_seconds` of a recipe whose command has a TransitionTime. */
export const transitionParameter: JsonSchema = {
  type: 'number',
  minimum: 0,
  maximum: 3600,
  default: 0,
  'x-unit': 's',
  description: 'Time of the change in seconds',
};

/**
 * Options of LevelControl and ColorControl for a command that also works while the light is off (Application Clusters §1.6.5.8, §3.2.7.2).
 */
export const ALSO_WHILE_OFF = { OptionsMask: { executeIfOff: true }, OptionsOverride: { executeIfOff: true } };

/** TransitionTime in tenths of a second, as LevelControl and ColorControl count it; 0 where the caller names none. */
export function transitionTime(params: JsonObject): number {
  return Math.round(Number(params.transition_seconds ?? 0) * 10);
}
