import { type HomeState, readingsOf } from '../api/home-store.ts';
import type { AreaInfo, DeviceView, ReadingView } from '../api/hub-types.ts';
import { type HomePreferences, inOwnOrder } from '../api/page-preferences.ts';
import { numberWords, withUnit } from '../components/formatting.ts';
import { text } from '../texts/text.ts';
import { type TileModel, tileOf } from './device-tile-model.ts';

/** A room and its devices. */
export interface AreaView {
  /** Name of the room; null for the devices without one. */
  readonly area: string | null;
  readonly name: string;
  /** Name of the floor, such as `Upstairs`; null if the room has none. */
  readonly floor: string | null;
  /** Short facts about the room, such as `21.5 °C` and `2 lights on`. */
  readonly facts: readonly string[];
  readonly tiles: readonly TileModel[];
  readonly groups: readonly DeviceGroup[];
}

/** The devices that one tap controls together, as `control_area` names them. */
export type GroupKind = 'lights' | 'covers' | 'climate';

/** The lights, covers or climate devices of a room or of the house. */
export interface DeviceGroup {
  readonly kind: GroupKind;
  readonly devices: readonly string[];
  /** True if at least one of them is on or open. A tap then turns all off, or closes all. */
  readonly isActive: boolean;
}

/** A device with its readings and its tile. */
export interface HomeDevice {
  readonly device: DeviceView;
  readonly readings: ReadonlyMap<string, ReadingView>;
  readonly tile: TileModel;
}

/** Returns the devices of the home with their tiles. Omits devices that have neither tools nor readings, such as bridges. */
export function homeDevices(state: HomeState): readonly HomeDevice[] {
  return state.devices
    .filter((device) => device.tools.length > 0 || device.readings.length > 0)
    .map((device) => homeDeviceOf(device, state));
}

/** What decides about the order of rooms and tiles. */
export interface HomeOrder {
  /** The rooms in the order of the hub. */
  readonly areas: readonly AreaInfo[];
  readonly own: HomePreferences;
}

/** Returns the rooms of the home: by floor, then in the person's own order, then in that of the hub. */
export function areasOf(state: HomeState, { areas: plan, own }: HomeOrder): readonly AreaView[] {
  const groups = Map.groupBy(homeDevices(state), ({ device }) => device.area);
  const areas = [...groups].map(([area, devices]) => areaOf(area, { devices, own: own.devices }));
  const inHubOrder = inOwnOrder(
    areas.toSorted(byName),
    plan.map(({ area }) => area),
    ({ name }) => name,
  );
  return inOwnOrder(inHubOrder, own.rooms, ({ name }) => name).toSorted((a, b) => floorPlace(a, plan) - floorPlace(b, plan));
}

/** The rooms of one floor. `name` is null for rooms without a floor, and undefined if the home has no floors to tell apart. */
export interface FloorView {
  readonly name: string | null | undefined;
  readonly areas: readonly AreaView[];
}

/** Returns the rooms by their floors, in their order. Less than two floors are not told apart. */
export function floorsOf(areas: readonly AreaView[]): readonly FloorView[] {
  const floors = Map.groupBy(areas, ({ floor }) => floor);
  if ([...floors.keys()].filter((floor) => floor !== null).length < 2) return [{ name: undefined, areas }];
  return [...floors].map(([name, rooms]) => ({ name, areas: rooms }));
}

/** Returns the devices of the person's favourites that are there, in the person's order. */
export function favouritesOf(devices: readonly HomeDevice[], favourites: readonly string[]): readonly TileModel[] {
  const chosen = devices.filter(({ device }) => favourites.includes(device.id)).map(({ tile }) => tile);
  return inOwnOrder(chosen, favourites, ({ id }) => id);
}

/** Returns the groups that devices form. Groups without a device are omitted. */
export function groupsOf(devices: readonly HomeDevice[]): readonly DeviceGroup[] {
  return GROUPS.flatMap(({ kind, includes, isActive }) => {
    const members = devices.filter(includes);
    if (members.length === 0) return [];
    return [{ kind, devices: members.map(({ device }) => device.id), isActive: members.some(isActive) }];
  });
}

interface GroupRule {
  readonly kind: GroupKind;
  readonly includes: (device: HomeDevice) => boolean;
  readonly isActive: (device: HomeDevice) => boolean;
}

const GROUPS: readonly GroupRule[] = [
  {
    kind: 'lights',
    includes: (one) => isLight(one) && one.tile.controls.some(({ kind }) => kind === 'switch'),
    isActive: isOn,
  },
  {
    kind: 'covers',
    includes: ({ device, tile }) => hasType(device, /Covering/) && tile.controls.some(({ kind }) => kind === 'buttons'),
    isActive: ({ readings }) => readings.get('open_percent')?.value !== 0,
  },
  {
    kind: 'climate',
    includes: ({ device, tile }) => hasType(device, /^(Thermostat|RoomAirConditioner|Fan|AirPurifier)$/) && tile.controls.length > 0,
    isActive: (one) =>
      isOn(one) || ['mode', 'fan_mode'].some((name) => !['off', undefined].includes(one.readings.get(name)?.value as string)),
  },
];

/** Returns whether a device is a lamp. */
export function isLight({ device }: Pick<HomeDevice, 'device'>): boolean {
  return hasType(device, /Light$/);
}

/** Returns whether a device reports that it is on. */
export function isOn({ readings }: Pick<HomeDevice, 'readings'>): boolean {
  return readings.get('is_on')?.value === true;
}

function hasType({ device_types: types }: DeviceView, pattern: RegExp): boolean {
  return types.some((type) => pattern.test(type));
}

function byName(a: AreaView, b: AreaView): number {
  return a.name.localeCompare(b.name);
}

/** Returns the place of a room's floor. The hub lists rooms floor by floor; rooms without a floor come later, devices without a room last. */
function floorPlace({ area, floor }: AreaView, plan: readonly AreaInfo[]): number {
  if (area === null) return plan.length + 2;
  if (floor === null) return plan.length + 1;
  const place = plan.findIndex((one) => one.floor === floor);
  return place < 0 ? plan.length : place;
}

function areaOf(
  area: string | null,
  { devices, own }: { readonly devices: readonly HomeDevice[]; readonly own: readonly string[] },
): AreaView {
  const tiles = devices.map(({ tile }) => tile).toSorted((a, b) => weight(b) - weight(a) || a.name.localeCompare(b.name));
  return {
    area,
    name: area ?? text('home.elsewhere'),
    floor: devices.find(({ device }) => device.floor)?.device.floor ?? null,
    facts: factsOf(devices),
    tiles: inOwnOrder(tiles, own, ({ id }) => id),
    groups: area === null ? [] : groupsOf(devices),
  };
}

/** Returns the weight of a tile. Heavier tiles come first. An alarm adds most, and up to three controls add a little each. */
function weight({ controls, tone }: TileModel): number {
  return (tone === 'alarm' ? 100 : 0) + Math.min(3, controls.length);
}

const cache = new WeakMap<DeviceView, HomeDevice>();

/** Returns a device with its readings and its tile. The result is cached until home-store.ts replaces the object of the device. */
function homeDeviceOf(device: DeviceView, state: HomeState): HomeDevice {
  const known = cache.get(device);
  if (known) return known;
  const readings = readingsOf(state, device.id);
  const made = { device, readings, tile: tileOf(device, readings) };
  cache.set(device, made);
  return made;
}

function factsOf(devices: readonly HomeDevice[]): readonly string[] {
  const isRoomAir = ({ device }: HomeDevice) => !/Cabinet|Refrigerator|Oven|Heater/.test(device.device_types.join(' '));
  const all = devices.filter(isRoomAir).flatMap(({ readings }) => [...readings.values()]);
  const mean = (kind: string): string | undefined => {
    const values = all.filter((reading) => reading.kind === kind && typeof reading.value === 'number');
    const unit = values[0]?.unit;
    const sum = values.reduce((total, { value }) => total + Number(value), 0);
    return values.length === 0 ? undefined : withUnit(numberWords(Math.round((sum / values.length) * 10) / 10), unit);
  };
  const lit = devices.filter((one) => isLight(one) && isOn(one)).length;
  const open = all.filter(({ kind, value }) => kind === 'contact' && value === true).length;
  return [
    mean('temperature'),
    mean('humidity'),
    lit > 0 ? text('home.lights_on', { count: lit }) : undefined,
    open > 0 ? text('home.open', { count: open }) : undefined,
  ].filter((fact) => fact !== undefined);
}
