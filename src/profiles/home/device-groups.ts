import type { RemoteGroups, ResourceGroup, ResourceGroups } from '../../core/auth/permission.ts';
import { areNamesakes, type NamedDevice } from '../../core/devices/action-descriptions.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { areaKey, type DeviceFacts } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { MeshView } from '../../core/mesh-view.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { RemoteTools } from '../../tools/registry/tool-directory.ts';

const NO_TYPES: ReadonlySet<string> = new Set();

/** Which devices a type or an area has now: what `device:control:@type/light` and the owner's rules go by. */
export class LocalDeviceGroups implements ResourceGroups, DeviceFacts {
  readonly #directory: Pick<DeviceDirectory, 'get' | 'list' | 'describe'>;
  readonly #areas: Pick<DeviceFacts, 'areaMeant'>;
  // Asked at every check of a permission. A device's list of types is a new one when it changes.
  readonly #typesOfList = new WeakMap<readonly string[], ReadonlySet<string>>();
  readonly #keyOfArea = new Map<string, string>();

  /** `areas` knows which of them were renamed. */
  constructor(directory: Pick<DeviceDirectory, 'get' | 'list' | 'describe'>, areas: Pick<DeviceFacts, 'areaMeant'>) {
    this.#directory = directory;
    this.#areas = areas;
  }

  /** A resource is a device's id, or `<device>/<reading>`. */
  isMember(resource: string, { by, name }: ResourceGroup): boolean {
    const end = resource.indexOf('/');
    const device = end < 0 ? resource : resource.slice(0, end);
    return by === 'type' ? this.typesOf(device).has(name) : this.areaOf(device) === this.areaMeant(name);
  }

  areaOf(device: string): string | undefined {
    const area = this.#device(device)?.area;
    if (area === undefined) return undefined;
    const known = this.#keyOfArea.get(area) ?? areaKey(area);
    this.#keyOfArea.set(area, known);
    return this.areaMeant(known);
  }

  areaMeant(key: string): string {
    return this.#areas.areaMeant(key);
  }

  namedDevice(device: string): NamedDevice | undefined {
    const found = this.#device(device);
    if (!found) return undefined;
    const { id, name, area } = found;
    const parts = this.#directory.describe(id)?.endpoints.length;
    const sharesName = this.#directory.list().some((other) => areNamesakes(other, found));
    return {
      id,
      name,
      ...(area !== undefined && { area }),
      ...(parts !== undefined && { parts }),
      ...(sharesName && { shares_name: true }),
    };
  }

  typesOf(device: string): ReadonlySet<string> {
    const names = this.#device(device)?.deviceTypes;
    if (!names) return NO_TYPES;
    const known = this.#typesOfList.get(names);
    if (known) return known;
    const types = typesAndFamilies(names);
    this.#typesOfList.set(names, types);
    return types;
  }

  /** Text that is no device's id finds no device. */
  #device(id: string): Device | undefined {
    return this.#directory.get(id as DeviceId);
  }
}

/** The part of the mesh that tells of devices. */
interface RemoteDeviceSource {
  readonly view: Pick<MeshView, 'peers'>;
  readonly tools: Pick<RemoteTools, 'all'>;
}

interface AnnouncedGroups {
  readonly types: ReadonlySet<string>;
  readonly area?: string;
}

/** Hub → device → what it tells of it. */
type GroupsByHub = ReadonlyMap<string, Map<string, AnnouncedGroups>>;

const NO_HUBS: GroupsByHub = new Map();
/** Of a hub that keeps its list of devices to itself. */
const TYPES_UNKNOWN: ReadonlySet<string> = new Set();

/**
 * Types and areas of the devices of other hubs: the type as the hub announces the device, the area as the tools of the device
 * say. What a hub tells is about its own devices alone, whatever ids it gives them.
 */
export class RemoteDeviceGroups implements RemoteGroups {
  readonly #news: () => RemoteDeviceSource | undefined;
  /** Told as long as the list of tools is the same, which every announcement replaces. */
  #told: { readonly tools: readonly RegisteredTool[]; readonly hubs: GroupsByHub } | undefined;

  constructor(news: () => RemoteDeviceSource | undefined) {
    this.#news = news;
  }

  /** A resource is a device's id, or `<device>/<reading>`. */
  isMember(resource: string, { by, name }: ResourceGroup, hubs: readonly string[]): boolean {
    const device = resource.split('/', 1)[0] ?? resource;
    const told = this.#current();
    return hubs.some((hub) => {
      const facts = told.get(hub)?.get(device);
      return by === 'type' ? (facts?.types.has(name) ?? false) : facts?.area === name;
    });
  }

  #current(): GroupsByHub {
    const news = this.#news();
    if (!news) return NO_HUBS;
    const tools = news.tools.all();
    if (this.#told?.tools !== tools) this.#told = { tools, hubs: announcedGroups(news.view, tools) };
    return this.#told.hubs;
  }
}

function announcedGroups(view: RemoteDeviceSource['view'], tools: readonly RegisteredTool[]): GroupsByHub {
  const told = new Map(
    view.peers().map(({ id, devices }) => {
      const facts = devices.map((device): [string, AnnouncedGroups] => [device.id, { types: typesAndFamilies([typeName(device.type)]) }]);
      return [id as string, new Map(facts)];
    }),
  );
  for (const { definition, hubs } of tools) {
    const { device, area } = definition.metadata;
    if (device === undefined || area === undefined) continue;
    for (const hub of hubs?.() ?? []) {
      const devices = told.get(hub);
      devices?.set(device, { types: devices.get(device)?.types ?? TYPES_UNKNOWN, area: areaKey(area) });
    }
  }
  return told;
}

/** `dimmable_light` as the device library has it, `DimmableLight`. */
function typeName(announced: string): string {
  return announced.replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** Families that people speak of, and the types of the Matter Device Library that belong to them. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  light: ['OnOffLight', 'DimmableLight', 'ColorTemperatureLight', 'ExtendedColorLight'],
  plug: ['OnOffPlugInUnit', 'DimmablePlugInUnit', 'MountedOnOffControl', 'MountedDimmableLoadControl'],
  switch: ['OnOffLightSwitch', 'DimmerSwitch', 'ColorDimmerSwitch', 'GenericSwitch', 'ControlBridge', 'PumpController'],
  lock: ['DoorLock', 'DoorLockController'],
  thermostat: ['Thermostat', 'ThermostatController'],
  heating: ['Thermostat', 'HeatPump', 'WaterHeater', 'RoomAirConditioner'],
  cover: ['WindowCovering', 'WindowCoveringController', 'Closure', 'ClosurePanel'],
  fan: ['Fan', 'AirPurifier', 'ExtractorHood'],
  valve: ['WaterValve', 'IrrigationSystem'],
  pump: ['Pump'],
  camera: ['Camera', 'SnapshotCamera', 'FloodlightCamera', 'VideoDoorbell', 'Intercom'],
  doorbell: ['Doorbell', 'AudioDoorbell', 'VideoDoorbell'],
  media: ['Speaker', 'BasicVideoPlayer', 'CastingVideoPlayer', 'VideoRemoteControl', 'ContentApp', 'CastingVideoClient'],
  energy: ['EnergyEvse', 'SolarPower', 'BatteryStorage', 'DeviceEnergyManagement', 'ElectricalMeter', 'ElectricalSensor'],
  appliance: [
    ...['Refrigerator', 'RoomAirConditioner', 'LaundryWasher', 'LaundryDryer', 'Dishwasher', 'Oven', 'CookSurface', 'Cooktop'],
    ...['MicrowaveOven', 'ExtractorHood', 'RoboticVacuumCleaner', 'TemperatureControlledCabinet', 'WaterHeater'],
  ],
};

const ofType = new Map<string, readonly string[]>();
for (const [family, types] of Object.entries(FAMILIES)) {
  for (const type of types) ofType.set(type, [...(ofType.get(type) ?? []), family]);
}

/** `DimmableLight` is `dimmable-light`, `DeviceType0xfff1` is `device-type0xfff1`. */
function typeSlug(type: string): string {
  return type
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();
}

/** Slugs of Matter device types and of their families; every sensor and detector is a `sensor` too. */
export function typesAndFamilies(types: readonly string[]): ReadonlySet<string> {
  const slugs = types.map(typeSlug);
  const sensors = slugs.some((one) => /-(sensor|detector|alarm)$/.test(one)) ? ['sensor'] : [];
  return new Set([...slugs, ...types.flatMap((type) => ofType.get(type) ?? []), ...sensors]);
}
