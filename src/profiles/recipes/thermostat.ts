import { AtmoError } from '../../core/errors.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../compile/cluster-view.ts';
import { type DevicePlan, invoke, write } from '../compile/compiled-device.ts';
import type { Bounds } from '../values/human-schema.ts';
import { celsiusRange, celsiusToFahrenheit, fahrenheitToCelsius } from '../values/temperature-unit.ts';
import type { Recipe } from './recipe.ts';

// Distance between the heating and the cooling setpoint in 0.01 °C, used if the device has not reported both.
const DEFAULT_BAND = 200;

/**
 * Writes absolute setpoints (Application Clusters §4.3.9.13, .14). In automatic mode, the wanted temperature becomes the middle between the
 * heating and the cooling setpoint, and their distance stays as the person has chosen it.
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
        temperature: { type: 'number', 'x-unit': '°C', ...temperatureSchema(view, example) },
        ...(choice && { setpoint: choice }),
      },
      required: ['temperature'],
      example: { temperature: example },
    };
  },
  plan(params, view) {
    const wanted = Math.round(Number(params.temperature) * 100);
    const setpoint = (params.setpoint as Setpoint | undefined) ?? currentSetpoint(view);
    return setpoint === 'both' ? planBoth(wanted, view) : planOne(wanted, setpoint, view);
  },
};

/** Returns the schema of the wanted temperature. If the thermostat has both setpoints, the description states the bounds of each. */
function temperatureSchema(view: ClusterView, example: number): JsonSchema {
  const [first = 'heat', second] = setpointsOf(view);
  const { min, max } = setpointLimits(view, first);
  if (second === undefined) return { minimum: min / 100, maximum: max / 100, description: `Wanted temperature. Example: ${example}` };
  const words = (one: 'heat' | 'cool') => {
    const limits = setpointLimits(view, one);
    return `${one}ing takes ${celsiusRange(limits.min / 100, limits.max / 100)}`;
  };
  return { description: `Wanted temperature: ${words('heat')}; ${words('cool')}. Example: ${example}` };
}

function planOne(wanted: number, setpoint: 'heat' | 'cool', view: ClusterView): DevicePlan {
  requireWithin(wanted, range(view, [setpoint]));
  return { steps: [write(view, ATTRIBUTE[setpoint], wanted)], target: setpointTarget(setpoint, wanted) };
}

function planBoth(wanted: number, view: ClusterView): DevicePlan {
  requireWithin(wanted, range(view, ['heat', 'cool']));
  const { heat, cool } = bandAround(wanted, view);
  const steps = [write(view, ATTRIBUTE.heat, heat), write(view, ATTRIBUTE.cool, cool)];
  // If the temperature rises, the cooling setpoint is written first, so that the heating setpoint never comes too close to it.
  const isUpwards = heat > (view.liveNumber(ATTRIBUTE.heat) ?? heat);
  return { steps: isUpwards ? steps.toReversed() : steps, target: { ...setpointTarget('heat', heat), ...setpointTarget('cool', cool) } };
}

/** Returns setpoints around `wanted`. Keeps the gap between the device's present setpoints, unless limits or the dead band forbid it. */
function bandAround(wanted: number, view: ClusterView): { readonly heat: number; readonly cool: number } {
  const [heatNow, coolNow] = [view.liveNumber(ATTRIBUTE.heat), view.liveNumber(ATTRIBUTE.cool)];
  const present = heatNow === undefined || coolNow === undefined ? DEFAULT_BAND : coolNow - heatNow;
  const width = Math.max(present, deadBandOf(view));
  const top = clamp(wanted + Math.ceil(width / 2), setpointLimits(view, 'cool'));
  const heat = clamp(top - width, setpointLimits(view, 'heat'));
  return { heat, cool: clamp(Math.max(top, heat + width), setpointLimits(view, 'cool')) };
}

function setpointTarget(setpoint: 'heat' | 'cool', value: number): JsonObject {
  return { [setpoint === 'heat' ? 'heating_setpoint' : 'cooling_setpoint']: value / 100 };
}

function range(view: ClusterView, setpoints: readonly ('heat' | 'cool')[]): Bounds {
  const limits = setpoints.map((one) => setpointLimits(view, one));
  return { min: Math.min(...limits.map(({ min }) => min)), max: Math.max(...limits.map(({ max }) => max)) };
}

function clamp(value: number, { min, max }: Bounds): number {
  return Math.min(Math.max(value, min), max);
}

function requireWithin(wanted: number, { min, max }: Bounds): void {
  if (wanted >= min && wanted <= max) return;
  const [low, high] = [min / 100, max / 100];
  const range = `${low} to ${high} °C (${celsiusToFahrenheit(low)} to ${celsiusToFahrenheit(high)} °F)`;
  const given = wanted / 100;
  const asFahrenheit = fahrenheitToCelsius(given);
  const isMeantAsFahrenheit = Number.isInteger(given) && asFahrenheit >= low && asFahrenheit <= high;
  const hint = isMeantAsFahrenheit ? `; if ${given} °F is meant, give unit "fahrenheit"` : '';
  throw new AtmoError('VALIDATION_ERROR', `temperature: ${given} °C is outside what this setpoint takes: ${range}${hint}`, {
    pointer: '/temperature',
    minimum: low,
    maximum: high,
  });
}

const MODE = { heat: 'Heat', cool: 'Cool', both: 'Both' } as const;

/** Changes setpoints by a difference: SetpointRaiseLower takes signed steps of 0.1 °C (Application Clusters §4.3.10.1). */
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
      target: shiftedSetpoints(view, setpoint, amount),
    };
  },
};

/** Returns the new setpoints, except setpoints that the device never reported. */
function shiftedSetpoints(view: ClusterView, setpoint: Setpoint, amount: number): JsonObject {
  const moved = setpointsOf(view).filter((one) => setpoint === 'both' || setpoint === one);
  return Object.fromEntries(
    moved.flatMap((one) => {
      const now = view.liveNumber(ATTRIBUTE[one]);
      if (now === undefined) return [];
      return Object.entries(setpointTarget(one, clamp(now + amount * 10, setpointLimits(view, one))));
    }),
  );
}

type Setpoint = 'heat' | 'cool' | 'both';

/** The attributes of Thermostat that hold the setpoints, in 0.01 °C. */
const ATTRIBUTE = { heat: 'OccupiedHeatingSetpoint', cool: 'OccupiedCoolingSetpoint' } as const;
const HEATING_MODES = ['heat', 'emergencyheat'];
const COOLING_MODES = ['cool', 'precooling'];
// Limits of Application Clusters §4.3.9 for a device that reports none, in 0.01 °C.
const STANDARD_LIMITS = { heat: { min: 700, max: 3000 }, cool: { min: 1600, max: 3200 } } as const;

// Dead band if the device reports none, in 0.1 °C, which is the unit of the attribute.
const STANDARD_DEAD_BAND = 20;

function setpointsOf(view: ClusterView): readonly ('heat' | 'cool')[] {
  return (['heat', 'cool'] as const).filter((one) => view.attribute(ATTRIBUTE[one]) !== undefined);
}

/**
 * Returns the lowest and highest value of a setpoint in 0.01 °C. The tighter of the configured and absolute limits applies. Limits that the
 * device does not report come from the specification. In a thermostat with automatic mode, the range also leaves space for the dead band
 * and the other setpoint (Application Clusters §4.3.11.19).
 */
function setpointLimits(view: ClusterView, setpoint: 'heat' | 'cool'): Bounds {
  const own = statedLimits(view, setpoint);
  if (!view.hasFeatures(['AUTO']) || setpointsOf(view).length < 2) return own;
  const other = statedLimits(view, setpoint === 'heat' ? 'cool' : 'heat');
  const deadBand = deadBandOf(view);
  const within =
    setpoint === 'heat'
      ? { min: own.min, max: Math.min(own.max, other.max - deadBand) }
      : { min: Math.max(own.min, other.min + deadBand), max: own.max };
  return within.min <= within.max ? within : own;
}

function statedLimits(view: ClusterView, setpoint: 'heat' | 'cool'): Bounds {
  const name = setpoint === 'heat' ? 'Heat' : 'Cool';
  const standard = STANDARD_LIMITS[setpoint];
  const min = view.limit({ min: [`Min${name}SetpointLimit`, `AbsMin${name}SetpointLimit`] }, 'min') ?? standard.min;
  const max = view.limit({ max: [`Max${name}SetpointLimit`, `AbsMax${name}SetpointLimit`] }, 'max') ?? standard.max;
  return min <= max ? { min, max } : standard;
}

/** Returns the dead band: the smallest distance between both setpoints, in 0.01 °C. The default is 2 °C, from the specification. */
function deadBandOf(view: ClusterView): number {
  return (view.liveNumber('MinSetpointDeadBand') ?? STANDARD_DEAD_BAND) * 10;
}

/** Returns the setpoints that apply in the current mode, for a call that names no setpoint. */
function currentSetpoint(view: ClusterView): Setpoint {
  const has = setpointsOf(view);
  if (has.length === 1) return has[0] ?? 'heat';
  const mode = String(view.live('SystemMode') ?? '').toLowerCase();
  if (HEATING_MODES.includes(mode)) return 'heat';
  if (COOLING_MODES.includes(mode)) return 'cool';
  return mode === 'auto' ? 'both' : 'heat';
}

/** Returns the schema of the parameter that selects a setpoint; undefined for a thermostat with one setpoint. */
function setpointSchema(view: ClusterView): JsonSchema | undefined {
  if (setpointsOf(view).length < 2) return undefined;
  const description =
    'Which setpoint: heat, cool or both. Without it, the one that the present mode follows; in automatic mode both move, their distance kept';
  return { type: 'string', enum: ['heat', 'cool', 'both'], description };
}
