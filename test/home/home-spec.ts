import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../src/core/json.ts';

/** Attribute values by part id (see the device type), cluster and attribute, in raw Matter units: `{ light: { levelControl: { currentLevel: 102 } } }`. */
export type InitialState = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

/** One Matter node of the virtual home. */
export interface DeviceSpec {
  readonly name: string;
  /** A key of DEVICE_TYPES. */
  readonly type: string;
  readonly area: string;
  readonly passcode: number;
  /** 0 to 4095. */
  readonly discriminator: number;
  /** UDP port on its host. */
  readonly port: number;
  /** Devices of one group share a process and a host; a device without one has both to itself and can lose power and link. */
  readonly group?: string;
  readonly state?: InitialState;
  /** Milliseconds from a change to its report; 50 when absent, as in matter.js. Other devices report at once. It holds for the whole process. */
  readonly reportDelayMs?: number;
  readonly bridged?: readonly BridgedSpec[];
  /** The device is found only over the virtual radio until credentials bring it into the network; it needs a process of its own. */
  readonly ble?: RadioSpec;
  /** What the node tells of the network that it says it is in; Ethernet when absent. */
  readonly network?: NetworkSpec;
  /** The node takes software over Matter; it does not when absent. */
  readonly updates?: UpdatesSpec;
}

/** What a node does with software that it has downloaded. */
export interface UpdatesSpec {
  /** False: it restarts with what it had. */
  readonly installs: boolean;
  /** UpdatePossible; true when absent. */
  readonly isPossible?: boolean;
}

/** A network as a node's diagnostics tell it, in raw Matter units; big numbers as decimal text. */
export interface NetworkSpec {
  readonly kind: 'thread' | 'wifi';
  readonly state: JsonObject;
}

/** A Bluetooth radio made of a unix socket, and the network that the device can join. */
export interface RadioSpec {
  readonly socket: string;
  readonly network: 'thread' | 'wifi';
  /** Wi-Fi joins only with this password; with any if it is absent. */
  readonly password?: string;
}

/** One device behind a bridge. */
export interface BridgedSpec {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly state?: InitialState;
}

export interface HomeSpec {
  readonly devices: readonly DeviceSpec[];
}

/** The standard home: at least one device of every kind that the product claims to handle. */
export function standardHome(): HomeSpec {
  return JSON.parse(readFileSync(new URL('home.json', import.meta.url), 'utf8')) as HomeSpec;
}

/** The part of a home that holds these devices, in their order. */
export function homeOf(home: HomeSpec, names: readonly string[]): HomeSpec {
  return { devices: home.devices.filter(({ name }) => names.includes(name)) };
}

/** The same devices in one process, which takes a fraction of the work of one for each; none can then be cut off alone. */
export function together({ devices }: HomeSpec): HomeSpec {
  return { devices: devices.map((device) => ({ ...device, group: 'together' })) };
}

/** Lower-case letters, digits and hyphens: usable as directory, Matter node id and, cut, as network namespace. */
export function slug(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
