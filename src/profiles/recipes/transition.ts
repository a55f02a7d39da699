import type { JsonObject, JsonSchema } from '../../core/json.ts';

/** `transition_seconds` of a recipe whose command has a TransitionTime. */
export const transitionParameter: JsonSchema = {
  type: 'number',
  minimum: 0,
  maximum: 3600,
  default: 0,
  'x-unit': 's',
  description: 'Time of the change in seconds',
};

/** TransitionTime in tenths of a second, as LevelControl and ColorControl count it; 0 where the caller names none. */
export function transitionTime(params: JsonObject): number {
  return Math.round(Number(params.transition_seconds ?? 0) * 10);
}
