import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';
import { type DevicePlan, write } from '../compile/device-plan.ts';
import { celsiusToFahrenheit } from '../convert/temperature-unit.ts';
import type { Recipe } from './recipe.ts';
import { currentSetpoint, type Setpoint, setpointAttribute, setpointLimits, setpointSchema, setpointsOf } from './setpoints.ts';

// What AutoMode keeps between heating and cooling where the device does not say, in 0.01 °C.
const DEFAULT_DEAD_BAND = 200;

/** Writes absolute setpoints (Application Clusters §4.3.9.13, .14). In automatic mode the wish lies in the middle of the dead band. */
export const setTemperature: Recipe = {
  cluster: 'Thermostat',
  elements: ['OccupiedHeatingSetpoint', 'OccupiedCoolingSetpoint'],
  isOffered: (view) => setpointsOf(view).length > 0,
  parameters(view) {
    const { min, max } = range(view, setpointsOf(view));
    const example = Math.min(Math.max(2150, min), max) / 100;
    const choice = setpointSchema(view);
    return {
      properties: {
        temperature: {
          type: 'number',
          minimum: min / 100,
          maximum: max / 100,
          'x-unit': '°C',
          description: `Wanted room temperature. Example: ${example}`,
        },
        ...(choice && { setpoint: choice }),
      },
      required: ['temperature'],
      example: { temperature: example },
    };
  },
  plan(params, view) {
    const wish = Math.round(Number(params.temperature) * 100);
    const setpoint = (params.setpoint as Setpoint | undefined) ?? currentSetpoint(view);
    return setpoint === 'both' ? planBoth(wish, view) : planOne(wish, setpoint, view);
  },
};

function planOne(wish: number, setpoint: 'heat' | 'cool', view: ClusterView): DevicePlan {
  requireWithin(wish, range(view, [setpoint]));
  return { steps: [write(view, setpointAttribute(setpoint), wish)], target: targetOf(setpoint, wish) };
}

function planBoth(wish: number, view: ClusterView): DevicePlan {
  requireWithin(wish, range(view, ['heat', 'cool']));
  const deadBand = (view.liveNumber('MinSetpointDeadBand') ?? DEFAULT_DEAD_BAND / 10) * 10;
  const heat = clamp(wish - Math.floor(deadBand / 2), setpointLimits(view, 'heat'));
  const cool = clamp(wish + Math.ceil(deadBand / 2), setpointLimits(view, 'cool'));
  const steps = [write(view, setpointAttribute('heat'), heat), write(view, setpointAttribute('cool'), cool)];
  // Upwards the cooling setpoint moves first: else heating would run into the dead band.
  const isUpwards = heat > (view.liveNumber(setpointAttribute('heat')) ?? heat);
  return { steps: isUpwards ? steps.toReversed() : steps, target: { ...targetOf('heat', heat), ...targetOf('cool', cool) } };
}

function targetOf(setpoint: 'heat' | 'cool', value: number): JsonObject {
  return { [setpoint === 'heat' ? 'heating_setpoint' : 'cooling_setpoint']: value / 100 };
}

function range(view: ClusterView, setpoints: readonly ('heat' | 'cool')[]): { readonly min: number; readonly max: number } {
  const limits = setpoints.map((one) => setpointLimits(view, one));
  return { min: Math.min(...limits.map(({ min }) => min)), max: Math.max(...limits.map(({ max }) => max)) };
}

function clamp(value: number, { min, max }: { readonly min: number; readonly max: number }): number {
  return Math.min(Math.max(value, min), max);
}

function requireWithin(wish: number, { min, max }: { readonly min: number; readonly max: number }): void {
  if (wish >= min && wish <= max) return;
  const [low, high] = [min / 100, max / 100];
  const range = `${low} to ${high} °C (${celsiusToFahrenheit(low)} to ${celsiusToFahrenheit(high)} °F)`;
  throw new AtmoError('VALIDATION_ERROR', `temperature: ${wish / 100} °C is outside what this setpoint takes: ${range}`, {
    pointer: '/temperature',
    minimum: low,
    maximum: high,
  });
}
