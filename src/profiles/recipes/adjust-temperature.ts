import type { JsonObject } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';
import { invoke } from '../compile/device-plan.ts';
import type { Recipe } from './recipe.ts';
import { currentSetpoint, type Setpoint, setpointAttribute, setpointLimits, setpointSchema, setpointsOf } from './setpoints.ts';

const MODE = { heat: 'Heat', cool: 'Cool', both: 'Both' } as const;

/** Moves setpoints by a difference: SetpointRaiseLower takes signed steps of 0.1 °C (Application Clusters §4.3.10.1). */
export const adjustTemperature: Recipe = {
  cluster: 'Thermostat',
  elements: ['SetpointRaiseLower'],
  isOffered: (view) => view.command('SetpointRaiseLower') !== undefined && setpointsOf(view).length > 0,
  parameters(view) {
    const choice = setpointSchema(view);
    return {
      properties: {
        by: {
          type: 'number',
          minimum: -12.8,
          maximum: 12.7,
          'x-unit': '°C difference',
          description: 'Difference in °C, negative for colder, in steps of 0.1. Example: 0.5',
        },
        ...(choice && { setpoint: choice }),
      },
      required: ['by'],
      example: { by: 0.5 },
    };
  },
  plan(params, view) {
    const setpoint = (params.setpoint as Setpoint | undefined) ?? currentSetpoint(view);
    const amount = Math.round(Number(params.by) * 10);
    return {
      steps: [invoke(view, 'SetpointRaiseLower', { Mode: MODE[setpoint], Amount: amount })],
      target: targetOf(view, setpoint, amount),
    };
  },
};

/** What the setpoints become; nothing for those that the device never told. */
function targetOf(view: ClusterView, setpoint: Setpoint, amount: number): JsonObject {
  const moved = setpointsOf(view).filter((one) => setpoint === 'both' || setpoint === one);
  return Object.fromEntries(
    moved.flatMap((one) => {
      const now = view.liveNumber(setpointAttribute(one));
      if (now === undefined) return [];
      const { min, max } = setpointLimits(view, one);
      const name = one === 'heat' ? 'heating_setpoint' : 'cooling_setpoint';
      return [[name, Math.min(Math.max(now + amount * 10, min), max) / 100]];
    }),
  );
}
