import type { RecipeName } from '../files/capability-file.ts';
import { adjustBrightness } from './adjust-brightness.ts';
import { adjustTemperature } from './adjust-temperature.ts';
import type { Recipe } from './recipe.ts';
import { selectAreas } from './select-areas.ts';
import { setColor } from './set-color.ts';
import { setTemperature } from './set-temperature.ts';

/** Every recipe that a capability file may name. */
export const RECIPES = {
  set_color: setColor,
  set_temperature: setTemperature,
  adjust_temperature: adjustTemperature,
  adjust_brightness: adjustBrightness,
  select_areas: selectAreas,
} as const satisfies Record<RecipeName, Recipe>;
