import type { DeviceId } from '../ids.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Service } from '../lifecycle.ts';
import type { DeviceAdministration } from './device-administration.ts';
import type { AttributePath, AttributeReading, CommandPath, Device, DeviceDescription, DeviceEvent } from './device-model.ts';

/** How the directory differs from before. */
export type DeviceChange =
  | { readonly kind: 'added'; readonly device: Device }
  /** Its name, area, endpoints or clusters differ from before. */
  | { readonly kind: 'changed'; readonly device: Device; readonly before: Device }
  | { readonly kind: 'reachability'; readonly device: Device }
  | { readonly kind: 'removed'; readonly device: Device };

/** Port: which devices there are. A room that brings devices implements it. */
export interface DeviceDirectory {
  list(): readonly Device[];
  get(id: DeviceId): Device | undefined;
  /** Its endpoints, clusters and their schemas; undefined where `get` answers nothing. */
  describe(id: DeviceId): DeviceDescription | undefined;
  /** Hears every change from now on; the answer stops it. */
  onChange(listener: (change: DeviceChange) => void): () => void;
}

/** How one interaction with a device is bounded. */
export interface DeviceCallOptions {
  /** Ends the interaction; what is not on the wire yet then never goes there. */
  readonly signal: AbortSignal;
}

/**
 * Port: what can be done with a device's clusters. Values are JSON in raw Matter units as the descriptions' schemas
 * say: enums by name, bitmaps as objects of booleans, octets as base64, integers beyond 2^53 as decimal strings.
 *
 * Errors: DEVICE_NOT_FOUND, NOT_SUPPORTED (cluster, attribute or command absent, read-only), VALIDATION_ERROR (value
 * against the schema), DEVICE_UNREACHABLE (nothing delivered), OUTCOME_UNKNOWN (sent, not acknowledged), CLUSTER_STATUS
 * (the device's status code), CANCELLED.
 */
export interface DeviceAccess {
  /** The last value the device told, without asking it; undefined when it never did. */
  cached(path: AttributePath): AttributeReading | undefined;
  /** Asks the device, in one interaction for all paths; answers in the order of the paths. */
  read(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]>;
  /** Resolves when the device has taken the value. */
  write(path: AttributePath, value: Json, options: DeviceCallOptions): Promise<void>;
  /** Answers the response fields, null when the command has none. */
  invoke(path: CommandPath, fields: JsonObject, options: DeviceCallOptions): Promise<JsonObject | null>;
  /** Hears every attribute report, first values included; the answer stops it. */
  onReport(listener: (reading: AttributeReading) => void): () => void;
  /** Hears every Matter event of every device; the answer stops it. */
  onEvent(listener: (event: DeviceEvent) => void): () => void;
}

/** Port: a room that brings devices, with all that can be done with them. */
export interface DeviceSource extends Service {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly administration: DeviceAdministration;
}

/** The devices of several rooms as one home. Where two have a device of the same id, that of the first room is meant. */
export class CombinedDirectory implements DeviceDirectory {
  readonly #rooms: readonly DeviceDirectory[];

  constructor(rooms: readonly DeviceDirectory[]) {
    this.#rooms = rooms;
  }

  list(): readonly Device[] {
    const devices = new Map<DeviceId, Device>();
    for (const device of this.#rooms.flatMap((room) => room.list())) if (!devices.has(device.id)) devices.set(device.id, device);
    return [...devices.values()];
  }

  get(id: DeviceId): Device | undefined {
    return this.#roomOf(id)?.get(id);
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    return this.#roomOf(id)?.describe(id);
  }

  onChange(listener: (change: DeviceChange) => void): () => void {
    const stops = this.#rooms.map((room) => room.onChange((change) => this.#isMeant(room, change) && listener(change)));
    return () => {
      for (const stop of stops) stop();
    };
  }

  #roomOf(id: DeviceId): DeviceDirectory | undefined {
    return this.#rooms.find((room) => room.get(id) !== undefined);
  }

  /** One that was removed is in no room any more. */
  #isMeant(room: DeviceDirectory, { device }: DeviceChange): boolean {
    const owner = this.#roomOf(device.id);
    return owner === undefined || owner === room;
  }
}

/** The directory of a hub without device rooms. */
export const NO_DEVICES: DeviceDirectory = {
  list: () => [],
  get: () => undefined,
  describe: () => undefined,
  onChange: () => () => {},
};
