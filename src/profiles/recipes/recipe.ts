import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../compile/cluster-view.ts';
import type { DevicePlan } from '../compile/compiled-device.ts';

/** Parameters of a recipe, as members of an object schema. */
export interface RecipeParameters {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly example: JsonObject;
}

/** A tool that needs code to choose its commands. `plan` gets temperatures (`x-unit: °C`) in Celsius, whatever unit the caller chose. */
export interface Recipe {
  readonly cluster: string;
  /** Commands and attributes that the recipe may use. */
  readonly elements: readonly string[];
  isOffered(view: ClusterView): boolean;
  parameters(view: ClusterView): RecipeParameters;
  /** Returns the steps of a call. Throws VALIDATION_ERROR if this device cannot fulfil the request. */
  plan(params: JsonObject, view: ClusterView): DevicePlan;
}

/** The parameter `transition_seconds` of recipes whose command has a TransitionTime. */
export const transitionParameter: JsonSchema = {
  type: 'number',
  minimum: 0,
  maximum: 3600,
  default: 0,
  'x-unit': 's',
  description: 'Time of the change in seconds',
};

/**
 * Options with which a LevelControl or ColorControl command also works while the light is off (Application Clusters §1.6.5.8, §3.2.7.2).
 */
export const ALSO_WHILE_OFF = { OptionsMask: { executeIfOff: true }, OptionsOverride: { executeIfOff: true } };

/** Returns TransitionTime in tenths of a second for LevelControl and ColorControl; 0 if the caller gives none. */
export function transitionTime(params: JsonObject): number {
  return Math.round(Number(params.transition_seconds ?? 0) * 10);
}
