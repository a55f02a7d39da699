import type { JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';

/** Which setpoint of a thermostat is meant. */
export type Setpoint = 'heat' | 'cool' | 'both';

const ATTRIBUTE = { heat: 'OccupiedHeatingSetpoint', cool: 'OccupiedCoolingSetpoint' } as const;
const HEATING_MODES = ['heat', 'emergencyheat'];
const COOLING_MODES = ['cool', 'precooling'];
// The limits that Application Clusters §4.3.9 gives where a device states none, in 0.01 °C.
const STANDARD_LIMITS = { heat: { min: 700, max: 3000 }, cool: { min: 1600, max: 3200 } } as const;

/** The setpoints that a thermostat has. */
export function setpointsOf(view: ClusterView): readonly ('heat' | 'cool')[] {
  return (['heat', 'cool'] as const).filter((one) => view.attribute(ATTRIBUTE[one]) !== undefined);
}

/** The attribute of Thermostat that holds the setpoint, in 0.01 °C. */
export function setpointAttribute(setpoint: 'heat' | 'cool'): string {
  return ATTRIBUTE[setpoint];
}

/** Lowest and highest setpoint in 0.01 °C: the set limits, else the absolute ones, else the standard's. */
export function setpointLimits(view: ClusterView, setpoint: 'heat' | 'cool'): { readonly min: number; readonly max: number } {
  const name = setpoint === 'heat' ? 'Heat' : 'Cool';
  const standard = STANDARD_LIMITS[setpoint];
  const min = view.liveNumber(`Min${name}SetpointLimit`) ?? view.liveNumber(`AbsMin${name}SetpointLimit`) ?? standard.min;
  const max = view.liveNumber(`Max${name}SetpointLimit`) ?? view.liveNumber(`AbsMax${name}SetpointLimit`) ?? standard.max;
  return min <= max ? { min, max } : standard;
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
  const description = 'Which setpoint: heat, cool or both. Without it, the one that the present mode follows';
  return { type: 'string', enum: ['heat', 'cool', 'both'], description };
}
