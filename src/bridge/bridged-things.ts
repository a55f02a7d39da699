import { gpioIds } from '../core/devices/gpio-ids.ts';
import { BRIDGED_KINDS, type BridgedKind, type BridgedValues } from '../core/devices/matter-bridge.ts';
import type { ReadingValue } from '../core/devices/sensor-readings.ts';
import { isJsonObject, type Json, type JsonObject, textsOf } from '../core/json.ts';

/** What carries out commands to a thing: nothing (a sensor), a GPIO output, a scene, or the tools of a device of another hub. */
const ACTORS = ['nothing', 'output', 'scene', 'device'] as const;
type Actor = (typeof ACTORS)[number];

/** A thing of this hub or of another one that a bridge can present, as one Matter device. */
export interface BridgedThing {
  /** Identifies the thing on this hub: `sensor/<id>`, `output/<id>`, `scene/<id>`, or the same after `<hub id>/`, and `device/<id>`. */
  readonly key: string;
  readonly kind: BridgedKind;
  readonly name: string;
  readonly actor: Actor;
  /** Id of the device, output or scene that commands go to. */
  readonly target: string;
  /** Id of the other hub that has the thing. */
  readonly hub?: string;
  /** Id of the device that has the sensors; absent for a scene. */
  readonly device?: string;
  /** The sensor for each value of the thing. */
  readonly sensors: Readonly<Record<string, string>>;
  /** What commands to the thing need. */
  readonly permissions: readonly string[];
  /** True if a command to it can be dangerous, as with a lock. */
  readonly isDangerous: boolean;
}

/** A sensor as its hub describes it. */
export interface KnownSensor {
  readonly id: string;
  readonly kind: string;
  readonly unit: string;
  readonly title: string;
}

/** A device of another hub, with its sensors. `type` is the announced one, such as `dimmable_light`. */
export interface RemoteDevice {
  readonly hub: string;
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly sensors: readonly KnownSensor[];
}

/** The kind and the value for each kind of sensor. Sensors of other kinds have no device type in Matter that ecosystems show. */
const SENSOR_KINDS: Readonly<Record<string, { readonly kind: BridgedKind; readonly value: string; readonly unit: string }>> = {
  temperature: { kind: 'temperature_sensor', value: 'temperature', unit: '°C' },
  humidity: { kind: 'humidity_sensor', value: 'humidity', unit: '%' },
  pressure: { kind: 'pressure_sensor', value: 'pressure', unit: 'hPa' },
  illuminance: { kind: 'light_sensor', value: 'illuminance', unit: 'lx' },
  contact: { kind: 'contact_sensor', value: 'open', unit: '' },
  leak: { kind: 'leak_sensor', value: 'wet', unit: '' },
  occupancy: { kind: 'occupancy_sensor', value: 'occupied', unit: '' },
};

/** The values of a device for each kind of its sensors. `ofName` distinguishes sensors of one kind by the end of their id. */
const DEVICE_VALUES: readonly { readonly kind: string; readonly value: string; readonly ofName?: string }[] = [
  { kind: 'on_off', value: 'on' },
  { kind: 'brightness', value: 'brightness' },
  { kind: 'color_temperature', value: 'color_temperature' },
  { kind: 'cover_position', value: 'open_percent' },
  { kind: 'lock', value: 'locked' },
  { kind: 'thermostat_mode', value: 'mode' },
  { kind: 'temperature', value: 'temperature' },
  { kind: 'setpoint', value: 'heating_setpoint', ofName: 'heating_setpoint' },
  { kind: 'setpoint', value: 'cooling_setpoint', ofName: 'cooling_setpoint' },
];

/** The kinds of thing for each type of device, the best one first, with the values that the kind needs. */
const DEVICE_KINDS: readonly {
  readonly types: readonly string[];
  readonly kinds: readonly { readonly kind: BridgedKind; readonly values: readonly string[] }[];
}[] = [
  {
    types: ['on_off_light', 'dimmable_light', 'color_temperature_light', 'extended_color_light'],
    kinds: [
      { kind: 'color_temperature_light', values: ['on', 'brightness', 'color_temperature'] },
      { kind: 'dimmable_light', values: ['on', 'brightness'] },
      { kind: 'on_off_light', values: ['on'] },
    ],
  },
  {
    types: ['on_off_plug_in_unit', 'dimmable_plug_in_unit', 'mounted_on_off_control', 'mounted_dimmable_load_control'],
    kinds: [{ kind: 'plug', values: ['on'] }],
  },
  { types: ['window_covering'], kinds: [{ kind: 'cover', values: ['open_percent'] }] },
  { types: ['door_lock'], kinds: [{ kind: 'lock', values: ['locked'] }] },
  {
    types: ['thermostat'],
    kinds: [
      { kind: 'thermostat', values: ['temperature', 'heating_setpoint', 'cooling_setpoint', 'mode'] },
      { kind: 'heating_thermostat', values: ['temperature', 'heating_setpoint', 'mode'] },
    ],
  },
];

/** Returns a sensor as a thing; undefined if no device type fits it. `hub` is the other hub that has it. */
export function sensorThing({ id, kind, unit, title }: KnownSensor, device: string, hub?: string): BridgedThing | undefined {
  const known = Object.hasOwn(SENSOR_KINDS, kind) ? SENSOR_KINDS[kind] : undefined;
  if (known?.unit !== unit) return undefined;
  return {
    key: keyOf('sensor', id, hub),
    kind: known.kind,
    name: title,
    actor: 'nothing',
    target: id,
    ...(hub !== undefined && { hub }),
    device,
    sensors: { [known.value]: id },
    permissions: [],
    isDangerous: false,
  };
}

/** Returns an output of the board as a plug that is not dangerous. */
export function outputThing({ id, title, device }: OutputSensor, output: string): BridgedThing {
  return {
    key: keyOf('output', output),
    kind: 'plug',
    name: title,
    actor: 'output',
    target: output,
    device,
    sensors: { on: id },
    permissions: [gpioIds(output).permission],
    isDangerous: false,
  };
}

type OutputSensor = Pick<KnownSensor, 'id' | 'title'> & { readonly device: string };

/** Returns a scene as a plug that turns off by itself. */
export function sceneThing({
  id,
  name,
  devices,
}: {
  readonly id: string;
  readonly name: string;
  readonly devices: readonly string[];
}): BridgedThing {
  return {
    key: keyOf('scene', id),
    kind: 'plug',
    name,
    actor: 'scene',
    target: id,
    sensors: {},
    permissions: devices.map((device) => `device:control:${device}`),
    isDangerous: false,
  };
}

/** Returns a device of another hub as one thing, or each of its sensors. Returns no things if no device type fits. */
export function deviceThings(device: RemoteDevice): readonly BridgedThing[] {
  const { hub, id, name, type, sensors } = device;
  const values = valuesOf(sensors);
  const kinds = DEVICE_KINDS.find(({ types }) => types.includes(type))?.kinds ?? [];
  const fitting = kinds.find((kind) => kind.values.every((value) => Object.hasOwn(values, value)));
  if (!fitting) return kinds.length > 0 ? [] : sensors.flatMap((sensor) => sensorThing(sensor, id, hub) ?? []);
  return [
    {
      key: keyOf('device', id, hub),
      kind: fitting.kind,
      name,
      actor: 'device',
      target: id,
      hub,
      device: id,
      sensors: Object.fromEntries(fitting.values.map((value) => [value, values[value] ?? ''])),
      permissions: [`device:control:${id}`],
      isDangerous: fitting.kind === 'lock',
    },
  ];
}

function valuesOf(sensors: readonly KnownSensor[]): Readonly<Record<string, string>> {
  const found = DEVICE_VALUES.flatMap(({ kind, value, ofName }) => {
    const sensor = sensors.find((one) => one.kind === kind && (ofName === undefined || one.id.endsWith(ofName)));
    return sensor ? [[value, sensor.id] as const] : [];
  });
  return Object.fromEntries(found);
}

function keyOf(what: string, id: string, hub?: string): string {
  return hub === undefined ? `${what}/${id}` : `${hub}/${what}/${id}`;
}

/** Returns the values of a thing that a new reading of one of its sensors changes. */
export function valuesFrom({ sensors }: Pick<BridgedThing, 'sensors'>, sensor: string, reading: Json): BridgedValues {
  const names = Object.entries(sensors).flatMap(([name, id]) => (id === sensor ? [name] : []));
  return Object.fromEntries(names.map((name) => [name, valueFrom(name, reading)]));
}

/** The values that an ecosystem can be shown as unknown. Matter has no such state of the others. */
export const CAN_BE_UNKNOWN: ReadonlySet<string> = new Set([
  'temperature',
  'humidity',
  'pressure',
  'illuminance',
  'open_percent',
  'locked',
]);

const BOOLEANS: ReadonlySet<string> = new Set(['on', 'open', 'wet', 'occupied']);

function valueFrom(name: string, reading: Json): ReadingValue | null {
  if (name === 'locked') return typeof reading === 'string' ? reading === 'locked' : null;
  if (BOOLEANS.has(name)) return reading === null ? null : reading === true || reading === 1;
  if (name === 'mode') return typeof reading === 'string' ? reading : null;
  return typeof reading === 'number' && Number.isFinite(reading) ? reading : null;
}

/** A call of a tool that carries out a command. */
export interface ThingCall {
  readonly tool: string;
  readonly params: JsonObject;
  /** Id of the only hub that may run the call. */
  readonly hub?: string;
}

/** Returns the call for a command to a thing; undefined if the command does nothing, as turning off a scene. */
export function callFor({ actor, target, hub }: BridgedThing, { action, params }: Action): ThingCall | undefined {
  switch (actor) {
    case 'nothing':
      return undefined;
    case 'scene':
      return action === 'turn_on' ? { tool: 'core:run_scene', params: { scene: target } } : undefined;
    case 'output':
      return { tool: gpioIds(target).tool(action), params };
    case 'device':
      return { tool: 'core:control_device', params: { device_id: target, command: action, params }, ...(hub !== undefined && { hub }) };
  }
}

interface Action {
  readonly action: string;
  readonly params: JsonObject;
}

/** Reads a stored thing. Returns undefined if the value is none. */
export function parseThing(value: Json | undefined): BridgedThing | undefined {
  if (!isJsonObject(value)) return undefined;
  const { key, kind, name, actor, target, sensors, permissions, isDangerous, hub, device } = value;
  const isWhole = typeof key === 'string' && typeof name === 'string' && typeof target === 'string';
  const known = ACTORS.find((one) => one === actor);
  const knownKind = BRIDGED_KINDS.find((one) => one === kind);
  if (!isWhole || known === undefined || knownKind === undefined || !isJsonObject(sensors)) return undefined;
  return {
    key,
    kind: knownKind,
    name,
    actor: known,
    target,
    ...(typeof hub === 'string' && { hub }),
    ...(typeof device === 'string' && { device }),
    sensors: Object.fromEntries(Object.entries(sensors).map(([value, id]) => [value, String(id)])),
    permissions: textsOf(permissions),
    isDangerous: isDangerous === true,
  };
}
