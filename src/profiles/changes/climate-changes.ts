import type { Json } from '../../core/json.ts';
import { type AttributeChange, type Changes, type TouchedCluster, unknownChanges } from './attribute-change.ts';

const HEATING = 'OccupiedHeatingSetpoint';
const COOLING = 'OccupiedCoolingSetpoint';
// 0.01 °C a step of SetpointRaiseLower, whose amount counts tenths (Application Clusters §4.3.12.1).
const CENTI_PER_TENTH = 10;
const FAN = ['FanMode', 'PercentSetting', 'PercentCurrent'];

function raiseLower(touched: TouchedCluster): readonly AttributeChange[] {
  const mode = touched.field('mode');
  const amount = touched.number('amount');
  const moved = (attribute: string): AttributeChange => {
    const now = touched.liveNumber(attribute);
    const isKnown = now !== undefined && amount !== undefined;
    return { attribute, raw: isKnown ? withinLimits(touched, attribute, now + amount * CENTI_PER_TENTH) : undefined };
  };
  if (mode === 'Heat') return setpoint(touched, moved(HEATING));
  if (mode === 'Cool') return setpoint(touched, moved(COOLING));
  return [moved(HEATING), moved(COOLING)];
}

function withinLimits(touched: TouchedCluster, attribute: string, value: number): number {
  const name = attribute === HEATING ? 'Heat' : 'Cool';
  const min = touched.liveNumber(`Min${name}SetpointLimit`) ?? touched.liveNumber(`AbsMin${name}SetpointLimit`) ?? value;
  const max = touched.liveNumber(`Max${name}SetpointLimit`) ?? touched.liveNumber(`AbsMax${name}SetpointLimit`) ?? value;
  return Math.min(Math.max(value, min), max);
}

/** Where a dead band is kept, a setpoint pushes the other one away (§4.3.11.19). */
function setpoint(touched: TouchedCluster, change: AttributeChange): readonly AttributeChange[] {
  const deadBand = touched.liveNumber('MinSetpointDeadBand');
  if (deadBand === undefined) return [change];
  const isHeating = change.attribute === HEATING;
  const other = isHeating ? COOLING : HEATING;
  const now = touched.liveNumber(other);
  if (now === undefined || typeof change.raw !== 'number') return [change, ...unknownChanges(other)];
  const bound = change.raw + (isHeating ? deadBand : -deadBand) * CENTI_PER_TENTH;
  const isPushed = isHeating ? now < bound : now > bound;
  return isPushed ? [change, { attribute: other, raw: bound }] : [change];
}

/** What is kept while nobody is there is the same wish: a rule about it holds whoever is at home. */
const setpointWrite =
  (attribute: string): Changes =>
  (touched) =>
    setpoint(touched, { attribute, raw: touched.value });

/** A preset brings setpoints of its own. */
function preset(touched: TouchedCluster): readonly AttributeChange[] {
  return [{ attribute: 'ActivePresetHandle', raw: touched.field('presetHandle') }, ...unknownChanges(HEATING, COOLING)];
}

/** Speed, percent and mode of a fan follow each other (§4.4.6). */
function fanPercent({ value }: TouchedCluster): readonly AttributeChange[] {
  if (typeof value !== 'number') return unknownChanges(...FAN);
  return [
    { attribute: 'PercentSetting', raw: value },
    { attribute: 'PercentCurrent', raw: value },
    { attribute: 'FanMode', raw: value === 0 ? 'Off' : undefined },
  ];
}

function fanMode({ value }: TouchedCluster): readonly AttributeChange[] {
  const percent: Json | undefined = value === 'Off' ? 0 : undefined;
  return [
    { attribute: 'FanMode', raw: value },
    { attribute: 'PercentSetting', raw: percent },
    { attribute: 'PercentCurrent', raw: percent },
  ];
}

function boost(touched: TouchedCluster): readonly AttributeChange[] {
  const info = touched.field('boostInfo');
  const temporary =
    typeof info === 'object' && info !== null && !Array.isArray(info) ? touchedMember(info, 'temporarySetpoint') : undefined;
  return [
    { attribute: 'BoostState', raw: 'Active' },
    ...(temporary === undefined ? [] : [{ cluster: 'Thermostat', attribute: HEATING, raw: temporary }]),
  ];
}

function touchedMember(value: object, name: string): Json | undefined {
  return (Object.entries(value) as [string, Json][]).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1] ?? undefined;
}

/** What commands to and writes on heating, cooling and fans change, by `Cluster.Element`. */
export const CLIMATE_CHANGES: Readonly<Record<string, Changes>> = {
  'Thermostat.SetpointRaiseLower': raiseLower,
  'Thermostat.SetActivePresetRequest': preset,
  'Thermostat.OccupiedHeatingSetpoint': setpointWrite(HEATING),
  'Thermostat.OccupiedCoolingSetpoint': setpointWrite(COOLING),
  'Thermostat.UnoccupiedHeatingSetpoint': setpointWrite(HEATING),
  'Thermostat.UnoccupiedCoolingSetpoint': setpointWrite(COOLING),
  'FanControl.PercentSetting': fanPercent,
  'FanControl.FanMode': fanMode,
  'FanControl.SpeedSetting': () => unknownChanges(...FAN),
  'FanControl.Step': () => unknownChanges(...FAN),
  'WaterHeaterManagement.Boost': boost,
  'WaterHeaterManagement.CancelBoost': () => [{ attribute: 'BoostState', raw: 'Inactive' }],
  'TemperatureControl.SetTemperature': (touched) => [
    ...given('TemperatureSetpoint', touched.field('targetTemperature')),
    ...given('SelectedTemperatureLevel', touched.field('targetTemperatureLevel')),
  ],
};

function given(attribute: string, raw: Json | undefined): readonly AttributeChange[] {
  return raw === undefined ? [] : [{ attribute, raw }];
}
