import type { Authorizer, Principal } from '../core/auth/principal.ts';
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
  /** The other hubs. */
  readonly mesh: Pick<MeshView, 'peers'>;
  /** Aliases of devices and areas. */
  readonly homeNames: HomeNames;
}

/** The devices and readings that a caller may see. All others are left out of lists, errors and suggestions. */
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

  /** Returns whether the caller may read a sensor's value; to see that the sensor exists is not enough. */
  mayRead(principal: Principal, sensor: string): boolean {
    return this.#parts.authorizer.authorize(principal, [`sensor:read:${sensor}`]).allowed;
  }

  /** Returns the device types of a sensor's device; an empty list for an unknown device. */
  typesOf(device: string): readonly string[] {
    return this.#parts.directory.get(device as DeviceId)?.deviceTypes ?? [];
  }

  devices(principal: Principal): readonly Device[] {
    const view = callerView(principal, this.#parts.authorizer);
    return this.#parts.directory.list().filter((device) => canSeeDevice(device.id, view));
  }

  /**
   * Returns the device with this id or unique name or alias. Throws DEVICE_NOT_FOUND with suggestions, or AMBIGUOUS_DEVICE with the ids.
   */
  device(principal: Principal, text: string): Device {
    const devices = this.#parts.directory.list();
    const id = resolveDevice(text, withAliases(devices, this.names), callerView(principal, this.#parts.authorizer));
    const device = devices.find((candidate) => candidate.id === id);
    if (device) return device;
    throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id} any more`);
  }

  /** Returns the id of a device of this hub or, if this hub has no such device, of another hub. Throws like `device`. */
  deviceId(principal: Principal, text: string): DeviceId {
    const view = callerView(principal, this.#parts.authorizer);
    const here = withAliases(this.#parts.directory.list(), this.names);
    const isHere = here.some((device) => isDeviceNamed(text, device) && canSeeDevice(device.id, view));
    if (isHere) return resolveDevice(text, here, view);
    const remote = this.devicesElsewhere(principal);
    const isRemote = remote.some((device) => isDeviceNamed(text, device));
    // devicesElsewhere() has checked the permissions of the remote devices.
    return isRemote ? resolveDevice(text, distinct(remote), { canSee: () => true }) : resolveDevice(text, here, view);
  }

  /** Returns the devices that the caller may see of all other hubs, or of the hub with this id or name. */
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

  /** Returns the areas in which the caller may see a device or a sensor, in their first spelling. */
  areas(principal: Principal): readonly string[] {
    const sensors = this.readings(principal).map(({ sensor }) => sensor);
    return distinctAreas([...this.devices(principal), ...sensors].map(({ area }) => area));
  }

  /** Returns the area with this name or alias. Throws NOT_FOUND or AMBIGUOUS_DEVICE with candidates. */
  area(principal: Principal, text: string): string {
    return resolveArea(text, this.areas(principal), this.names);
  }

  /** Returns whether an area passes the area filter of a list; without a filter every area does. */
  isInArea(area: string | undefined, wanted: string | undefined): boolean {
    return wanted === undefined || (area !== undefined && isAreaNamed(wanted, area, this.names));
  }

  readings(principal: Principal): readonly Reading[] {
    return this.#parts.readings.sensors().filter(({ sensor }) => this.mayRead(principal, sensor.id));
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

/** Returns each device once: two hubs may have a device with the same id, and its tool list then has the tools of both. */
function distinct(devices: readonly DeviceName[]): readonly DeviceName[] {
  return [...new Map(devices.map((device) => [device.id, device])).values()];
}

/** Returns whether the caller may see the calls of all principals; other callers see only their own calls. */
export function seesAllCalls(principal: Principal, authorizer: Authorizer): boolean {
  return authorizer.authorize(principal, ['admin:audit']).allowed;
}

/** Returns whether a call of `agentId` is the caller's own. An agent with the name `owner` does not get the owner's calls. */
export function isOwnCall(principal: Principal, agentId: unknown): boolean {
  return agentId === principal.id && (principal.kind === 'owner') === (agentId === 'owner');
}

/** Throws PERMISSION_DENIED, which names the permission, unless the caller holds it. */
export function requirePermission(principal: Principal, permission: string, authorizer: Authorizer): void {
  const decision = authorizer.authorize(principal, [permission]);
  if (decision.allowed) return;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${permission}: ${decision.reason}`, { required: [permission] });
}
