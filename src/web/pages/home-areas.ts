import { type HomeState, readingsOf } from '../api/home-store.ts';
import type { DeviceView, ReadingView } from '../api/hub-types.ts';
import { numberWords } from '../components/formatting.ts';
import { type TileModel, tileOf } from './device-tile-model.ts';

/** A room and its devices. */
export interface AreaView {
  readonly name: string;
  /** Name of the floor, such as `Upstairs`; null if the room has none. */
  readonly floor: string | null;
  /** Short facts about the room, such as `21.5 °C` and `2 lights on`. */
  readonly facts: readonly string[];
  readonly tiles: readonly TileModel[];
}

const ELSEWHERE = 'Elsewhere';

/** Returns the rooms of the home, sorted by floor and name. Omits devices that have neither tools nor readings, such as bridges. */
export function areasOf(state: HomeState): readonly AreaView[] {
  const shown = state.devices.filter((device) => device.tools.length > 0 || device.readings.length > 0);
  const groups = Map.groupBy(shown, (device) => device.area ?? ELSEWHERE);
  return [...groups].map(([name, devices]) => areaOf(name, devices, state)).toSorted(byFloor);
}

/** Compares rooms by floor, then by name. Rooms without a floor come later. The group of devices without a room comes last. */
function byFloor(a: AreaView, b: AreaView): number {
  const last = (area: AreaView) => (area.name === ELSEWHERE ? 2 : Number(area.floor === null));
  return last(a) - last(b) || (a.floor ?? '').localeCompare(b.floor ?? '') || a.name.localeCompare(b.name);
}

function areaOf(name: string, devices: readonly DeviceView[], state: HomeState): AreaView {
  const own = devices.map((device) => pairOf(device, state));
  const tiles = own.map(({ tile }) => tile).toSorted((a, b) => weight(b) - weight(a) || a.name.localeCompare(b.name));
  return { name, floor: devices.find(({ floor }) => floor)?.floor ?? null, facts: factsOf(own), tiles };
}

/** Returns the weight of a tile. Heavier tiles come first. An alarm adds most, and up to three controls add a little each. */
function weight({ controls, tone }: TileModel): number {
  return (tone === 'alarm' ? 100 : 0) + Math.min(3, controls.length);
}

interface Pair {
  readonly device: DeviceView;
  readonly readings: ReadonlyMap<string, ReadingView>;
  readonly tile: TileModel;
}

const pairs = new WeakMap<DeviceView, Pair>();

/** Returns a device with its readings and its tile. The result is cached until home-store.ts replaces the object of the device. */
function pairOf(device: DeviceView, state: HomeState): Pair {
  const known = pairs.get(device);
  if (known) return known;
  const readings = readingsOf(state, device.id);
  const pair = { device, readings, tile: tileOf(device, readings) };
  pairs.set(device, pair);
  return pair;
}

function factsOf(pairs: readonly Pair[]): readonly string[] {
  const isRoomAir = ({ device }: Pair) => !/Cabinet|Refrigerator|Oven|Heater/.test(device.device_types.join(' '));
  const all = pairs.filter(isRoomAir).flatMap(({ readings }) => [...readings.values()]);
  const mean = (kind: string): string | undefined => {
    const values = all.filter((reading) => reading.kind === kind && typeof reading.value === 'number');
    const unit = values[0]?.unit ?? '';
    const sum = values.reduce((total, { value }) => total + Number(value), 0);
    return values.length === 0 ? undefined : `${numberWords(Math.round((sum / values.length) * 10) / 10)} ${unit}`;
  };
  const lit = pairs.filter(
    ({ device, readings }) => device.device_types.some((type) => type.endsWith('Light')) && readings.get('is_on')?.value === true,
  ).length;
  const open = all.filter(({ kind, value }) => kind === 'contact' && value === true).length;
  return [
    mean('temperature'),
    mean('humidity'),
    lit > 0 ? `${lit} ${lit === 1 ? 'light' : 'lights'} on` : undefined,
    open > 0 ? `${open} open` : undefined,
  ].filter((fact) => fact !== undefined);
}

/** Returns one sentence about the whole home. */
export function summaryOf(state: HomeState): string {
  const lights = state.devices.filter((device) => device.device_types.some((type) => type.endsWith('Light')));
  const lit = lights.filter((device) => readingsOf(state, device.id).get('is_on')?.value === true).length;
  const away = state.devices.filter(({ reachability }) => reachability === 'unreachable').length;
  const words = lights.length === 0 ? deviceCount(state) : lightWords(lit);
  return away === 0 ? `${words}.` : `${words}, ${away} ${away === 1 ? 'device does' : 'devices do'} not answer.`;
}

function lightWords(lit: number): string {
  if (lit === 0) return 'All lights are off';
  return `${lit} ${lit === 1 ? 'light is' : 'lights are'} on`;
}

function deviceCount({ devices }: HomeState): string {
  if (devices.length === 0) return 'Nothing is here yet';
  return devices.length === 1 ? 'One device' : `${devices.length} devices`;
}
