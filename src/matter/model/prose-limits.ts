import type { LimitExpression } from './limit-expression.ts';

/** Bounds that depend on the device's other attributes. */
export interface LiveLimits {
  readonly liveMin?: LimitExpression;
  readonly liveMax?: LimitExpression;
}

const between = (min: string, max: string): LiveLimits => ({
  liveMin: { type: 'reference', name: min },
  liveMax: { type: 'reference', name: max },
});
const HEATING = between('minHeatSetpointLimit', 'maxHeatSetpointLimit');
const COOLING = between('minCoolSetpointLimit', 'maxCoolSetpointLimit');

// The model marks these constraints "desc"; the limits stand in the text of Application Clusters §4.3 and §8.2.
const LIMITS: Readonly<Record<string, LiveLimits>> = {
  'Thermostat.OccupiedHeatingSetpoint': HEATING,
  'Thermostat.UnoccupiedHeatingSetpoint': HEATING,
  'Thermostat.OccupiedCoolingSetpoint': COOLING,
  'Thermostat.UnoccupiedCoolingSetpoint': COOLING,
  'Thermostat.MinHeatSetpointLimit': between('absMinHeatSetpointLimit', 'absMaxHeatSetpointLimit'),
  'Thermostat.MaxHeatSetpointLimit': between('absMinHeatSetpointLimit', 'absMaxHeatSetpointLimit'),
  'Thermostat.MinCoolSetpointLimit': between('absMinCoolSetpointLimit', 'absMaxCoolSetpointLimit'),
  'Thermostat.MaxCoolSetpointLimit': between('absMinCoolSetpointLimit', 'absMaxCoolSetpointLimit'),
  'TemperatureControl.TargetTemperature': between('minTemperature', 'maxTemperature'),
};

/** Limits of an attribute or command field that only the specification's prose gives; empty for all others. */
export function proseLimits(cluster: string, element: string): LiveLimits {
  return LIMITS[`${cluster}.${element}`] ?? {};
}
