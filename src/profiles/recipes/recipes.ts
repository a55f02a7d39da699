import { invoke } from '../compile/compiled-device.ts';
import type { RecipeName } from '../files/profile-format.ts';
import { choiceConverter, choicesConverter } from '../values/converters.ts';
import { adjustBrightness, adjustVolume, turnOnFor } from './on-and-level.ts';
import type { Recipe } from './recipe.ts';
import { setColor } from './set-color.ts';
import { adjustTemperature, setTemperature } from './thermostat.ts';

/** The attribute in which a robot lists the areas of its map, with their ids and names (Application Clusters §1.17). */
const AREAS = { from: 'SupportedAreas', id: 'AreaId', label: 'AreaInfo.LocationInfo.LocationName' } as const;

/** Selects by name the rooms in which a robot works; an empty list selects all rooms. */
const selectAreas: Recipe = {
  cluster: 'ServiceArea',
  elements: ['SelectAreas'],
  isOffered: (view) => view.command('SelectAreas') !== undefined,
  parameters: (view) => ({
    properties: {
      areas: {
        type: 'array',
        uniqueItems: true,
        maxItems: 255,
        items: { ...choiceConverter.schema({ schema: {}, choices: view.choices(AREAS) }), description: 'Name of an area' },
        description: 'Names of the areas as the device lists them; an empty list means everywhere',
      },
    },
    required: ['areas'],
    example: { areas: [] },
  }),
  plan(params, view) {
    const choices = view.choices(AREAS);
    const ids = choicesConverter.toRaw(params.areas ?? [], { schema: {}, choices });
    return { steps: [invoke(view, 'SelectAreas', { NewAreas: ids })], target: { selected_areas: params.areas ?? [] } };
  },
};

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
