import type { DeviceView, ReadingView } from '../api/hub-types.ts';
import type { IconName } from '../components/icon.ts';
import { controlsOf } from './device-tile-controls.ts';
import { alarmsOf, detailsOf, isBatteryLow, stateWords } from './device-tile-words.ts';
import type { TileControl, TileSource } from './tile-control.ts';

/**
 * The colour of a tile. `glow`: a lamp or plug is on. `alarm`: an alarm is active. `cool`: something runs, or something is open or
 * unlocked.
 */
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
  readonly isBatteryLow: boolean;
  readonly controls: readonly TileControl[];
}

/** The kinds of readings that can be the main value of a tile. The first kind that a device has is used. */
const MAIN_KINDS = [
  'lock',
  'operational_state',
  'charger',
  'on_off',
  'cover_position',
  'closure_position',
  'valve',
  'alarm',
  'temperature',
  'fan_mode',
  'occupancy',
  'contact',
  'air_quality',
  'battery',
  'power',
];

const TYPE_ICONS: readonly (readonly [RegExp, IconName])[] = [
  [/Light(?!Sensor)/, 'bulb'],
  [/Plug|Outlet|Mounted/, 'plug'],
  [/Lock/, 'lock'],
  [/Covering|Closure/, 'blind'],
  [/RoboticVacuum/, 'robot'],
  [/Laundry|Dishwasher/, 'washer'],
  [/Oven|Cook(?!erHood)|Microwave/, 'oven'],
  [/WaterHeater/, 'drop'],
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
/** Values that mean that a device runs, or that something is open or unlocked. */
const BUSY = [
  ['operational_state', 'running'],
  ['charger_state', 'plugged_in_charging'],
  ['lock_state', 'unlocked'],
  ['is_open', true],
  ['valve_state', 'open'],
  ['boost_state', 'active'],
] as const;

/** Returns the content of a device's tile. */
export function tileOf(device: DeviceView, readings: ReadonlyMap<string, ReadingView>): TileModel {
  const source: TileSource = { device, readings, actions: actionsOf(device) };
  const alarms = alarmsOf(readings);
  const main = mainReading(source);
  return {
    id: device.id,
    name: device.name,
    aliases: device.aliases ?? [],
    icon: iconOf(source),
    tone: alarms.length > 0 ? 'alarm' : toneOf(source),
    state: alarms.join(', ') || stateWords(source, main),
    details: detailsOf(source, main),
    isReachable: device.reachability !== 'unreachable',
    isBatteryLow: isBatteryLow(readings),
    controls: controlsOf(source),
  };
}

function toneOf({ device, readings }: TileSource): TileTone {
  const speed = readings.get('speed')?.value;
  if (typeof speed === 'number' && speed > 0) return 'cool';
  if (BUSY.some(([name, value]) => readings.get(name)?.value === value)) return 'cool';
  const isOn = readings.get('is_on')?.value === true;
  return isOn && /Light|Plug|Video|Pump|Conditioner/.test(device.device_types.join(' ')) ? 'glow' : 'plain';
}

function iconOf({ device, readings }: TileSource): IconName {
  if (readings.get('lock_state')?.value === 'unlocked') return 'unlock';
  // The cabinet of an oven has the type of every cabinet.
  if (readings.has('oven_mode')) return 'oven';
  const types = device.device_types.join(' ');
  return TYPE_ICONS.find(([pattern]) => pattern.test(types))?.[1] ?? 'cube';
}

function mainReading({ readings }: TileSource): ReadingView | undefined {
  const all = [...readings.values()];
  return MAIN_KINDS.map((kind) => all.find((reading) => reading.kind === kind)).find((found) => found !== undefined) ?? all[0];
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
