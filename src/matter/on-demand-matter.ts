import { existsSync, readdirSync } from 'node:fs';
import type { DeviceAdministration } from '../core/devices/device-administration.ts';
import { type DeviceAccess, type DeviceChange, type DeviceDirectory, NO_DEVICES } from '../core/devices/device-directory.ts';
import type { AttributeReading, DeviceEvent } from '../core/devices/device-model.ts';
import type { BridgeNodes, BridgingDeviceSource } from '../core/devices/matter-bridge.ts';
import { AtmoError } from '../core/errors.ts';
import type { DeviceId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { FileAnchor, KeyValueStore } from '../core/storage/key-value-store.ts';

/** Spaces of the state store in which the Matter module keeps devices, unfinished commissionings, network credentials and groups. */
const SPACES = ['devices', 'devices.former', 'commissioning', 'credentials', 'groups'] as const;

interface MatterState {
  /** Folder of all Matter state. */
  readonly stateDir: string;
  readonly clusterModelsDir: string;
  /** Anchor of the fabric's database, which also knows of a database that was lost. */
  readonly anchor: Pick<FileAnchor, 'least'>;
  readonly store: Pick<KeyValueStore, 'entries'>;
}

/** Returns whether this hub has ever used Matter: it has a fabric or bridges, has lost its fabric, or has something for its first device. */
export function hasMatterState({ stateDir, clusterModelsDir, anchor, store }: MatterState): boolean {
  const isFilled = (folder: string) => existsSync(folder) && readdirSync(folder).length > 0;
  return (
    isFilled(stateDir) ||
    isFilled(clusterModelsDir) ||
    anchor.least() !== undefined ||
    SPACES.some((space) => store.entries(space).length > 0)
  );
}

interface OnDemandParts {
  readonly logger: Logger;
  /** Loads the code of Matter and opens the fabric, which is not started yet. */
  readonly open: () => Promise<BridgingDeviceSource>;
  /** Folder with software images for devices. */
  readonly updatesDir: string;
}

/**
 * The Matter devices of a hub that has none: it loads matter.js, which takes about 60 MB, when a person commissions the first device, stores
 * credentials of a network, makes a group or opens a bridge, or lists updates while the folder for updates has an image. From then on
 * everything goes to the opened source.
 */
export class OnDemandMatter implements BridgingDeviceSource {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly administration: DeviceAdministration;
  readonly bridges: BridgeNodes;
  readonly #parts: OnDemandParts;
  readonly #changes = new DeferredListeners<DeviceChange>();
  readonly #reports = new DeferredListeners<AttributeReading>();
  readonly #events = new DeferredListeners<DeviceEvent>();
  #source: BridgingDeviceSource | undefined;
  #opening: Promise<BridgingDeviceSource> | undefined;
  #isEnded = false;

  constructor(parts: OnDemandParts) {
    this.#parts = parts;
    this.directory = this.#lateDirectory();
    this.access = this.#lateAccess();
    this.administration = this.#lateAdministration();
    this.bridges = {
      open: async (options, endpoints) => (await this.#load()).bridges.open(options, endpoints),
      erase: async (number) => (await this.#load()).bridges.erase(number),
    };
  }

  async start(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    await this.#opening?.catch(() => undefined);
    await this.#source?.[Symbol.asyncDispose]();
  }

  /** Returns the opened source. Rejects with the errors of `open` and of its start; the next use then tries again. */
  #load(): Promise<BridgingDeviceSource> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<BridgingDeviceSource> {
    if (this.#isEnded) throw new AtmoError('SHUTTING_DOWN', 'The hub is stopping');
    const startMs = performance.now();
    try {
      const source = await this.#parts.open();
      this.#changes.attach((listener) => source.directory.onChange(listener));
      this.#reports.attach((listener) => source.access.onReport(listener));
      this.#events.attach((listener) => source.access.onEvent(listener));
      await source.start();
      this.#source = source;
      this.#parts.logger.info('matter.loaded', { tookMs: Math.round(performance.now() - startMs) });
      return source;
    } catch (error) {
      for (const listeners of [this.#changes, this.#reports, this.#events]) listeners.detach();
      this.#opening = undefined;
      throw error;
    }
  }

  #lateDirectory(): DeviceDirectory {
    const directory = () => this.#source?.directory ?? NO_DEVICES;
    return {
      list: () => directory().list(),
      get: (id) => directory().get(id),
      describe: (id) => directory().describe(id),
      onChange: (listener) => this.#changes.add(listener),
    };
  }

  #lateAccess(): DeviceAccess {
    const access = () => this.#source?.access;
    const required = async (device: DeviceId | undefined) => {
      const opened = access();
      if (opened) return opened;
      throw unknownDevice(device);
    };
    return {
      cached: (path) => access()?.cached(path),
      noteRead: (devices) => access()?.noteRead(devices),
      isCurrent: (device) => access()?.isCurrent(device) ?? false,
      read: async (paths, options) => (await required(paths[0]?.device)).read(paths, options),
      awaitReports(values) {
        const opened = access();
        if (opened) return opened.awaitReports(values);
        throw unknownDevice(values[0]?.path.device);
      },
      write: async (path, value, options) => (await required(path.device)).write(path, value, options),
      invoke: async (path, fields, options) => (await required(path.device)).invoke(path, fields, options),
      onReport: (listener) => this.#reports.add(listener),
      onEvent: (listener) => this.#events.add(listener),
    };
  }

  /** What needs a device, a group or credentials finds none without Matter. All else loads it. */
  #lateAdministration(): DeviceAdministration {
    const opened = () => this.#source?.administration;
    const loaded = async () => (await this.#load()).administration;
    const of = async (device: DeviceId): Promise<DeviceAdministration> => {
      const administration = opened();
      if (administration) return administration;
      throw unknownDevice(device);
    };
    const ofNow = (device: DeviceId): DeviceAdministration => {
      const administration = opened();
      if (administration) return administration;
      throw unknownDevice(device);
    };
    const ofGroup = (group: number): DeviceAdministration => {
      const administration = opened();
      if (administration) return administration;
      throw new AtmoError('NOT_FOUND', `There is no group ${group}; there are none`, { known: [] });
    };
    const { updatesDir } = this.#parts;
    const hasImages = () => existsSync(updatesDir) && readdirSync(updatesDir).length > 0;
    return {
      commission: async (request, options) => (await loaded()).commission(request, options),
      halfCommissioned: () => opened()?.halfCommissioned() ?? [],
      forget(id) {
        const administration = opened();
        if (!administration) throw new AtmoError('NOT_FOUND', `No half commissioned device has the id ${JSON.stringify(id)}`);
        administration.forget(id);
      },
      decommission: async (device, options) => (await of(device)).decommission(device, options),
      rename: async (device, name, options) => (await of(device)).rename(device, name, options),
      recognised: () => opened()?.recognised() ?? [],
      restore: (device) => ofNow(device).restore(device),
      takeOver: (device, replaced) => ofNow(device).takeOver(device, replaced),
      setArea: (device, area) => ofNow(device).setArea(device, area),
      identify: async (device, seconds, options) => (await of(device)).identify(device, seconds, options),
      ping: async (device, options) => (await of(device)).ping(device, options),
      interview: async (device, options) => (await of(device)).interview(device, options),
      share: async (device, seconds, options) => (await of(device)).share(device, seconds, options),
      closeShare: async (device, options) => (await of(device)).closeShare(device, options),
      fabrics: async (device, options) => (await of(device)).fabrics(device, options),
      removeFabric: async (device, fabricIndex, options) => (await of(device)).removeFabric(device, fabricIndex, options),
      diagnostics: async (device, options) => (await of(device)).diagnostics(device, options),
      topology: async (options) => opened()?.topology(options) ?? { nodes: [], links: [] },
      updates: async () => (opened() || hasImages() ? (await loaded()).updates() : { folder: updatesDir, offers: [], unfit: [] }),
      update: async (device, options) => (await of(device)).update(device, options),
      groups: () => opened()?.groups() ?? [],
      createGroup: async (name, members, options) => (await loaded()).createGroup(name, members, options),
      addGroupMember: async (group, member, options) => ofGroup(group).addGroupMember(group, member, options),
      removeGroupMember: async (group, member, options) => ofGroup(group).removeGroupMember(group, member, options),
      deleteGroup: async (group, options) => ofGroup(group).deleteGroup(group, options),
      invokeGroup: async (group, cluster, command, fields, options) => ofGroup(group).invokeGroup(group, cluster, command, fields, options),
      accessControl: async (device, options) => (await of(device)).accessControl(device, options),
      setAccessControl: async (device, entries, options) => (await of(device)).setAccessControl(device, entries, options),
      bindings: async (device, endpoint, options) => (await of(device)).bindings(device, endpoint, options),
      bind: async (source, target, options) => (await of(source.device)).bind(source, target, options),
      unbind: async (source, target, options) => (await of(source.device)).unbind(source, target, options),
      credentials: () => opened()?.credentials() ?? [],
      setWifi: async (name, ssid, password) => (await loaded()).setWifi(name, ssid, password),
      setThread: async (name, datasetHex) => (await loaded()).setThread(name, datasetHex),
      importThread: async (name, routerUrl, options) => (await loaded()).importThread(name, routerUrl, options),
      removeCredentials: (name) => opened()?.removeCredentials(name) ?? false,
    };
  }
}

function unknownDevice(device: DeviceId | undefined): AtmoError {
  return new AtmoError('DEVICE_NOT_FOUND', `There is no device ${JSON.stringify(device ?? '')}: this hub has no Matter devices yet`);
}

/** Listeners of a source that may be opened later. */
class DeferredListeners<Emitted> {
  readonly #listeners = new Set<(emitted: Emitted) => void>();
  #stop: () => void = () => {};

  add(listener: (emitted: Emitted) => void): () => void {
    // Each subscription is its own, also if the same function is added twice.
    const own = (emitted: Emitted) => listener(emitted);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  attach(listen: (listener: (emitted: Emitted) => void) => () => void): void {
    this.#stop = listen((emitted) => {
      for (const listener of [...this.#listeners]) listener(emitted);
    });
  }

  detach(): void {
    this.#stop();
    this.#stop = () => {};
  }
}
