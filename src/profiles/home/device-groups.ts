import type { RemoteGroups, ResourceGroup, ResourceGroups } from '../../core/auth/permission.ts';
import { areNamesakes, type NamedDevice } from '../../core/devices/action-descriptions.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { areaKey, type DeviceFacts, libraryType, typeSlug } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import type { MeshView } from '../../core/mesh-view.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { RemoteTools } from '../../tools/registry/tool-directory.ts';

const NO_TYPES: ReadonlySet<string> = new Set();

/** Tells the types and area of local devices. Permissions (`device:control:@type/light`) and the owner's rules select devices by both. */
export class LocalDeviceGroups implements ResourceGroups, DeviceFacts {
  readonly #directory: Pick<DeviceDirectory, 'get' | 'list' | 'describe'>;
  readonly #areas: Pick<DeviceFacts, 'areaMeant'>;
  // Caches the types, because each permission check needs them. The key is the array of type names; changed types come in a new array.
  readonly #typesOfList = oncePerObject(typesAndFamilies);
  readonly #keyOfArea = new Map<string, string>();

  /** `areas` finds the current area for the former name of a renamed area. */
  constructor(directory: Pick<DeviceDirectory, 'get' | 'list' | 'describe'>, areas: Pick<DeviceFacts, 'areaMeant'>) {
    this.#directory = directory;
    this.#areas = areas;
  }

  /** Returns whether a resource belongs to a group. A resource is `<device id>` or `<device id>/<reading>`. */
  isMember(resource: string, { by, name }: ResourceGroup): boolean {
    const end = resource.indexOf('/');
    const device = end < 0 ? resource : resource.slice(0, end);
    return by === 'type' ? countsAs(this.typesOf(device), name) : this.areaOf(device) === this.areaMeant(name);
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
    return names ? this.#typesOfList(names) : NO_TYPES;
  }

  #device(id: string): Device | undefined {
    return this.#directory.get(id as DeviceId);
  }
}

interface RemoteDeviceSource {
  readonly view: Pick<MeshView, 'peers'>;
  readonly tools: Pick<RemoteTools, 'all'>;
}

interface AnnouncedGroups {
  readonly types: ReadonlySet<string>;
  readonly area?: string;
}

/** The announced groups by hub id and device id. */
type GroupsByHub = ReadonlyMap<string, Map<string, AnnouncedGroups>>;

const NO_HUBS: GroupsByHub = new Map();
/** Types of a device that its hub did not announce. Only the device's tools are known. */
const TYPES_UNKNOWN: ReadonlySet<string> = new Set();

/**
 * Finds the types and areas of other hubs' devices. Types come from the announcement of the device, areas from the device's tools. What a
 * hub announces counts for that hub only, even if it contains the id of another hub's device.
 */
export class RemoteDeviceGroups implements RemoteGroups {
  readonly #source: () => RemoteDeviceSource | undefined;
  /** The cache is valid while the tool list is the same array. Every announcement replaces this array. */
  #cached: { readonly tools: readonly RegisteredTool[]; readonly hubs: GroupsByHub } | undefined;

  constructor(source: () => RemoteDeviceSource | undefined) {
    this.#source = source;
  }

  /** Returns whether a resource belongs to a group. A resource is `<device id>` or `<device id>/<reading>`. */
  isMember(resource: string, { by, name }: ResourceGroup, hubs: readonly string[]): boolean {
    const device = resource.split('/', 1)[0] ?? resource;
    const announced = this.#current();
    return hubs.some((hub) => {
      const facts = announced.get(hub)?.get(device);
      return by === 'type' ? (facts?.types.has(name) ?? false) : facts?.area === name;
    });
  }

  #current(): GroupsByHub {
    const source = this.#source();
    if (!source) return NO_HUBS;
    const tools = source.tools.all();
    if (this.#cached?.tools !== tools) this.#cached = { tools, hubs: announcedGroups(source.view, tools) };
    return this.#cached.hubs;
  }
}

function announcedGroups(view: RemoteDeviceSource['view'], tools: readonly RegisteredTool[]): GroupsByHub {
  const announced = new Map(
    view.peers().map(({ id, devices }) => {
      const facts = devices.map((device): [string, AnnouncedGroups] => [
        device.id,
        { types: typesAndFamilies([libraryType(device.type)]) },
      ]);
      return [id as string, new Map(facts)];
    }),
  );
  for (const { definition, hubs } of tools) {
    const { device, area } = definition.metadata;
    if (device === undefined || area === undefined) continue;
    for (const hub of hubs?.() ?? []) {
      const devices = announced.get(hub);
      devices?.set(device, { types: devices.get(device)?.types ?? TYPES_UNKNOWN, area: areaKey(area) });
    }
  }
  return announced;
}

/** Device families in plain words, with their Matter device types. */
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

/** Returns the slugs of Matter device types and their families. Sensors, detectors and alarms are also in the family `sensor`. */
export function typesAndFamilies(types: readonly string[]): ReadonlySet<string> {
  const slugs = types.map(typeSlug);
  const sensors = slugs.some((one) => /-(sensor|detector|alarm)$/.test(one)) ? ['sensor'] : [];
  return new Set([...slugs, ...types.flatMap((type) => ofType.get(type) ?? []), ...sensors]);
}

/** Names of the types and families of locks and valves. */
const GUARDED: ReadonlySet<string> = typesAndFamilies(['DoorLock', 'DoorLockController', 'WaterValve', 'IrrigationSystem']);

/**
 * Returns whether a grant for a type covers a device of these types. A device that is a lock or valve, whatever else it is, counts as that
 * alone: a grant for lights must not open a door because the lock has a lamp.
 */
function countsAs(types: ReadonlySet<string>, name: string): boolean {
  return types.has(name) && (GUARDED.has(name) || !(types.has('lock') || types.has('valve')));
}
