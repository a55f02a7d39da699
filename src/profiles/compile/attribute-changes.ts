import type { Json, JsonObject } from '../../core/json.ts';
import { memberOf } from '../values/converters.ts';

/** An attribute of the touched endpoint that a command or write changes. */
export interface AttributeChange {
  /** The touched cluster when absent. */
  readonly cluster?: string;
  readonly attribute: string;
  /** Its new raw value; undefined when that is not known before it happens. */
  readonly raw: Json | undefined;
}

/** A command's fields or a write's value, beside what the device told last. */
export class TouchedCluster {
  readonly #cluster: string;
  readonly #fields: JsonObject;
  readonly #live: (cluster: string, attribute: string) => Json | undefined;
  /** What a write writes. */
  readonly value: Json;

  constructor(
    cluster: string,
    given: { readonly fields?: JsonObject; readonly value?: Json },
    live: (cluster: string, attribute: string) => Json | undefined,
  ) {
    this.#cluster = cluster;
    this.#fields = given.fields ?? {};
    this.value = given.value ?? null;
    this.#live = live;
  }

  /** A field in any spelling; undefined when it is absent or null. */
  field(name: string): Json | undefined {
    return memberOf(this.#fields, name) ?? undefined;
  }

  number(name: string): number | undefined {
    const value = this.field(name);
    return typeof value === 'number' ? value : undefined;
  }

  /** The last raw value of an attribute of this cluster, or of another one of the endpoint. */
  live(attribute: string, cluster = this.#cluster): Json | undefined {
    return this.#live(cluster, attribute) ?? undefined;
  }

  liveNumber(attribute: string, cluster = this.#cluster): number | undefined {
    const value = this.live(attribute, cluster);
    return typeof value === 'number' ? value : undefined;
  }
}

/** What a command or write of a standard cluster changes, raw. */
export type Changes = (touched: TouchedCluster) => readonly AttributeChange[];

/** Changes that are not known before they happen. */
function unknownChanges(...attributes: readonly string[]): readonly AttributeChange[] {
  return attributes.map((attribute) => ({ attribute, raw: undefined }));
}

/** Where a movement of this cluster ends is judged when it begins; stopping it sets nothing. */
const NO_CHANGE: Changes = () => [];

const LOWEST_LEVEL = 1;
const HIGHEST_LEVEL = 254;
const COORDINATES = ['CurrentHue', 'CurrentSaturation', 'CurrentX', 'CurrentY', 'ColorTemperatureMireds'];

/** Application Clusters §1.5 On/Off. */
const on: Changes = (touched) => [{ attribute: 'OnOff', raw: true }, ...restoredLevel(touched)];
const off: Changes = () => [{ attribute: 'OnOff', raw: false }];

/** The longer of two times counts (§1.5.7.6). */
function onWithTimedOff(touched: TouchedCluster): readonly AttributeChange[] {
  const time = touched.number('onTime');
  const left = time === undefined ? undefined : Math.max(time, touched.liveNumber('OnTime') ?? 0);
  return [...on(touched), { attribute: 'OnTime', raw: left }];
}

function toggle(touched: TouchedCluster): readonly AttributeChange[] {
  const now = touched.live('OnOff');
  if (now === true) return off(touched);
  if (now === false) return on(touched);
  return [{ attribute: 'OnOff', raw: undefined }, ...restoredLevel(touched)];
}

/** Turning on moves the level to OnLevel, else back to where it was (§1.6.6.11). */
function restoredLevel(touched: TouchedCluster): readonly AttributeChange[] {
  const level = touched.liveNumber('OnLevel', 'LevelControl') ?? touched.liveNumber('CurrentLevel', 'LevelControl');
  return [{ cluster: 'LevelControl', attribute: 'CurrentLevel', raw: level }];
}

/** Application Clusters §1.6 Level Control. */
function moveToLevel(touched: TouchedCluster): readonly AttributeChange[] {
  return [{ attribute: 'CurrentLevel', raw: touched.field('level') }];
}

function moveToLevelWithOnOff(touched: TouchedCluster): readonly AttributeChange[] {
  return [...moveToLevel(touched), { cluster: 'OnOff', attribute: 'OnOff', raw: isOnAt(touched, touched.number('level')) }];
}

function step(touched: TouchedCluster): readonly AttributeChange[] {
  return [{ attribute: 'CurrentLevel', raw: steppedLevel(touched) }];
}

function stepWithOnOff(touched: TouchedCluster): readonly AttributeChange[] {
  const isUp = touched.field('stepMode') === 'Up';
  const raw: Json | undefined = isUp ? true : isOnAt(touched, steppedLevel(touched));
  return [...step(touched), { cluster: 'OnOff', attribute: 'OnOff', raw }];
}

function steppedLevel(touched: TouchedCluster): number | undefined {
  const now = touched.liveNumber('CurrentLevel');
  const size = touched.number('stepSize');
  const mode = touched.field('stepMode');
  if (now === undefined || size === undefined || (mode !== 'Up' && mode !== 'Down')) return undefined;
  const [min, max] = [touched.liveNumber('MinLevel') ?? LOWEST_LEVEL, touched.liveNumber('MaxLevel') ?? HIGHEST_LEVEL];
  return Math.min(Math.max(now + (mode === 'Up' ? size : -size), min), max);
}

/** A light at its lowest level may be on, or be turned off by what brought it there (§1.6.7). */
function isOnAt(touched: TouchedCluster, level: number | undefined): boolean | undefined {
  const lowest = touched.liveNumber('MinLevel') ?? LOWEST_LEVEL;
  if (level === undefined || level === lowest) return undefined;
  return level > lowest;
}

/** Application Clusters §3.2: a colour has one place in several systems; what it is in the others is not known before. */
function colorAt(mode: string, attributes: Readonly<Record<string, Json | undefined>>): readonly AttributeChange[] {
  const named = Object.entries(attributes).map(([attribute, raw]) => ({ attribute, raw }));
  const others = COORDINATES.filter((attribute) => !(attribute in attributes));
  return [...named, ...unknownChanges(...others), { attribute: 'ColorMode', raw: mode }];
}

const HUE_MODE = 'CurrentHueAndCurrentSaturation';
const enhanced = (touched: TouchedCluster): number | undefined => {
  const hue = touched.number('enhancedHue');
  return hue === undefined ? undefined : hue >> 8;
};

/** What commands to lights change, by `Cluster.Command`. */
export const LIGHT_CHANGES: Readonly<Record<string, Changes>> = {
  'OnOff.On': on,
  'OnOff.OnWithTimedOff': onWithTimedOff,
  'OnOff.Off': off,
  'OnOff.OffWithEffect': off,
  'OnOff.Toggle': toggle,
  'LevelControl.MoveToLevel': moveToLevel,
  'LevelControl.MoveToLevelWithOnOff': moveToLevelWithOnOff,
  'LevelControl.Step': step,
  'LevelControl.StepWithOnOff': stepWithOnOff,
  'LevelControl.MoveWithOnOff': () => [
    { attribute: 'CurrentLevel', raw: undefined },
    { cluster: 'OnOff', attribute: 'OnOff', raw: undefined },
  ],
  'LevelControl.Stop': NO_CHANGE,
  'LevelControl.StopWithOnOff': NO_CHANGE,
  'ColorControl.StopMoveStep': NO_CHANGE,
  'ColorControl.MoveToHue': (t) => colorAt(HUE_MODE, { CurrentHue: t.field('hue') }),
  'ColorControl.MoveToSaturation': (t) => colorAt(HUE_MODE, { CurrentSaturation: t.field('saturation') }),
  'ColorControl.MoveToHueAndSaturation': (t) => colorAt(HUE_MODE, { CurrentHue: t.field('hue'), CurrentSaturation: t.field('saturation') }),
  'ColorControl.EnhancedMoveToHue': (t) => colorAt(HUE_MODE, { CurrentHue: enhanced(t) }),
  'ColorControl.EnhancedMoveToHueAndSaturation': (t) =>
    colorAt(HUE_MODE, { CurrentHue: enhanced(t), CurrentSaturation: t.field('saturation') }),
  'ColorControl.MoveToColor': (t) => colorAt('CurrentXAndCurrentY', { CurrentX: t.field('colorX'), CurrentY: t.field('colorY') }),
  'ColorControl.MoveToColorTemperature': (t) =>
    colorAt('ColorTemperatureMireds', { ColorTemperatureMireds: t.field('colorTemperatureMireds') }),
};

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

const OPEN_AT = 100;

/** A cover counts how far it is closed, in 0.01 % (Application Clusters §5.3). */
function coverAt(lift: Json | undefined, tilt: Json | undefined): readonly AttributeChange[] {
  return [
    { attribute: 'CurrentPositionLiftPercent100ths', raw: lift },
    { attribute: 'TargetPositionLiftPercent100ths', raw: lift },
    { attribute: 'CurrentPositionTiltPercent100ths', raw: tilt },
    { attribute: 'TargetPositionTiltPercent100ths', raw: tilt },
  ];
}

const liftTo = (touched: TouchedCluster) => coverAt(touched.field('liftPercent100thsValue'), undefined).slice(0, 2);
const tiltTo = (touched: TouchedCluster) => coverAt(undefined, touched.field('tiltPercent100thsValue')).slice(2);
const locked = (state: string): Changes => {
  return () => [{ attribute: 'LockState', raw: state }];
};

/** In passage mode a lock stays open, and whoever changes the mode may leave it in any state (§5.2.9.24). */
function operatingMode({ value }: TouchedCluster): readonly AttributeChange[] {
  return [
    { attribute: 'OperatingMode', raw: value },
    { attribute: 'LockState', raw: undefined },
  ];
}

function openValve(touched: TouchedCluster): readonly AttributeChange[] {
  return [
    { attribute: 'CurrentState', raw: 'Open' },
    { attribute: 'CurrentLevel', raw: touched.field('targetLevel') ?? touched.live('DefaultOpenLevel') ?? OPEN_AT },
    { attribute: 'RemainingDuration', raw: touched.field('openDuration') },
  ];
}

/** The device refuses what would exceed its MaxCookTime (§8.13.6.3). */
function addCookTime(touched: TouchedCluster): readonly AttributeChange[] {
  const [now, added] = [touched.liveNumber('CookTime'), touched.number('timeToAdd')];
  return [{ attribute: 'CookTime', raw: now === undefined || added === undefined ? undefined : now + added }];
}

/** How fast a pump then runs is its own affair (§4.2.7.22). */
const pumpMode =
  (attribute: string): Changes =>
  ({ value }) => [{ attribute, raw: value }, ...unknownChanges('EffectiveControlMode', 'Speed', 'Capacity', 'Power', 'PumpStatus')];

/** What commands to and writes on locks, covers, valves, pumps, chargers and microwaves change, by `Cluster.Element`. */
export const MOVING_CHANGES: Readonly<Record<string, Changes>> = {
  'DoorLock.LockDoor': locked('Locked'),
  'DoorLock.UnlockDoor': locked('Unlocked'),
  'DoorLock.UnlockWithTimeout': locked('Unlocked'),
  'DoorLock.UnboltDoor': locked('Unlocked'),
  'DoorLock.OperatingMode': operatingMode,
  'WindowCovering.UpOrOpen': () => coverAt(0, 0),
  'WindowCovering.DownOrClose': () => coverAt(10_000, 10_000),
  'WindowCovering.GoToLiftPercentage': liftTo,
  'WindowCovering.GoToTiltPercentage': tiltTo,
  'WindowCovering.StopMotion': NO_CHANGE,
  'ClosureControl.Stop': NO_CHANGE,
  'ValveConfigurationAndControl.Open': openValve,
  'ValveConfigurationAndControl.Close': () => [
    { attribute: 'CurrentState', raw: 'Closed' },
    { attribute: 'CurrentLevel', raw: 0 },
  ],
  'PumpConfigurationAndControl.OperationMode': pumpMode('OperationMode'),
  'PumpConfigurationAndControl.ControlMode': pumpMode('ControlMode'),
  // The device takes the lowest of several limits: it never becomes more than this.
  'EnergyEvse.UserMaximumChargeCurrent': ({ value }) => [{ attribute: 'MaximumChargeCurrent', raw: value }],
  'MicrowaveOvenControl.AddMoreTime': addCookTime,
};
