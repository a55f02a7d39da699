import type { Authorizer, Principal } from '../core/auth/principal.ts';
import type { DeviceAttention } from '../core/devices/device-attention.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { Device } from '../core/devices/device-model.ts';
import { type HomeNames, libraryType } from '../core/devices/device-names.ts';
import type { Reading, ReadingStore } from '../core/devices/sensor-readings.ts';
import { AtmoError } from '../core/errors.ts';
import type { DeviceId, HubId } from '../core/ids.ts';
import type { MeshView, Peer } from '../core/mesh-view.ts';
import { callerView, judgeOf } from '../tools/definition/tool-permissions.ts';
import {
  canSeeDevice,
  type DeviceName,
  distinctAreas,
  isAreaNamed,
  isDeviceNamed,
  resolveArea,
  resolveDevice,
  withAliases,
} from '../tools/names/resolve-names.ts';
import type { SearchedDevice } from '../tools/search/home-search.ts';

interface VisibleHomeCollaborators {
  readonly directory: DeviceDirectory;
  readonly readings: ReadingStore;
  readonly authorizer: Authorizer;
  /** The other hubs of the mesh. */
  readonly mesh: Pick<MeshView, 'peers'>;
  readonly attention: Pick<DeviceAttention, 'noteRead'>;
  /** Aliases of devices and areas. */
  readonly homeNames: HomeNames;
}

/** The devices and readings that a caller may see, which counts as a read of them. All others are missing from lists, errors and suggestions. */
export class VisibleHome {
  readonly names: HomeNames;
  readonly #parts: VisibleHomeCollaborators;

  constructor(parts: VisibleHomeCollaborators) {
    this.names = parts.homeNames;
    this.#parts = parts;
  }

  maySee(principal: Principal, device: DeviceId): boolean {
    return canSeeDevice(device, callerView(principal, this.#parts.authorizer));
  }

  /** Returns whether the caller may read a sensor's value. The permission to see the sensor is not enough. */
  mayRead(principal: Principal, sensor: string): boolean {
    return this.#parts.authorizer.authorize(principal, [`sensor:read:${sensor}`]).allowed;
  }

  /** Returns the device types of a sensor's device, or an empty list if the device is unknown. */
  typesOf(device: string): readonly string[] {
    return this.#parts.directory.get(device as DeviceId)?.deviceTypes ?? [];
  }

  devices(principal: Principal): readonly Device[] {
    this.#parts.attention.noteRead('all');
    const view = callerView(principal, this.#parts.authorizer);
    return this.#parts.directory.list().filter((device) => canSeeDevice(device.id, view));
  }

  /** Returns the device with this id, unique name or alias. Throws DEVICE_NOT_FOUND with suggestions, or AMBIGUOUS_DEVICE with the ids. */
  device(principal: Principal, text: string): Device {
    const devices = this.#parts.directory.list();
    const id = resolveDevice(text, withAliases(devices, this.names), callerView(principal, this.#parts.authorizer));
    const device = devices.find((candidate) => candidate.id === id);
    if (!device) throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id} any more`);
    this.#parts.attention.noteRead(id);
    return device;
  }

  /** Returns the id of a device. A device of this hub takes precedence over devices of other hubs. Throws the same errors as `device`. */
  deviceId(principal: Principal, text: string): DeviceId {
    const view = callerView(principal, this.#parts.authorizer);
    const here = withAliases(this.#parts.directory.list(), this.names);
    const isHere = here.some((device) => isDeviceNamed(text, device) && canSeeDevice(device.id, view));
    if (isHere) return resolveDevice(text, here, view);
    const remote = this.devicesElsewhere(principal);
    const isRemote = remote.some((device) => isDeviceNamed(text, device));
    // `canSee` is always true because devicesElsewhere() has already checked the permissions.
    return isRemote ? resolveDevice(text, distinct(remote), { canSee: () => true }) : resolveDevice(text, here, view);
  }

  /** Returns the visible devices of all other hubs. If `hub` is given, returns only those of the hub with this id or name. */
  devicesElsewhere(principal: Principal, hub?: string): readonly (SearchedDevice & { readonly node: HubId })[] {
    return this.#peersOf(hub).flatMap(({ id: node, devices }) => {
      const view = callerView(principal, judgeOf({ hubs: () => [node] }, this.#parts.authorizer));
      const known = devices.map(({ id, name, type }) => ({ id: id as DeviceId, name, deviceTypes: [libraryType(type)], node }));
      return known.filter(({ id }) => canSeeDevice(id, view));
    });
  }

  isOther(hub: string): boolean {
    return this.#peersOf(hub).length > 0;
  }

  #peersOf(hub: string | undefined): readonly Peer[] {
    const present = this.#parts.mesh.peers().filter(({ state }) => state === 'fresh' || state === 'stale');
    return present.filter(({ id, name }) => hub === undefined || hub === id || hub === name);
  }

  /** Returns each area once, in its first spelling, if the caller may see a device or read a sensor in it. */
  areas(principal: Principal): readonly string[] {
    const sensors = this.readings(principal).map(({ sensor }) => sensor);
    return distinctAreas([...this.devices(principal), ...sensors].map(({ area }) => area));
  }

  /** Returns the area with this name or alias. Throws NOT_FOUND, or AMBIGUOUS_DEVICE if several areas match. The error lists candidates. */
  area(principal: Principal, text: string): string {
    return resolveArea(text, this.areas(principal), this.names);
  }

  /** Returns whether an area passes the filter `wanted`. If `wanted` is undefined, every area passes. */
  isInArea(area: string | undefined, wanted: string | undefined): boolean {
    return wanted === undefined || (area !== undefined && isAreaNamed(wanted, area, this.names));
  }

  readings(principal: Principal): readonly Reading[] {
    return this.#parts.readings.sensors().filter(({ sensor }) => this.mayRead(principal, sensor.id));
  }

  /** Must be called with the devices whose known readings a caller is shown, which counts as a read of them. */
  noteRead(devices: Iterable<DeviceId>): void {
    for (const device of new Set(devices)) this.#parts.attention.noteRead(device);
  }

  directory(principal: Principal): DeviceDirectory {
    const { directory } = this.#parts;
    return {
      list: () => this.devices(principal),
      get: (id) => (this.maySee(principal, id) ? directory.get(id) : undefined),
      describe: (id) => (this.maySee(principal, id) ? directory.describe(id) : undefined),
      onChange: (listener) => directory.onChange((change) => this.maySee(principal, change.device.id) && listener(change)),
    };
  }
}

/** Returns each device id once, even if several hubs use it. A list of tools for this id contains the tools of all these hubs anyway. */
function distinct(devices: readonly DeviceName[]): readonly DeviceName[] {
  return [...new Map(devices.map((device) => [device.id, device])).values()];
}

/** Returns whether the caller may see the calls of all principals. If not, it may see only its own calls. */
export function seesAllCalls(principal: Principal, authorizer: Authorizer): boolean {
  return authorizer.authorize(principal, ['admin:audit']).allowed;
}

/** Returns whether a call by `agentId` is the caller's own call. An agent that is named `owner` is not the owner. */
export function isOwnCall(principal: Principal, agentId: unknown): boolean {
  return agentId === principal.id && (principal.kind === 'owner') === (agentId === 'owner');
}

/** Throws PERMISSION_DENIED if the caller lacks the permission. The error names the permission. */
export function requirePermission(principal: Principal, permission: string, authorizer: Authorizer): void {
  const decision = authorizer.authorize(principal, [permission]);
  if (decision.allowed) return;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${permission}: ${decision.reason}`, { required: [permission] });
}
