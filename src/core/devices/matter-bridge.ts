import type { JsonObject } from '../json.ts';
import type { DeviceSource } from './device-directory.ts';

/** What a bridged thing is for other ecosystems. Each kind is one Matter device type. */
export const BRIDGED_KINDS = [
  'on_off_light',
  'dimmable_light',
  'color_temperature_light',
  'plug',
  'cover',
  'heating_thermostat',
  'thermostat',
  'lock',
  'contact_sensor',
  'leak_sensor',
  'occupancy_sensor',
  'temperature_sensor',
  'humidity_sensor',
  'pressure_sensor',
  'light_sensor',
] as const;
export type BridgedKind = (typeof BRIDGED_KINDS)[number];

/**
 * Values of a bridged thing, by name, in units for people. Null means that the value is not known. `on`, `locked`, `open` of a contact,
 * `wet` and `occupied` are booleans; `brightness`, `open_percent` and `humidity` are in %, `color_temperature` in K, `temperature` and the
 * setpoints in °C, `pressure` in hPa, `illuminance` in lx; `mode` is `off`, `heat`, `cool` or `auto`.
 */
export type BridgedValues = Readonly<Record<string, number | boolean | string | null>>;

/** A thing as a bridge presents it. */
export interface BridgedEndpoint {
  /** Identifies the thing for ever in all ecosystems: 32 hex digits (UniqueID, Matter core specification 9.13). */
  readonly id: string;
  /** Number of the endpoint that the thing had before. Absent for a new thing, which then gets one. */
  readonly number?: number;
  readonly kind: BridgedKind;
  /** Name for people. The bridge shortens it to the 32 characters that Matter allows. */
  readonly name: string;
  readonly isReachable: boolean;
  readonly values: BridgedValues;
}

/** A command of an ecosystem to a thing. `action` and `params` are those of the thing's own tools, such as `set_brightness`. */
export interface EcosystemCommand {
  readonly endpoint: string;
  /** Identity of the fabric that sent it, as in `EcosystemFabric`. */
  readonly fabric: string;
  readonly action: string;
  readonly params: JsonObject;
}

/** A fabric that has commissioned a bridge. `label` was chosen by the other side. */
export interface EcosystemFabric {
  readonly fabricIndex: number;
  /** 64-bit id of the fabric, in hex. */
  readonly fabricId: string;
  /** Identifies the fabric together with its root key, which nobody else has: SHA-256 in hex. */
  readonly identity: string;
  readonly vendorId: number;
  readonly label: string;
}

/** Codes with which an ecosystem commissions a bridge, until `expiresAtMs`. */
export interface BridgeCodes {
  readonly qrCode: string;
  readonly manualCode: string;
  readonly expiresAtMs: number;
}

/** Options of a bridge. */
export interface BridgeNodeOptions {
  /** Number of the bridge, from 1. Its storage and its identity belong to the number. */
  readonly number: number;
  /** Name of the bridge in the ecosystems, at most 32 characters. */
  readonly name: string;
  /**
   * UDP port that the bridge had before. On the same port, ecosystems find it again within seconds. If another program has it, the kernel
   * chooses one. Absent for a new bridge.
   */
  readonly port?: number;
  /** UDP port that the configuration demands. If another program has it, the bridge does not open. */
  readonly fixedPort?: number;
  /** Carries out a command. Resolves when it was done. If it rejects, the ecosystem gets an error and the thing's values stay as they are. */
  readonly onCommand: (command: EcosystemCommand) => Promise<void>;
  /** Called when a fabric joined, changed or left. */
  readonly onEcosystemsChanged: () => void;
  /** Called when the bridge has lost the values of its things, because its last fabric left. They have to be put again. */
  readonly onReset: () => void;
}

/** Port: a bridge, which is a Matter node of its own that other ecosystems commission. */
export interface BridgeNode extends AsyncDisposable {
  /** UDP port of the bridge. It is the fixed one if the options name one, and may else be another one than before. */
  readonly port: number;
  /** Adds a thing, or replaces the name and values of one that is there. Resolves with the number of its endpoint, which stays for ever. */
  put(endpoint: BridgedEndpoint): Promise<number>;
  /** Removes a thing for good. Does nothing for an unknown id. */
  remove(id: string): Promise<void>;
  /** Shows new values of a thing. Values that the kind does not have are ignored. */
  update(id: string, change: { readonly values?: BridgedValues; readonly isReachable?: boolean }): Promise<void>;
  /** Opens the bridge for commissioning with new codes. Codes given out before are worth nothing then. */
  openWindow(seconds: number): Promise<BridgeCodes>;
  closeWindow(): Promise<void>;
  ecosystems(): readonly EcosystemFabric[];
  /** Removes a fabric. Does nothing if it has left already. */
  removeEcosystem(fabricIndex: number): Promise<void>;
}

/** Port: opens bridges. The code of bridges is loaded with the first one. */
export interface BridgeNodes {
  /**
   * Opens a bridge and starts it with `endpoints`. Rejects with STORAGE_FAILED if its storage is damaged, and with SERVICE_UNAVAILABLE if its
   * fixed port is taken. It can be tried again.
   */
  open(options: BridgeNodeOptions, endpoints: readonly BridgedEndpoint[]): Promise<BridgeNode>;
  /** Deletes the storage of a bridge that is not open. */
  erase(number: number): Promise<void>;
}

/** Port: a source of devices that also opens bridges. */
export interface BridgingDeviceSource extends DeviceSource {
  readonly bridges: BridgeNodes;
}

/** Largest number of things of one bridge. Ecosystems become unreliable with larger ones. */
export const MAX_BRIDGED_PER_NODE = 50;

/** Serial numbers of things that a hub bridges begin with this text, so that no hub bridges them a second time. */
export const BRIDGED_SERIAL_PREFIX = 'atmo-bridged-';
/** Type with which a hub announces a device that came to it through the bridge of a hub. */
export const BRIDGED_COPY = 'bridged_copy';
