/** The homes of the rows as devices and sensors with names. */

import { sha256Hex } from '../../src/codec/hashes.ts';
import type { Device } from '../../src/core/devices/device-model.ts';
import { type HomeNames, NO_HOME_NAMES, parseDeviceId } from '../../src/core/devices/device-names.ts';
import type { SensorInfo } from '../../src/core/devices/sensor-readings.ts';
import { type DeviceId, type SensorId, slug } from '../../src/core/ids.ts';
import type { SearchedHome } from '../../src/tools/search/home-search.ts';
import type { EntityHome } from './search-rows.ts';

/** Domains of the rows and the device types that such things have in Matter; other domains go by their own name. */
const TYPES: Readonly<Record<string, string>> = {
  light: 'DimmableLight',
  switch: 'MountedOnOffControl',
  'switch/outlet': 'OnOffPlugInUnit',
  climate: 'Thermostat',
  cover: 'WindowCovering',
  'cover/garage': 'Closure',
  'cover/gate': 'Closure',
  'cover/door': 'Closure',
  fan: 'Fan',
  lock: 'DoorLock',
  media_player: 'Speaker',
  'media_player/tv': 'BasicVideoPlayer',
  vacuum: 'RoboticVacuumCleaner',
  valve: 'WaterValve',
  camera: 'Camera',
  water_heater: 'WaterHeater',
  button: 'GenericSwitch',
};
const READ_DOMAINS = new Set(['sensor', 'binary_sensor']);

type RowEntity = EntityHome['entities'][number];

/** A home of the rows, and which of its entities each id of the rows is. */
export interface ThingHome {
  readonly home: SearchedHome;
  readonly names: HomeNames;
  /** Id in the rows → id of the device or sensor. */
  readonly idOf: ReadonlyMap<string, string>;
}

/** Each thing of a home that one acts on becomes a device; each that is only read, a sensor. */
export function thingHome(rows: EntityHome): ThingHome {
  const areaOf = new Map(rows.areas.map(({ id, name }) => [id, name]));
  const devices = rows.entities.filter((entity) => !READ_DOMAINS.has(domainOf(entity))).map((entity) => deviceOf(entity, areaOf));
  const sensors = rows.entities.filter((entity) => READ_DOMAINS.has(domainOf(entity))).map((entity) => sensorOf(entity, rows, areaOf));
  const ids = rows.entities.map(
    (entity) => [entity.id, READ_DOMAINS.has(domainOf(entity)) ? sensorId(entity) : deviceId(entity.id)] as const,
  );
  const floorOf = new Map(rows.areas.map(({ name, floor }) => [name, floor]));
  return { home: { devices, sensors }, names: floorNames(floorOf), idOf: new Map(ids) };
}

function floorNames(floorOf: ReadonlyMap<string, string | undefined>): HomeNames {
  return {
    ...NO_HOME_NAMES,
    areaNames: (area) => {
      const floor = floorOf.get(area);
      return { aliases: [], ...(floor !== undefined && { floor }) };
    },
  };
}

function deviceOf(entity: RowEntity, areaOf: ReadonlyMap<string, string>): Device {
  const area = entity.area === undefined ? undefined : areaOf.get(entity.area);
  const domain = domainOf(entity);
  const kind = classOf(entity);
  const own = domain.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
  return {
    id: deviceId(entity.id),
    name: entity.name,
    ...(area !== undefined && { area }),
    kind: 'node',
    nodeId: '1',
    vendor: { id: 0xfff1, name: '' },
    product: { id: 0x8000, name: '' },
    deviceTypes: [TYPES[`${domain}/${kind}`] ?? TYPES[domain] ?? own],
    reachability: 'reachable',
    lastSeenMs: 0,
    isSleepy: false,
  };
}

function sensorOf(entity: RowEntity, rows: EntityHome, areaOf: ReadonlyMap<string, string>): SensorInfo {
  const area = entity.area === undefined ? undefined : areaOf.get(entity.area);
  const device = rows.devices.find(({ id }) => id === entity.device)?.name ?? '';
  const kind = classOf(entity);
  return {
    id: sensorId(entity),
    device: (device === '' ? deviceId(entity.id) : device) as DeviceId,
    name: kind,
    kind,
    unit: '',
    title: entity.name,
    ...(area !== undefined && { area }),
  };
}

function domainOf({ id }: RowEntity): string {
  return id.split('.')[0] ?? '';
}

/** `sensor.SensorDeviceClass.ENERGY` is energy. */
function classOf({ attributes }: RowEntity): string {
  return (attributes?.device_class ?? '').split('.').at(-1)?.toLowerCase() ?? '';
}

function deviceId(id: string): DeviceId {
  return parseDeviceId(`${slug(id, '-').slice(0, 50)}-${sha256Hex(id).slice(0, 6)}`);
}

function sensorId({ id }: RowEntity): SensorId {
  return `${deviceId(id)}/value` as SensorId;
}
