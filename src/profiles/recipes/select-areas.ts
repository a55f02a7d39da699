import type { JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';
import { invoke } from '../compile/device-plan.ts';
import { choiceConverter, choicesConverter } from '../convert/name-converters.ts';
import type { Recipe } from './recipe.ts';

/** The areas that a machine knows, by the names in its own map (Application Clusters §1.17). */
const AREAS = { from: 'SupportedAreas', id: 'AreaId', label: 'AreaInfo.LocationInfo.LocationName' } as const;

/** Chooses the rooms that a robot works in, by name; an empty list means everywhere. */
export const selectAreas: Recipe = {
  cluster: 'ServiceArea',
  elements: ['SelectAreas'],
  isOffered: (view) => view.command('SelectAreas') !== undefined,
  parameters: (view) => ({
    properties: {
      areas: {
        type: 'array',
        uniqueItems: true,
        maxItems: 255,
        items: itemSchema(view),
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

function itemSchema(view: ClusterView): JsonSchema {
  return { ...choiceConverter.schema({ schema: {}, choices: view.choices(AREAS) }), description: 'Name of an area' };
}
