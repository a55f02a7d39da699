import type { RecipeName } from '../files/capability-file.ts';
import { adjustBrightness, adjustVolume } from './adjust-level.ts';
import { adjustTemperature } from './adjust-temperature.ts';
import type { Recipe } from './recipe.ts';
import { selectAreas } from './select-areas.ts';
import { setColor } from './set-color.ts';
import { setTemperature } from './set-temperature.ts';
import { turnOnFor } from './turn-on-for.ts';

/** Every recipe that a capability file may name. */
export const RECIPES = {
  set_color: setColor,
  set_temperature: setTemperature,
  adjust_temperature: adjustTemperature,
  adjust_brightness: adjustBrightness,
  adjust_volume: adjustVolume,
  select_areas: selectAreas,
  turn_on_for: turnOnFor,
} as const satisfies Record<RecipeName, Recipe>;
