import { AtmoError } from '../../core/errors.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';
import { type DevicePlan, write } from '../compile/device-plan.ts';
import { celsiusRange, celsiusToFahrenheit, fahrenheitToCelsius } from '../convert/temperature-unit.ts';
import type { Recipe } from './recipe.ts';
import { currentSetpoint, deadBandOf, type Setpoint, setpointAttribute, setpointLimits, setpointSchema, setpointsOf } from './setpoints.ts';

// What lies between heating and cooling where the device says nothing of its setpoints, in 0.01 °C.
const DEFAULT_BAND = 200;

/**
 * Writes absolute setpoints (Application Clusters §4.3.9.13, .14). In automatic mode the band between heating and cooling
 * is the person's choice: it keeps its width and moves until the wanted temperature lies in its middle.
 */
export const setTemperature: Recipe = {
  cluster: 'Thermostat',
  elements: ['OccupiedHeatingSetpoint', 'OccupiedCoolingSetpoint'],
  isOffered: (view) => setpointsOf(view).length > 0,
  parameters(view) {
    const own = currentSetpoint(view);
    const { min, max } = range(view, own === 'both' ? ['heat', 'cool'] : [own]);
    const example = Math.min(Math.max(2150, min), max) / 100;
    const choice = setpointSchema(view);
    return {
      properties: {
        temperature: { type: 'number', 'x-unit': '°C', ...takenBy(view, example) },
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

/** Bounds of the only setpoint; where heating and cooling have different ones, they are in words and the plan refuses beyond them. */
function takenBy(view: ClusterView, example: number): JsonSchema {
  const [first = 'heat', second] = setpointsOf(view);
  const { min, max } = setpointLimits(view, first);
  if (second === undefined) return { minimum: min / 100, maximum: max / 100, description: `Wanted temperature. Example: ${example}` };
  const words = (one: 'heat' | 'cool') => {
    const limits = setpointLimits(view, one);
    return `${one}ing takes ${celsiusRange(limits.min / 100, limits.max / 100)}`;
  };
  return { description: `Wanted temperature: ${words('heat')}; ${words('cool')}. Example: ${example}` };
}

function planOne(wish: number, setpoint: 'heat' | 'cool', view: ClusterView): DevicePlan {
  requireWithin(wish, range(view, [setpoint]));
  return { steps: [write(view, setpointAttribute(setpoint), wish)], target: targetOf(setpoint, wish) };
}

function planBoth(wish: number, view: ClusterView): DevicePlan {
  requireWithin(wish, range(view, ['heat', 'cool']));
  const { heat, cool } = bandAround(wish, view);
  const steps = [write(view, setpointAttribute('heat'), heat), write(view, setpointAttribute('cool'), cool)];
  // Upwards the cooling setpoint moves first: else heating would run into the dead band.
  const isUpwards = heat > (view.liveNumber(setpointAttribute('heat')) ?? heat);
  return { steps: isUpwards ? steps.toReversed() : steps, target: { ...targetOf('heat', heat), ...targetOf('cool', cool) } };
}

/** The band around the wish, as wide as it is now; only the limits of the device make it narrower, and never than its dead band. */
function bandAround(wish: number, view: ClusterView): { readonly heat: number; readonly cool: number } {
  const [heatNow, coolNow] = [view.liveNumber(setpointAttribute('heat')), view.liveNumber(setpointAttribute('cool'))];
  const present = heatNow === undefined || coolNow === undefined ? DEFAULT_BAND : coolNow - heatNow;
  const width = Math.max(present, deadBandOf(view));
  const top = clamp(wish + Math.ceil(width / 2), setpointLimits(view, 'cool'));
  const heat = clamp(top - width, setpointLimits(view, 'heat'));
  return { heat, cool: clamp(Math.max(top, heat + width), setpointLimits(view, 'cool')) };
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
  const given = wish / 100;
  const asFahrenheit = fahrenheitToCelsius(given);
  const isMeantAsFahrenheit = Number.isInteger(given) && asFahrenheit >= low && asFahrenheit <= high;
  const hint = isMeantAsFahrenheit ? `; if ${given} °F is meant, give unit "fahrenheit"` : '';
  throw new AtmoError('VALIDATION_ERROR', `temperature: ${given} °C is outside what this setpoint takes: ${range}${hint}`, {
    pointer: '/temperature',
    minimum: low,
    maximum: high,
  });
}
