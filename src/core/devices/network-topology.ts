import type { DeviceId } from '../ids.ts';
import type { Reachability } from './device-model.ts';

/** How a node reaches the hub. */
export type NetworkKind = 'thread' | 'wifi' | 'ethernet' | 'unknown';

/** One radio of the home, as a device of ours or a neighbour of one tells. */
export interface TopologyNode {
  /** The device's id, or `thread:<EUI-64 in hex>` for one that is not ours, such as a border router. */
  readonly id: string;
  /** Absent for one that is not ours. */
  readonly device?: DeviceId;
  readonly name: string;
  readonly kind: NetworkKind;
  /** Of the node in its Thread network, such as `Router` or `SleepyEndDevice` (Core §11.14.5.3). */
  readonly role?: string;
  /** Name of the Thread network, or BSSID of the Wi-Fi access point. */
  readonly network?: string;
  readonly channel?: number;
  /** Of Wi-Fi, in dBm. */
  readonly rssi?: number;
  readonly reachability?: Reachability;
  /** Why it did not tell more. */
  readonly problem?: string;
}

/** A link over the air, as the node at `from` hears the one at `to`. */
export interface TopologyLink {
  readonly from: string;
  readonly to: string;
  /** Mean of what was received, in dBm. */
  readonly rssi?: number;
  /** Link quality, 0 (none) to 3 (Thread 1.3 §4.10.1); of a neighbour's frames 0 to 255. */
  readonly lqi?: number;
  /** The node at `to` is a child of the one at `from`. */
  readonly isChild: boolean;
}

/** Who hears whom. */
export interface NetworkTopology {
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly TopologyLink[];
}
