import { invoke, write } from '../compile/device-plan.ts';
import { CONVERTERS } from '../convert/converters.ts';
import type { Recipe } from './recipe.ts';

const SHORTEST_SECONDS = 0.1;
const LONGEST_SECONDS = 6553;

/**
 * Turns on for a time (Application Clusters §1.5.7.6). The command alone can only lengthen a time that runs already, since the device
 * keeps the longer one; what is written to OnTime before it takes the place of the time that is left (§1.5.6.4).
 */
export const turnOnFor: Recipe = {
  cluster: 'OnOff',
  elements: ['OnWithTimedOff', 'OnTime'],
  isOffered: (view) => view.command('OnWithTimedOff') !== undefined,
  parameters: () => ({
    properties: {
      seconds: {
        type: 'number',
        minimum: SHORTEST_SECONDS,
        maximum: LONGEST_SECONDS,
        'x-unit': 's',
        description: 'Time from now until it turns itself off, also where a longer time runs already. Example: 60',
      },
    },
    required: ['seconds'],
    example: { seconds: 60 },
  }),
  plan(params, view) {
    const seconds = Number(params.seconds);
    const onTime = CONVERTERS.deciseconds.toRaw(seconds, { schema: {} });
    const command = invoke(view, 'OnWithTimedOff', { OnOffControl: {}, OnTime: onTime, OffWaitTime: 0 });
    const shorten = view.attribute('OnTime')?.writable ? [{ ...write(view, 'OnTime', onTime), isOptional: true }] : [];
    return { steps: [...shorten, command], target: { is_on: true, seconds_left: seconds } };
  },
};
