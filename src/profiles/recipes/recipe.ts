import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';
import type { DevicePlan } from '../compile/device-plan.ts';

/** Parameters of a recipe, as members of an object schema. */
export interface RecipeParameters {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly example: JsonObject;
}

/**
 * A tool whose way from parameters to Matter needs logic. Numbers marked `x-unit: °C` arrive in Celsius whatever
 * unit the caller chose.
 */
export interface Recipe {
  /** The cluster that it knows. */
  readonly cluster: string;
  /** Commands and attributes that it may touch. */
  readonly elements: readonly string[];
  isOffered(view: ClusterView): boolean;
  parameters(view: ClusterView): RecipeParameters;
  /** Throws VALIDATION_ERROR for what this device cannot do. */
  plan(params: JsonObject, view: ClusterView): DevicePlan;
}
