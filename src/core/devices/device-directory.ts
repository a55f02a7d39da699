import type { DeviceId } from '../ids.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Service } from '../lifecycle.ts';
import type { DeviceAdministration } from './device-administration.ts';
import type { AttributePath, AttributeReading, CommandPath, Device, DeviceDescription, DeviceEvent } from './device-model.ts';

/** A change in the directory. */
export type DeviceChange =
  | { readonly kind: 'added'; readonly device: Device }
  /** Data of the device, such as name, area, endpoints or clusters, differ from those in `before`. */
  | { readonly kind: 'changed'; readonly device: Device; readonly before: Device }
  | { readonly kind: 'reachability'; readonly device: Device }
  | { readonly kind: 'removed'; readonly device: Device };

/** Port: the devices of a source, such as Matter or the board. */
export interface DeviceDirectory {
  list(): readonly Device[];
  get(id: DeviceId): Device | undefined;
  /** Returns endpoints, clusters and schemas of a device; undefined for an unknown device. */
  describe(id: DeviceId): DeviceDescription | undefined;
  /** Calls `listener` at every change; the returned function unsubscribes. */
  onChange(listener: (change: DeviceChange) => void): () => void;
}

/** Options of one interaction with a device. */
export interface DeviceCallOptions {
  /** Aborts the interaction. Messages that are not yet sent are then dropped. */
  readonly signal: AbortSignal;
}

/** A value that a command is to bring about. */
export interface ExpectedValue {
  readonly path: AttributePath;
  /** Returns whether a raw value of the attribute is the one that the command is to bring about. */
  isReached(value: Json): boolean;
}

/** Reads values of one device after a command. Must be disposed, also if the command failed. */
export interface ReadBack extends Disposable {
  /**
   * Returns the expected values in their order. If the device is known to report sooner than it answers a read, they are those of the report
   * that it sends after its answer to the command; a value that was the expected one before, and that the report leaves out, is the one of
   * before. If a reported value is not the expected one, or the report is longer than one message, all are read.
   */
  read(options: DeviceCallOptions): Promise<readonly AttributeReading[]>;
}

/**
 * Port: reads, writes and invokes elements of a device's clusters. Values are JSON in raw Matter units, in the form of the schemas in
 * DeviceDescription: enums by name, bitmaps as objects of booleans, octets as base64, integers beyond 2^53 as decimal strings. Rejects with
 * DEVICE_NOT_FOUND, NOT_SUPPORTED (the element is absent or read-only), VALIDATION_ERROR (the value does not match the schema),
 * DEVICE_UNREACHABLE (nothing delivered), OUTCOME_UNKNOWN (sent but not acknowledged), CLUSTER_STATUS (the device refused) or CANCELLED.
 */
export interface DeviceAccess {
  /** Returns the last reported value without contacting the device; undefined before the first report. */
  cached(path: AttributePath): AttributeReading | undefined;
  /** Must be called when somebody is shown the last reported values of devices: the source then soon finds out whether one is gone. */
  noteRead(devices: readonly DeviceId[]): void;
  /** Returns whether the last reported values of a device are its present ones: it has reported all, and reports each change. */
  isCurrent(device: DeviceId): boolean;
  /** Reads all paths in one interaction and returns the values in the order of the paths. */
  read(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]>;
  /** Prepares the read-back of a command to a device. Must be called before the command is sent, since reports may arrive with its answer. */
  awaitReports(values: readonly ExpectedValue[]): ReadBack;
  write(path: AttributePath, value: Json, options: DeviceCallOptions): Promise<void>;
  /** Invokes a command and returns the response fields; null if the command has none. */
  invoke(path: CommandPath, fields: JsonObject, options: DeviceCallOptions): Promise<JsonObject | null>;
  /** Calls `listener` for every attribute report, also for first values; the returned function unsubscribes. */
  onReport(listener: (reading: AttributeReading) => void): () => void;
  /** Calls `listener` at every Matter event of every device; the returned function unsubscribes. */
  onEvent(listener: (event: DeviceEvent) => void): () => void;
}

/** Port: a module that provides devices, access to them, and their administration. */
export interface DeviceSource extends Service {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly administration: DeviceAdministration;
}

/** Presents the devices of several directories as one home. If a device id is in two directories, the first directory counts. */
export class CombinedDirectory implements DeviceDirectory {
  readonly #parts: readonly DeviceDirectory[];

  constructor(parts: readonly DeviceDirectory[]) {
    this.#parts = parts;
  }

  list(): readonly Device[] {
    const devices = new Map<DeviceId, Device>();
    for (const device of this.#parts.flatMap((part) => part.list())) if (!devices.has(device.id)) devices.set(device.id, device);
    return [...devices.values()];
  }

  get(id: DeviceId): Device | undefined {
    return this.#ownerOf(id)?.get(id);
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    return this.#ownerOf(id)?.describe(id);
  }

  onChange(listener: (change: DeviceChange) => void): () => void {
    const stops = this.#parts.map((part) => part.onChange((change) => this.#owns(part, change) && listener(change)));
    return () => {
      for (const stop of stops) stop();
    };
  }

  #ownerOf(id: DeviceId): DeviceDirectory | undefined {
    return this.#parts.find((part) => part.get(id) !== undefined);
  }

  /** Returns whether to pass on a change that `part` reported. Returns false if another directory is the first that has the device. */
  #owns(part: DeviceDirectory, { device }: DeviceChange): boolean {
    const owner = this.#ownerOf(device.id);
    return owner === undefined || owner === part;
  }
}

/** The directory of a hub without devices. */
export const NO_DEVICES: DeviceDirectory = {
  list: () => [],
  get: () => undefined,
  describe: () => undefined,
  onChange: () => () => {},
};
