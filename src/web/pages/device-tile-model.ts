import type { Json } from '../../core/json.ts';
import type { DeviceView, ReadingView } from '../api/hub-types.ts';
import { capital, humanWords, readingName, valueWords } from '../components/formatting.ts';
import type { IconName } from '../components/icon.ts';
import { controlsOf, type TileControl, type TileSource } from './device-tile-controls.ts';

/** The colour of a tile. `glow`: a lamp or plug is on. `alarm`: an alarm is active. `cool`: air moves, or something is open or unlocked. */
type TileTone = 'plain' | 'glow' | 'alarm' | 'cool';

/** The content of a device's tile. */
export interface TileModel {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly icon: IconName;
  readonly tone: TileTone;
  /** The main value, such as `On · 40 %`, `21.5 °C` or `Locked`. */
  readonly state: string;
  /** At most three further values, such as `Battery 80 %`. */
  readonly details: readonly string[];
  readonly isReachable: boolean;
  readonly controls: readonly TileControl[];
}

/** The kinds of readings that are alarms. The values are the words for an active alarm. */
const ALARMS: Readonly<Record<string, string>> = {
  leak: 'Water leak',
  freeze: 'Frost',
  smoke: 'Smoke',
  carbon_monoxide_alarm: 'Carbon monoxide',
  fault: 'Fault',
  door_alarm: 'Door open too long',
};
/** The kinds of readings that can be the main value of a tile. The first kind that a device has is used. */
const MAIN_KINDS = [
  'on_off',
  'lock',
  'cover_position',
  'valve',
  'temperature',
  'fan_mode',
  'operational_state',
  'charger',
  'occupancy',
  'contact',
  'air_quality',
  'power',
];
/** The words for true and for false, for some kinds of readings. */
const YES_NO: Readonly<Record<string, readonly [yes: string, no: string]>> = {
  contact: ['Open', 'Closed'],
  occupancy: ['Somebody is there', 'Nobody there'],
  rain: ['It rains', 'No rain'],
  pump_running: ['Running', 'Stopped'],
};
const CALM: readonly Json[] = [false, null, 'normal', 'ok', 'no_error'];

const TYPE_ICONS: readonly (readonly [RegExp, IconName])[] = [
  [/Light(?!Sensor)/, 'bulb'],
  [/Plug|Outlet|Mounted/, 'plug'],
  [/Lock/, 'lock'],
  [/Covering|Closure/, 'blind'],
  [/Thermostat|AirConditioner|Heat|Boiler/, 'thermostat'],
  [/Fan|Purifier|Hood/, 'fan'],
  [/Humidity|Leak|Rain|Flow|Freeze|Water(?!Valve)/, 'drop'],
  [/Valve|Pump/, 'valve'],
  [/TemperatureSensor|Cabinet|Refrigerator/, 'thermostat'],
  [/LightSensor/, 'sun'],
  [/Pressure/, 'gauge'],
  [/AirQuality/, 'leaf'],
  [/Occupancy|Motion/, 'motion'],
  [/Contact/, 'door'],
  [/Smoke/, 'smoke'],
  [/Solar/, 'sun'],
  [/Battery/, 'battery'],
  [/Evse/, 'car'],
  [/Electrical|Energy|Meter/, 'bolt'],
  [/Video|Cast|Television/, 'play'],
  [/Speaker/, 'speaker'],
  [/Switch/, 'cube'],
];

/** Returns the content of a device's tile. */
export function tileOf(device: DeviceView, readings: ReadonlyMap<string, ReadingView>): TileModel {
  const source: TileSource = { device, readings, actions: actionsOf(device) };
  const alarms = alarmsOf(source);
  const isOn = source.readings.get('is_on')?.value === true;
  const main = mainReading(source);
  return {
    id: device.id,
    name: device.name,
    aliases: device.aliases ?? [],
    icon: iconOf(source),
    tone: alarms.length > 0 ? 'alarm' : toneOf(source, isOn),
    state: alarms.join(', ') || stateOf(source, main),
    details: detailsOf(source, main),
    isReachable: device.reachability !== 'unreachable',
    controls: controlsOf(source),
  };
}

function alarmsOf({ readings }: TileSource): readonly string[] {
  return [...readings.values()]
    .filter(({ kind, value }) => kind in ALARMS && !CALM.includes(value))
    .map(({ kind }) => ALARMS[kind] ?? kind);
}

function toneOf({ device, readings }: TileSource, isOn: boolean): TileTone {
  const speed = readings.get('speed')?.value;
  if (typeof speed === 'number' && speed > 0) return 'cool';
  if (readings.get('lock_state')?.value === 'unlocked' || readings.get('is_open')?.value === true) return 'cool';
  return isOn && /Light|Plug/.test(device.device_types.join(' ')) ? 'glow' : 'plain';
}

function iconOf({ device, readings }: TileSource): IconName {
  if (readings.get('lock_state')?.value === 'unlocked') return 'unlock';
  const types = device.device_types.join(' ');
  return TYPE_ICONS.find(([pattern]) => pattern.test(types))?.[1] ?? 'cube';
}

function mainReading({ readings }: TileSource): ReadingView | undefined {
  const all = [...readings.values()];
  return MAIN_KINDS.map((kind) => all.find((reading) => reading.kind === kind)).find((found) => found !== undefined) ?? all[0];
}

function stateOf({ readings }: TileSource, main: ReadingView | undefined): string {
  if (!main) return '';
  const { kind, value } = main;
  if (value === null) return 'Not known';
  if (kind === 'on_off') return onOffWords(readings, value === true);
  if (kind === 'cover_position') return coverWords(value);
  return withUnit(main);
}

function onOffWords(readings: ReadonlyMap<string, ReadingView>, isOn: boolean): string {
  if (!isOn) return 'Off';
  const brightness = readings.get('brightness')?.value;
  return typeof brightness === 'number' ? `On · ${valueWords(brightness)} %` : 'On';
}

function coverWords(value: Json): string {
  if (value === 100) return 'Open';
  return value === 0 ? 'Closed' : `${valueWords(value)} % open`;
}

/** Returns a reading in words, with its unit. */
export function withUnit({ kind, value, unit }: Pick<ReadingView, 'kind' | 'value' | 'unit'>): string {
  if (typeof value === 'boolean' && kind in ALARMS) return value ? (ALARMS[kind] ?? kind) : 'All well';
  const words = YES_NO[kind];
  if (typeof value === 'boolean' && words) return value ? words[0] : words[1];
  const text = capital(valueWords(value));
  return unit === '' || value === null ? text : `${text} ${unit}`;
}

/** Returns at most three values besides the main value. If a value has a unit, it is shown with the name of its reading. */
function detailsOf({ readings }: TileSource, main: ReadingView | undefined): readonly string[] {
  const shown = new Set([
    'is_on',
    'brightness',
    'door_state',
    'temperature',
    'humidity',
    'co2',
    'pm25',
    'power',
    'energy',
    'battery',
    'heating_setpoint',
    'mode',
    'tilt_percent',
  ]);
  return [...readings.values()]
    .filter((reading) => reading.id !== main?.id && shown.has(reading.name) && reading.value !== null)
    .filter(({ name }) => main?.kind !== 'on_off' || name !== 'brightness')
    .slice(0, 3)
    .map((reading) =>
      reading.unit === '' ? capital(humanWords(String(reading.value))) : `${readingName(reading.name)} ${withUnit(reading)}`,
    );
}

/** Returns the ids of a device's tools. The keys are the names of their actions, such as `turn_on`. */
export function actionsOf(device: Pick<DeviceView, 'id' | 'name' | 'tools'>): ReadonlyMap<string, string> {
  const slugs = [slugOf(device.name), slugOf(device.id)];
  return new Map(device.tools.map((tool) => [actionOf(tool, slugs), tool]));
}

/**
 * Returns the action in a tool's name. The name has the form `matter:<slug>_<action>`. If several devices have the same slug, six hex
 * digits and `_` come before the action. If the name was too long, it was cut and ends with `_` and six hex digits.
 */
function actionOf(tool: string, slugs: readonly string[]): string {
  const name = tool.replace(/^[^:]*:/, '').replace(/@.*$/, '');
  const whole = slugs.find((slug) => name.startsWith(`${slug}_`));
  if (whole !== undefined) return name.slice(whole.length + 1).replace(/^[0-9a-f]{6}_(?=.)/, '');
  const cut = Math.max(...slugs.map((slug) => sharedLength(name, slug)));
  return name
    .slice(cut)
    .replace(/^_/, '')
    .replace(/_[0-9a-f]{6}$/, '');
}

function slugOf(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
