import { invoke } from '../compile/device-plan.ts';
import type { Recipe } from './recipe.ts';
import { transitionParameter, transitionTime } from './transition.ts';

/** Brighter or darker by percent of the whole range (Application Clusters §1.6.7.3). */
export const adjustBrightness: Recipe = {
  cluster: 'LevelControl',
  elements: ['StepWithOnOff'],
  isOffered: (view) => view.command('StepWithOnOff') !== undefined,
  parameters: () => ({
    properties: {
      by: {
        type: 'integer',
        minimum: -100,
        maximum: 100,
        'x-unit': '%',
        description: 'Percentage points to add, negative to make it darker. Example: -20',
      },
      transition_seconds: transitionParameter,
    },
    required: ['by'],
    example: { by: -20 },
  }),
  plan(params, view) {
    const by = Number(params.by);
    const fields = {
      StepMode: by < 0 ? 'Down' : 'Up',
      StepSize: Math.round(Math.abs(by) * 2.54),
      TransitionTime: transitionTime(params),
      OptionsMask: {},
      OptionsOverride: {},
    };
    return { steps: [invoke(view, 'StepWithOnOff', fields)], target: {} };
  },
};
