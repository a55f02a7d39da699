import type { JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';

/** Which setpoint of a thermostat is meant. */
export type Setpoint = 'heat' | 'cool' | 'both';

const ATTRIBUTE = { heat: 'OccupiedHeatingSetpoint', cool: 'OccupiedCoolingSetpoint' } as const;
const HEATING_MODES = ['heat', 'emergencyheat'];
const COOLING_MODES = ['cool', 'precooling'];
// The limits that Application Clusters §4.3.9 gives where a device states none, in 0.01 °C.
const STANDARD_LIMITS = { heat: { min: 700, max: 3000 }, cool: { min: 1600, max: 3200 } } as const;

// In 0.1 °C, as the attribute counts.
const STANDARD_DEAD_BAND = 20;

interface Limits {
  readonly min: number;
  readonly max: number;
}

/** The setpoints that a thermostat has. */
export function setpointsOf(view: ClusterView): readonly ('heat' | 'cool')[] {
  return (['heat', 'cool'] as const).filter((one) => view.attribute(ATTRIBUTE[one]) !== undefined);
}

/** The attribute of Thermostat that holds the setpoint, in 0.01 °C. */
export function setpointAttribute(setpoint: 'heat' | 'cool'): string {
  return ATTRIBUTE[setpoint];
}

/**
 * Lowest and highest setpoint in 0.01 °C: the tighter of the set limits and the absolute ones, else the standard's. Where
 * a dead band is kept, the other setpoint needs room beside it (Application Clusters §4.3.11.19).
 */
export function setpointLimits(view: ClusterView, setpoint: 'heat' | 'cool'): Limits {
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

function statedLimits(view: ClusterView, setpoint: 'heat' | 'cool'): Limits {
  const name = setpoint === 'heat' ? 'Heat' : 'Cool';
  const standard = STANDARD_LIMITS[setpoint];
  const min = view.limit({ min: [`Min${name}SetpointLimit`, `AbsMin${name}SetpointLimit`] }, 'min') ?? standard.min;
  const max = view.limit({ max: [`Max${name}SetpointLimit`, `AbsMax${name}SetpointLimit`] }, 'max') ?? standard.max;
  return min <= max ? { min, max } : standard;
}

/** What a thermostat keeps between heating and cooling, in 0.01 °C; the standard's 2 °C where it does not say. */
export function deadBandOf(view: ClusterView): number {
  return (view.liveNumber('MinSetpointDeadBand') ?? STANDARD_DEAD_BAND) * 10;
}

/** The setpoints that a call without a choice means: those that the present mode follows. */
export function currentSetpoint(view: ClusterView): Setpoint {
  const has = setpointsOf(view);
  if (has.length === 1) return has[0] ?? 'heat';
  const mode = String(view.live('SystemMode') ?? '').toLowerCase();
  if (HEATING_MODES.includes(mode)) return 'heat';
  if (COOLING_MODES.includes(mode)) return 'cool';
  return mode === 'auto' ? 'both' : 'heat';
}

/** Schema of the choice; undefined where there is nothing to choose. */
export function setpointSchema(view: ClusterView): JsonSchema | undefined {
  if (setpointsOf(view).length < 2) return undefined;
  const description =
    'Which setpoint: heat, cool or both. Without it, the one that the present mode follows; in automatic mode both move, their distance kept';
  return { type: 'string', enum: ['heat', 'cool', 'both'], description };
}
