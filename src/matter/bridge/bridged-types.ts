import '../matter-platform.ts';
import type { EndpointType } from '@matter/main';
import type { BridgedKind, BridgedValues } from '../../core/devices/matter-bridge.ts';
import { objectOf } from '../../core/json.ts';
import { closed100thsOf, illuminanceOf, kelvinOf, levelOf, percentOf, systemModeOf } from './bridged-units.ts';

/** The attributes of an endpoint, by cluster, both as matter.js names them. */
export type EndpointState = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A device type of Matter for a kind of thing. */
export interface BridgedType {
  readonly load: () => Promise<EndpointType>;
  /** Attributes that do not change. */
  readonly fixed?: EndpointState;
  /** The attributes for each value. A value that is null or unknown leaves its attributes as they are, unless they can be null. */
  readonly attributes: Readonly<Record<string, Shown>>;
}

/** An attribute that shows a value. */
interface Shown {
  readonly cluster: string;
  readonly attribute: string;
  readonly toMatter: (value: never) => unknown;
  /** The attribute of a thing that has not reported its value yet. */
  readonly unknown: unknown;
  /** Returns whether the attribute shows the value already, although it is not exactly its conversion. */
  readonly shows?: (attribute: never, value: never) => boolean;
}

const same = (value: unknown) => value;
const hundredths = (value: number) => Math.round(value * 100);
const clamped = (value: number, [min, max]: Limits) => Math.min(max, Math.max(min, value));

/** The lowest and the highest value of an attribute. matter.js refuses any other, and would then not show the thing at all. */
type Limits = readonly [number, number];

const ON: Shown = { cluster: 'onOff', attribute: 'onOff', toMatter: same, unknown: false };
const BRIGHTNESS: Shown = {
  cluster: 'levelControl',
  attribute: 'currentLevel',
  toMatter: levelOf,
  unknown: 254,
  // Several levels are the same percentage. The level that an ecosystem set stays.
  shows: (level: number, percent: number) => percentOf(level) === percent,
};
const COLOR_TEMPERATURE: Shown = {
  cluster: 'colorControl',
  attribute: 'colorTemperatureMireds',
  toMatter: (kelvin: number) => Math.min(MAX_MIREDS, Math.max(MIN_MIREDS, kelvinOf(kelvin))),
  unknown: 250,
  shows: (mireds: number, kelvin: number) => kelvinOf(mireds) === kelvin,
};
const MIN_MIREDS = 153;
const MAX_MIREDS = 500;
const OPEN_PERCENT: Shown = {
  cluster: 'windowCovering',
  attribute: 'currentPositionLiftPercent100ths',
  toMatter: closed100thsOf,
  unknown: null,
};
const LOCKED: Shown = { cluster: 'doorLock', attribute: 'lockState', toMatter: (isLocked: boolean) => (isLocked ? 1 : 2), unknown: null };
/** Limits of temperatures in hundredths of °C (Matter core specification 7.19.2.9). */
const TEMPERATURES: Limits = [-27_315, 32_767];
const SETPOINTS: Limits = [500, 3500];
const setpoint = (celsius: number) => clamped(hundredths(celsius), SETPOINTS);
const INDOOR: Shown = {
  cluster: 'thermostat',
  attribute: 'localTemperature',
  toMatter: (celsius: number) => clamped(hundredths(celsius), TEMPERATURES),
  unknown: null,
};
const HEATING: Shown = { cluster: 'thermostat', attribute: 'occupiedHeatingSetpoint', toMatter: setpoint, unknown: 2000 };
const COOLING: Shown = { cluster: 'thermostat', attribute: 'occupiedCoolingSetpoint', toMatter: setpoint, unknown: 2600 };
const MODE: Shown = { cluster: 'thermostat', attribute: 'systemMode', toMatter: systemModeOf, unknown: 0 };

/** Limits of setpoints in hundredths of °C. The thing itself refuses what it cannot do. */
const HEAT_LIMITS = {
  absMinHeatSetpointLimit: 500,
  absMaxHeatSetpointLimit: 3500,
  minHeatSetpointLimit: 500,
  maxHeatSetpointLimit: 3500,
};
const COOL_LIMITS = {
  absMinCoolSetpointLimit: 500,
  absMaxCoolSetpointLimit: 3500,
  minCoolSetpointLimit: 500,
  maxCoolSetpointLimit: 3500,
};

// Each file is loaded when the first thing of its kinds is bridged. The packages of matter.js are not loaded here: in the built program, each
// module that loads them has to load the settings of matter.js before.
const lights = async () => (await import('./bridged-lights.ts')).LIGHTS;
const openings = async () => (await import('./bridged-openings.ts')).OPENINGS;
const thermostats = async () => (await import('./bridged-thermostats.ts')).THERMOSTATS;
const sensors = async () => (await import('./bridged-sensors.ts')).SENSORS;
type Sensor = keyof Awaited<ReturnType<typeof sensors>>;

/** Returns the type of a sensor with one measured value. `limits` are the lowest and the highest attribute. */
function measuring(kind: Sensor, name: string, { limits, cluster, toMatter }: Measured): BridgedType {
  const [minMeasuredValue, maxMeasuredValue] = limits;
  const shown = { cluster, toMatter: (value: number) => clamped(toMatter(value), limits) };
  return {
    load: async () => (await sensors())[kind],
    fixed: { [cluster]: { minMeasuredValue, maxMeasuredValue } },
    attributes: { [name]: { ...shown, attribute: 'measuredValue', unknown: null } },
  };
}

interface Measured {
  readonly cluster: string;
  readonly toMatter: (value: number) => number;
  readonly limits: Limits;
}

/** Returns the type of a sensor with a boolean state. */
function detecting(kind: Sensor, name: string, toMatter: (value: boolean) => boolean): BridgedType {
  const shown = { cluster: 'booleanState', attribute: 'stateValue', toMatter, unknown: toMatter(false) };
  return { load: async () => (await sensors())[kind], attributes: { [name]: shown } };
}

/** The device type for each kind of thing. */
export const BRIDGED_TYPES: Readonly<Record<BridgedKind, BridgedType>> = {
  on_off_light: { load: async () => (await lights()).on_off_light, attributes: { on: ON } },
  dimmable_light: { load: async () => (await lights()).dimmable_light, attributes: { on: ON, brightness: BRIGHTNESS } },
  color_temperature_light: {
    load: async () => (await lights()).color_temperature_light,
    fixed: {
      colorControl: {
        colorTempPhysicalMinMireds: MIN_MIREDS,
        colorTempPhysicalMaxMireds: MAX_MIREDS,
        coupleColorTempToLevelMinMireds: MIN_MIREDS,
        startUpColorTemperatureMireds: null,
        colorMode: 2,
        enhancedColorMode: 2,
      },
    },
    attributes: { on: ON, brightness: BRIGHTNESS, color_temperature: COLOR_TEMPERATURE },
  },
  plug: { load: async () => (await lights()).plug, attributes: { on: ON } },
  cover: {
    load: async () => (await openings()).cover,
    fixed: { windowCovering: { type: 0, endProductType: 0 } },
    attributes: { open_percent: OPEN_PERCENT },
  },
  lock: {
    load: async () => (await openings()).lock,
    fixed: { doorLock: { lockType: 0, actuatorEnabled: true, operatingMode: 0 } },
    attributes: { locked: LOCKED },
  },
  heating_thermostat: {
    load: async () => (await thermostats()).heating_thermostat,
    fixed: { thermostat: { controlSequenceOfOperation: 2, ...HEAT_LIMITS } },
    attributes: { temperature: INDOOR, heating_setpoint: HEATING, mode: MODE },
  },
  thermostat: {
    load: async () => (await thermostats()).thermostat,
    fixed: { thermostat: { controlSequenceOfOperation: 4, minSetpointDeadBand: 0, ...HEAT_LIMITS, ...COOL_LIMITS } },
    attributes: { temperature: INDOOR, heating_setpoint: HEATING, cooling_setpoint: COOLING, mode: MODE },
  },
  contact_sensor: detecting('contact_sensor', 'open', (isOpen) => !isOpen),
  leak_sensor: detecting('leak_sensor', 'wet', (isWet) => isWet),
  occupancy_sensor: {
    load: async () => (await sensors()).occupancy_sensor,
    fixed: { occupancySensing: { occupancySensorType: 0, occupancySensorTypeBitmap: { pir: true } } },
    attributes: {
      occupied: {
        cluster: 'occupancySensing',
        attribute: 'occupancy',
        toMatter: (isOccupied: boolean) => ({ occupied: isOccupied }),
        unknown: { occupied: false },
      },
    },
  },
  temperature_sensor: measuring('temperature_sensor', 'temperature', {
    cluster: 'temperatureMeasurement',
    toMatter: hundredths,
    limits: TEMPERATURES,
  }),
  humidity_sensor: measuring('humidity_sensor', 'humidity', {
    cluster: 'relativeHumidityMeasurement',
    toMatter: hundredths,
    limits: [0, 10_000],
  }),
  // MeasuredValue of Pressure Measurement is in tenths of a kilopascal, which is a hectopascal (2.4.5.1).
  pressure_sensor: measuring('pressure_sensor', 'pressure', {
    cluster: 'pressureMeasurement',
    toMatter: Math.round,
    limits: [-32_767, 32_767],
  }),
  light_sensor: measuring('light_sensor', 'illuminance', {
    cluster: 'illuminanceMeasurement',
    toMatter: illuminanceOf,
    limits: [1, 0xfffe],
  }),
};

/** Returns all attributes with which an endpoint of this type begins. */
export function initialState({ fixed = {}, attributes }: BridgedType, values: BridgedValues): EndpointState {
  const state: Record<string, Record<string, unknown>> = {};
  for (const [cluster, members] of Object.entries(fixed)) state[cluster] = { ...members };
  for (const [name, { cluster, attribute, toMatter, unknown }] of Object.entries(attributes)) {
    const value = values[name] ?? null;
    state[cluster] = { ...state[cluster], [attribute]: value === null ? unknown : toMatter(value as never) };
  }
  return state;
}

/** Returns the attributes of a cover that an ecosystem moved and that rests before its target, as one that was stopped by hand. */
export function restedState(current: EndpointState): EndpointState {
  const cover = current.windowCovering ?? {};
  return isMoving(cover) ? { windowCovering: { targetPositionLiftPercent100ths: cover.currentPositionLiftPercent100ths } } : {};
}

function isMoving({ operationalStatus }: Readonly<Record<string, unknown>>): boolean {
  return (objectOf(operationalStatus).lift ?? 0) !== 0;
}

/** Returns the attributes that change with the values. `current` has the attributes now. */
export function changedState({ attributes }: BridgedType, values: BridgedValues, current: EndpointState): EndpointState {
  const state: Record<string, Record<string, unknown>> = {};
  for (const [name, { cluster, attribute, toMatter, unknown, shows }] of Object.entries(attributes)) {
    const value = values[name];
    const before = current[cluster]?.[attribute];
    if (value === undefined || (value === null && unknown !== null)) continue;
    if (value !== null && typeof before === 'number' && shows?.(before as never, value as never)) continue;
    const after = value === null ? null : toMatter(value as never);
    if (after !== before) state[cluster] = { ...state[cluster], [attribute]: after };
  }
  return state;
}
