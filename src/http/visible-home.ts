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
  /** What people call devices and areas besides. */
  readonly homeNames: HomeNames;
}

/** The devices and readings that a caller may know of: to everybody else they do not exist, in lists, errors and suggestions. */
export class VisibleHome {
  readonly #directory: DeviceDirectory;
  readonly #readings: ReadingStore;
  readonly #authorizer: Authorizer;
  readonly #mesh: Pick<MeshView, 'peers'>;
  readonly names: HomeNames;

  constructor({ directory, readings, authorizer, mesh, homeNames }: VisibleHomeCollaborators) {
    this.names = homeNames;
    this.#directory = directory;
    this.#readings = readings;
    this.#authorizer = authorizer;
    this.#mesh = mesh;
  }

  maySee(principal: Principal, device: DeviceId): boolean {
    return canSeeDevice(device, callerView(principal, this.#authorizer));
  }

  /** A value is more than the knowledge that there is one: it takes the very permission to read it. */
  mayRead(principal: Principal, sensor: string): boolean {
    return this.#authorizer.authorize(principal, [`sensor:read:${sensor}`]).allowed;
  }

  /** What a sensor that the caller may read is a part of; none where there is no such device. */
  typesOf(device: string): readonly string[] {
    return this.#directory.get(device as DeviceId)?.deviceTypes ?? [];
  }

  devices(principal: Principal): readonly Device[] {
    const view = callerView(principal, this.#authorizer);
    return this.#directory.list().filter((device) => canSeeDevice(device.id, view));
  }

  /** The device of an id, or of a name or alias that no other has. DEVICE_NOT_FOUND suggests, AMBIGUOUS_DEVICE lists the ids. */
  device(principal: Principal, text: string): Device {
    const devices = this.#directory.list();
    const id = resolveDevice(text, withAliases(devices, this.names), callerView(principal, this.#authorizer));
    const device = devices.find((candidate) => candidate.id === id);
    if (device) return device;
    throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id} any more`);
  }

  /** The id of a device of this hub or, where it has none of the name, of another. Errors as `device`. */
  deviceId(principal: Principal, text: string): DeviceId {
    const view = callerView(principal, this.#authorizer);
    const here = withAliases(this.#directory.list(), this.names);
    const isHere = here.some((device) => isDeviceNamed(text, device) && canSeeDevice(device.id, view));
    if (isHere) return resolveDevice(text, here, view);
    const elsewhere = this.devicesElsewhere(principal);
    const isElsewhere = elsewhere.some((device) => isDeviceNamed(text, device));
    // What others have was judged by what they tell of it.
    return isElsewhere ? resolveDevice(text, distinct(elsewhere), { canSee: () => true }) : resolveDevice(text, here, view);
  }

  /** The devices of other hubs, or of the one of an id or name, that the caller may know of. */
  devicesElsewhere(principal: Principal, hub?: string): readonly (SearchedDevice & { readonly node: HubId })[] {
    return this.#peersOf(hub).flatMap(({ id: node, devices }) => {
      const view = callerView(principal, judgeOf({ hubs: () => [node] }, this.#authorizer));
      const known = devices.map(({ id, name, type }) => ({ id: id as DeviceId, name, deviceTypes: [libraryType(type)], node }));
      return known.filter(({ id }) => canSeeDevice(id, view));
    });
  }

  /** Whether a hub of an id or name is another one. */
  isOther(hub: string): boolean {
    return this.#peersOf(hub).length > 0;
  }

  #peersOf(hub: string | undefined): readonly Peer[] {
    const present = this.#mesh.peers().filter(({ state }) => state === 'fresh' || state === 'stale');
    return present.filter(({ id, name }) => hub === undefined || hub === id || hub === name);
  }

  /** The areas that the caller knows a device or a sensor of, each as it is written first. */
  areas(principal: Principal): readonly string[] {
    const sensors = this.readings(principal).map(({ sensor }) => sensor);
    return distinctAreas([...this.devices(principal), ...sensors].map(({ area }) => area));
  }

  /** The area of a name or alias. NOT_FOUND and AMBIGUOUS_DEVICE with candidates. */
  area(principal: Principal, text: string): string {
    return resolveArea(text, this.areas(principal), this.names);
  }

  /** Whether something is in the area that a list is asked for; everything is where none is. */
  isInArea(area: string | undefined, wanted: string | undefined): boolean {
    return wanted === undefined || (area !== undefined && isAreaNamed(wanted, area, this.names));
  }

  readings(principal: Principal): readonly Reading[] {
    return this.#readings.sensors().filter(({ sensor }) => this.mayRead(principal, sensor.id));
  }

  /** The directory as the caller knows it. */
  directory(principal: Principal): DeviceDirectory {
    const whole = this.#directory;
    return {
      list: () => this.devices(principal),
      get: (id) => (this.maySee(principal, id) ? whole.get(id) : undefined),
      describe: (id) => (this.maySee(principal, id) ? whole.describe(id) : undefined),
      onChange: (listener) => whole.onChange((change) => this.maySee(principal, change.device.id) && listener(change)),
    };
  }
}

/** Two hubs may have devices of one id, and lists of their tools by device then hold both. */
function distinct(devices: readonly DeviceName[]): readonly DeviceName[] {
  return [...new Map(devices.map((device) => [device.id, device])).values()];
}

/** Whether the caller may look at the calls of everybody; others see their own alone. */
export function seesAllCalls(principal: Principal, authorizer: Authorizer): boolean {
  return authorizer.authorize(principal, ['admin:audit']).allowed;
}

/** Whether a call that names `agentId` is the caller's. An agent that calls itself `owner` has none of the owner's. */
export function isOwnCall(principal: Principal, agentId: unknown): boolean {
  return agentId === principal.id && (principal.kind === 'owner') === (agentId === 'owner');
}

/** PERMISSION_DENIED with what is required unless the caller holds it. */
export function requirePermission(principal: Principal, permission: string, authorizer: Authorizer): void {
  const decision = authorizer.authorize(principal, [permission]);
  if (decision.allowed) return;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${permission}: ${decision.reason}`, { required: [permission] });
}
