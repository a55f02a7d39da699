import { type Json, present } from '../../core/json.ts';
import { memberOf } from '../values/converters.ts';
import type { LiveValues } from './cluster-view.ts';
import type { DeviceStep } from './compiled-device.ts';

/**
 * New raw values by attribute. The key is `Attribute` for the changed cluster, and `Cluster.Attribute` for another cluster of the endpoint.
 * An undefined value means that the attribute changes, but its new value is unknown before the call runs.
 */
export type AttributeChanges = Readonly<Record<string, Json | undefined>>;

/** A command or write to a cluster, with the values that the device last reported. */
export class TouchedCluster {
  readonly #step: Exclude<DeviceStep, { kind: 'read' }>;
  readonly #live: LiveValues;

  constructor(step: Exclude<DeviceStep, { kind: 'read' }>, live: LiveValues) {
    this.#step = step;
    this.#live = live;
  }

  /** Returns the written value; null for a command. */
  get value(): Json {
    return this.#step.kind === 'write' ? this.#step.value : null;
  }

  /** Returns a command field by its name in any letter case; undefined if the field is absent or null. */
  field(name: string): Json | undefined {
    return (this.#step.kind === 'invoke' ? memberOf(this.#step.fields, name) : undefined) ?? undefined;
  }

  number(name: string): number | undefined {
    return numberOrUndefined(this.field(name));
  }

  /** Returns the last raw value of an attribute; undefined if it is unknown or null. `cluster` can be another cluster on the endpoint. */
  live(attribute: string, cluster = this.#step.cluster): Json | undefined {
    return this.#live(this.#step.endpoint, cluster, attribute) ?? undefined;
  }

  liveNumber(attribute: string, cluster?: string): number | undefined {
    return numberOrUndefined(this.live(attribute, cluster));
  }
}

function numberOrUndefined(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** A function that returns the attribute changes of a command or write. */
type Changes = (touched: TouchedCluster) => AttributeChanges;

/** Returns attribute changes whose new values are not known before the call runs. */
function unknownChanges(...attributes: readonly string[]): AttributeChanges {
  return Object.fromEntries(attributes.map((attribute) => [attribute, undefined]));
}

/** For commands that stop a movement. They set no value, and the owner's rules already checked the movement when it began. */
const NO_CHANGE: Changes = () => ({});

const LOWEST_LEVEL = 1;
const HIGHEST_LEVEL = 254;

/** The coordinates that determine the colour in each mode (Application Clusters §3.2.7.9). */
const COORDINATES_OF_MODE: Readonly<Record<string, readonly string[]>> = {
  CurrentHueAndCurrentSaturation: ['CurrentHue', 'CurrentSaturation'],
  CurrentXAndCurrentY: ['CurrentX', 'CurrentY'],
  ColorTemperatureMireds: ['ColorTemperatureMireds'],
};
/** All attributes that are a coordinate of a colour in some mode. */
export const COORDINATES = Object.values(COORDINATES_OF_MODE).flat();

/** Returns whether a value is a coordinate of a colour that has no meaning in the color mode `mode`. */
export function isCoordinateOfOtherMode(value: { readonly cluster: string; readonly attribute: string }, mode: Json | undefined): boolean {
  if (value.cluster !== 'ColorControl' || !COORDINATES.includes(value.attribute)) return false;
  const own = COORDINATES_OF_MODE[String(mode)];
  return own !== undefined && !own.includes(value.attribute);
}

/** Returns the changes when a device turns on (Application Clusters §1.5). */
const on: Changes = (touched) => ({ OnOff: true, ...restoredLevel(touched) });
/** A device that turns off forgets the time after which it would have (§1.5.7.1). */
const off: Changes = () => ({ OnOff: false, OnTime: 0 });

/** Returns the changes when a device turns on for a time. A longer remaining on-time stays as it is (§1.5.7.6). */
function onWithTimedOff(touched: TouchedCluster): AttributeChanges {
  const time = touched.number('onTime');
  const left = time === undefined ? undefined : Math.max(time, touched.liveNumber('OnTime') ?? 0);
  return { ...on(touched), OnTime: left };
}

function toggle(touched: TouchedCluster): AttributeChanges {
  const now = touched.live('OnOff');
  if (now === true) return off(touched);
  return { OnOff: now === false ? true : undefined, ...restoredLevel(touched) };
}

/** Returns the level after turning on: OnLevel if it is set, else the last level (§1.6.6.11). */
function restoredLevel(touched: TouchedCluster): AttributeChanges {
  const level = touched.liveNumber('OnLevel', 'LevelControl') ?? touched.liveNumber('CurrentLevel', 'LevelControl');
  return { 'LevelControl.CurrentLevel': level };
}

const moveToLevel: Changes = (touched) => ({ CurrentLevel: touched.field('level') });

function moveToLevelWithOnOff(touched: TouchedCluster): AttributeChanges {
  return { ...moveToLevel(touched), 'OnOff.OnOff': isOnAt(touched, touched.number('level')) };
}

function stepWithOnOff(touched: TouchedCluster): AttributeChanges {
  const level = steppedLevel(touched);
  return { CurrentLevel: level, 'OnOff.OnOff': touched.field('stepMode') === 'Up' ? true : isOnAt(touched, level) };
}

function steppedLevel(touched: TouchedCluster): number | undefined {
  const now = touched.liveNumber('CurrentLevel');
  const size = touched.number('stepSize');
  const mode = touched.field('stepMode');
  if (now === undefined || size === undefined || (mode !== 'Up' && mode !== 'Down')) return undefined;
  const [min, max] = [touched.liveNumber('MinLevel') ?? LOWEST_LEVEL, touched.liveNumber('MaxLevel') ?? HIGHEST_LEVEL];
  return Math.min(Math.max(now + (mode === 'Up' ? size : -size), min), max);
}

/** Returns whether the device may ignore the command because it is off; its own options decide then (§1.6.6.9). */
function isIgnoredWhileOff(touched: TouchedCluster): boolean {
  const executes = memberOf(touched.field('optionsOverride') ?? null, 'executeIfOff') === true;
  return touched.live('OnOff', 'OnOff') === false && !executes;
}

/** Returns whether a light is on after a move to a level. Undefined for an unknown level, and for the lowest, which may be off (§1.6.7). */
function isOnAt(touched: TouchedCluster, level: number | undefined): boolean | undefined {
  const lowest = touched.liveNumber('MinLevel') ?? LOWEST_LEVEL;
  return level === undefined || level === lowest ? undefined : level > lowest;
}

/** Returns the changes of a colour command. All coordinates except the given ones become unknown (Application Clusters §3.2). */
function colorAt(mode: string, coordinates: AttributeChanges): AttributeChanges {
  return { ...unknownChanges(...COORDINATES), ...coordinates, ColorMode: mode };
}

const hueAt = (coordinates: AttributeChanges) => colorAt('CurrentHueAndCurrentSaturation', coordinates);

function enhancedHue(touched: TouchedCluster): number | undefined {
  const hue = touched.number('enhancedHue');
  return hue === undefined ? undefined : hue >> 8;
}

/** The changes that commands make to lights, by `Cluster.Command`. */
const LIGHT_CHANGES: Readonly<Record<string, Changes>> = {
  'OnOff.On': on,
  'OnOff.OnWithTimedOff': onWithTimedOff,
  'OnOff.Off': off,
  'OnOff.OffWithEffect': off,
  'OnOff.Toggle': toggle,
  'LevelControl.MoveToLevel': moveToLevel,
  'LevelControl.MoveToLevelWithOnOff': moveToLevelWithOnOff,
  'LevelControl.Step': (t) => ({ CurrentLevel: isIgnoredWhileOff(t) ? undefined : steppedLevel(t) }),
  'LevelControl.StepWithOnOff': stepWithOnOff,
  'LevelControl.MoveWithOnOff': () => unknownChanges('CurrentLevel', 'OnOff.OnOff'),
  'LevelControl.Stop': NO_CHANGE,
  'LevelControl.StopWithOnOff': NO_CHANGE,
  'ColorControl.StopMoveStep': NO_CHANGE,
  'ColorControl.MoveToHue': (t) => hueAt({ CurrentHue: t.field('hue') }),
  'ColorControl.MoveToSaturation': (t) => hueAt({ CurrentSaturation: t.field('saturation') }),
  'ColorControl.MoveToHueAndSaturation': (t) => hueAt({ CurrentHue: t.field('hue'), CurrentSaturation: t.field('saturation') }),
  'ColorControl.EnhancedMoveToHue': (t) => hueAt({ CurrentHue: enhancedHue(t) }),
  'ColorControl.EnhancedMoveToHueAndSaturation': (t) => hueAt({ CurrentHue: enhancedHue(t), CurrentSaturation: t.field('saturation') }),
  'ColorControl.MoveToColor': (t) => colorAt('CurrentXAndCurrentY', { CurrentX: t.field('colorX'), CurrentY: t.field('colorY') }),
  'ColorControl.MoveToColorTemperature': (t) =>
    colorAt('ColorTemperatureMireds', { ColorTemperatureMireds: t.field('colorTemperatureMireds') }),
};

const HEATING = 'OccupiedHeatingSetpoint';
const COOLING = 'OccupiedCoolingSetpoint';
// SetpointRaiseLower counts in steps of 0.1 °C, setpoints in steps of 0.01 °C (Application Clusters §4.3.12.1).
const CENTI_PER_TENTH = 10;

function raiseLower(touched: TouchedCluster): AttributeChanges {
  const mode = touched.field('mode');
  const amount = touched.number('amount');
  const moved = (attribute: string): number | undefined => {
    const now = touched.liveNumber(attribute);
    const isKnown = now !== undefined && amount !== undefined;
    return isKnown ? withinLimits(touched, attribute, now + amount * CENTI_PER_TENTH) : undefined;
  };
  if (mode === 'Heat') return setpoint(touched, HEATING, moved(HEATING));
  if (mode === 'Cool') return setpoint(touched, COOLING, moved(COOLING));
  return { [HEATING]: moved(HEATING), [COOLING]: moved(COOLING) };
}

function withinLimits(touched: TouchedCluster, attribute: string, value: number): number {
  const name = attribute === HEATING ? 'Heat' : 'Cool';
  const min = touched.liveNumber(`Min${name}SetpointLimit`) ?? touched.liveNumber(`AbsMin${name}SetpointLimit`) ?? value;
  const max = touched.liveNumber(`Max${name}SetpointLimit`) ?? touched.liveNumber(`AbsMax${name}SetpointLimit`) ?? value;
  return Math.min(Math.max(value, min), max);
}

/** Returns the changes of a setpoint. The device also moves the other setpoint if the dead band between them requires it (§4.3.11.19). */
function setpoint(touched: TouchedCluster, attribute: string, raw: Json | undefined): AttributeChanges {
  const change = { [attribute]: raw };
  const deadBand = touched.liveNumber('MinSetpointDeadBand');
  if (deadBand === undefined) return change;
  const isHeating = attribute === HEATING;
  const other = isHeating ? COOLING : HEATING;
  const now = touched.liveNumber(other);
  if (now === undefined || typeof raw !== 'number') return { ...change, ...unknownChanges(other) };
  const bound = raw + (isHeating ? deadBand : -deadBand) * CENTI_PER_TENTH;
  const isMoved = isHeating ? now < bound : now > bound;
  return isMoved ? { ...change, [other]: bound } : change;
}

/** Treats a write to an unoccupied setpoint as a write to the occupied one, so that the owner's rules also apply while nobody is home. */
const setpointWrite =
  (attribute: string): Changes =>
  (touched) =>
    setpoint(touched, attribute, touched.value);

/** Speed, percent and mode of a fan change together (§4.4.6). */
const unknownFan: Changes = () => unknownChanges('FanMode', 'PercentSetting', 'PercentCurrent');

function fanPercent(touched: TouchedCluster): AttributeChanges {
  const { value } = touched;
  if (typeof value !== 'number') return unknownFan(touched);
  return { PercentSetting: value, PercentCurrent: value, FanMode: value === 0 ? 'Off' : undefined };
}

function fanMode({ value }: TouchedCluster): AttributeChanges {
  const percent = value === 'Off' ? 0 : undefined;
  return { FanMode: value, PercentSetting: percent, PercentCurrent: percent };
}

function boost(touched: TouchedCluster): AttributeChanges {
  const temporary = memberOf(touched.field('boostInfo') ?? null, 'temporarySetpoint') ?? undefined;
  return { BoostState: 'Active', ...(temporary !== undefined && { [`Thermostat.${HEATING}`]: temporary }) };
}

/** The changes that commands and writes make to heating, cooling and fans, by `Cluster.Element`. */
const CLIMATE_CHANGES: Readonly<Record<string, Changes>> = {
  'Thermostat.SetpointRaiseLower': raiseLower,
  // A preset also changes the setpoints, to values that are unknown here.
  'Thermostat.SetActivePresetRequest': (t) => ({ ActivePresetHandle: t.field('presetHandle'), ...unknownChanges(HEATING, COOLING) }),
  'Thermostat.OccupiedHeatingSetpoint': setpointWrite(HEATING),
  'Thermostat.OccupiedCoolingSetpoint': setpointWrite(COOLING),
  'Thermostat.UnoccupiedHeatingSetpoint': setpointWrite(HEATING),
  'Thermostat.UnoccupiedCoolingSetpoint': setpointWrite(COOLING),
  'FanControl.PercentSetting': fanPercent,
  'FanControl.FanMode': fanMode,
  'FanControl.SpeedSetting': unknownFan,
  'FanControl.Step': unknownFan,
  'WaterHeaterManagement.Boost': boost,
  'WaterHeaterManagement.CancelBoost': () => ({ BoostState: 'Inactive' }),
  'TemperatureControl.SetTemperature': (t) =>
    present({ TemperatureSetpoint: t.field('targetTemperature'), SelectedTemperatureLevel: t.field('targetTemperatureLevel') }),
};

const OPEN_AT = 100;

/** Returns the changes when a cover moves to a position in steps of 0.01 %: 0 is open, 10,000 is closed (Application Clusters §5.3). */
function coverAt(axis: 'Lift' | 'Tilt', position: Json | undefined): AttributeChanges {
  return { [`CurrentPosition${axis}Percent100ths`]: position, [`TargetPosition${axis}Percent100ths`]: position };
}

const wholeCover =
  (position: number): Changes =>
  () => ({ ...coverAt('Lift', position), ...coverAt('Tilt', position) });

const locked =
  (state: string): Changes =>
  () => ({ LockState: state });

function openValve(touched: TouchedCluster): AttributeChanges {
  return {
    CurrentState: 'Open',
    CurrentLevel: touched.field('targetLevel') ?? touched.live('DefaultOpenLevel') ?? OPEN_AT,
    RemainingDuration: touched.field('openDuration'),
  };
}

/** Returns the new cook time. It needs no maximum, because the device refuses a time above its MaxCookTime (§8.13.6.3). */
function addCookTime(touched: TouchedCluster): AttributeChanges {
  const [now, added] = [touched.liveNumber('CookTime'), touched.number('timeToAdd')];
  return { CookTime: now === undefined || added === undefined ? undefined : now + added };
}

/** After a mode change, the pump chooses its speed itself. So the speed and the values that depend on it are unknown (§4.2.7.22). */
const pumpMode =
  (attribute: string): Changes =>
  ({ value }) => ({ [attribute]: value, ...unknownChanges('EffectiveControlMode', 'Speed', 'Capacity', 'Power', 'PumpStatus') });

/** The changes that commands and writes make to locks, covers, valves, pumps, chargers and microwaves, by `Cluster.Element`. */
const MOVING_CHANGES: Readonly<Record<string, Changes>> = {
  'DoorLock.LockDoor': locked('Locked'),
  'DoorLock.UnlockDoor': locked('Unlocked'),
  'DoorLock.UnlockWithTimeout': locked('Unlocked'),
  'DoorLock.UnboltDoor': locked('Unlocked'),
  // A lock in passage mode stays unlocked. After a change to another mode, the lock can have any state (§5.2.9.24).
  'DoorLock.OperatingMode': ({ value }) => ({ OperatingMode: value, LockState: undefined }),
  'WindowCovering.UpOrOpen': wholeCover(0),
  'WindowCovering.DownOrClose': wholeCover(10_000),
  'WindowCovering.GoToLiftPercentage': (t) => coverAt('Lift', t.field('liftPercent100thsValue')),
  'WindowCovering.GoToTiltPercentage': (t) => coverAt('Tilt', t.field('tiltPercent100thsValue')),
  'WindowCovering.StopMotion': NO_CHANGE,
  'ClosureControl.Stop': NO_CHANGE,
  'ValveConfigurationAndControl.Open': openValve,
  'ValveConfigurationAndControl.Close': () => ({ CurrentState: 'Closed', CurrentLevel: 0, RemainingDuration: null }),
  'PumpConfigurationAndControl.OperationMode': pumpMode('OperationMode'),
  'PumpConfigurationAndControl.ControlMode': pumpMode('ControlMode'),
  // The device uses the lowest of several current limits. So this value is the highest possible result.
  'EnergyEvse.UserMaximumChargeCurrent': ({ value }) => ({ MaximumChargeCurrent: value }),
  'MicrowaveOvenControl.AddMoreTime': addCookTime,
  'ServiceArea.SelectAreas': (t) => ({ SelectedAreas: t.field('newAreas') }),
};

/** Pausing keeps the phase and the time that is left; going on again does so too (Application Clusters §1.14.6). */
const OPERATION_CHANGES: Readonly<Record<string, Changes>> = {
  'OperationalState.Pause': () => ({ OperationalState: 'Paused' }),
  'OperationalState.Resume': () => ({ OperationalState: 'Running' }),
  'RvcOperationalState.Pause': () => ({ OperationalState: 'Paused' }),
  // A robot that was paused on its way to the charger goes on with that (§7.4.5), and nothing tells where it was paused.
  'RvcOperationalState.Resume': () => ({ OperationalState: 'Running' }),
};

/** The changes that commands and writes of Matter clusters make, by `Cluster.Element`. */
export const KNOWN_CHANGES = { ...LIGHT_CHANGES, ...CLIMATE_CHANGES, ...MOVING_CHANGES, ...OPERATION_CHANGES };
