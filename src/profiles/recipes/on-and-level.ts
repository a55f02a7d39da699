import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ClusterView } from '../compile/cluster-view.ts';
import { type DeviceStep, invoke, write } from '../compile/compiled-device.ts';
import { CONVERTERS } from '../values/converters.ts';
import { ALSO_WHILE_OFF, type Recipe, type RecipeParameters, transitionParameter, transitionTime } from './recipe.ts';

const ONLY_WHILE_ON = { ...ALSO_WHILE_OFF, OptionsOverride: {} };

/**
 * Changes the brightness by percent of the whole range (Application Clusters §1.6.7.3). A positive change also turns a lamp on. A negative
 * change only dims a lamp that is on, and does not turn it off: it stays at its lowest brightness or above.
 */
export const adjustBrightness: Recipe = {
  cluster: 'LevelControl',
  elements: ['Step', 'StepWithOnOff'],
  isOffered: (view) => view.command('Step') !== undefined && view.command('StepWithOnOff') !== undefined,
  parameters: () => difference('Percentage points to add, negative to make it darker.', -20),
  plan(params, view) {
    const isUp = differenceOf(params) > 0;
    // The target is known here only if the lamp stays off. Otherwise it is computed later, from a read just before the command.
    const target = !isUp && view.liveOf('OnOff', 'OnOff') === false ? { is_on: false } : {};
    return { steps: [stepOf(view, params, { command: isUp ? 'StepWithOnOff' : 'Step', options: ONLY_WHILE_ON })], target };
  },
};

/** Changes the volume by percent of the whole range; a muted speaker stays muted. */
export const adjustVolume: Recipe = {
  cluster: 'LevelControl',
  elements: ['Step'],
  isOffered: (view) => view.command('Step') !== undefined,
  parameters: () => difference('Percentage points to add, negative to make it quieter.', -10),
  plan: (params, view) => ({ steps: [stepOf(view, params, { command: 'Step', options: ALSO_WHILE_OFF })], target: {} }),
};

function difference(words: string, by: number): RecipeParameters {
  return {
    properties: {
      by: { type: 'integer', minimum: -100, maximum: 100, 'x-unit': '%', description: `${words} Example: ${by}` },
      transition_seconds: transitionParameter,
    },
    required: ['by'],
    example: { by },
  };
}

function differenceOf(params: JsonObject): number {
  const by = Number(params.by);
  if (by !== 0) return by;
  throw new AtmoError('VALIDATION_ERROR', 'by is 0, which changes nothing; give for example 10 or -10', { pointer: '/by' });
}

function stepOf(view: ClusterView, params: JsonObject, given: { readonly command: string; readonly options: JsonObject }): DeviceStep {
  const by = differenceOf(params);
  return invoke(view, given.command, {
    StepMode: by < 0 ? 'Down' : 'Up',
    StepSize: Math.round(Math.abs(by) * 2.54),
    TransitionTime: transitionTime(params),
    ...given.options,
  });
}

const SHORTEST_SECONDS = 0.1;
const LONGEST_SECONDS = 6553;

/**
 * Turns the device on for a time (Application Clusters §1.5.7.6). The command alone can only lengthen the remaining time. So the attribute
 * OnTime is written first, because a write replaces the remaining time (§1.5.6.4).
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
