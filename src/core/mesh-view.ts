import type { HubId } from './ids.ts';

/**
 * State of another hub by the age of its last message: `fresh` up to 90 s, `stale` up to 300 s, then `gone`. `left` means that the hub
 * announced its departure.
 */
export type PeerState = 'fresh' | 'stale' | 'gone' | 'left';

/** A device of another hub, as that hub announces it. */
export interface PeerDevice {
  readonly id: string;
  readonly name: string;
  /** Name of the Matter device type, such as `dimmable_light`. */
  readonly type: string;
  readonly isReachable: boolean;
}

/** Limits of a capability, such as `max_image_mb` or `model`. */
export type CapabilityConstraints = Readonly<Record<string, string | number | boolean>>;

/** The facts that decide whether a call is routed to another hub. */
export interface RoutePeer {
  readonly id: HubId;
  readonly name: string;
  /** True if a call can be sent to the hub now, directly or over other hubs. */
  readonly isReachable: boolean;
  /** Round trip time in milliseconds; absent without a direct connection. */
  readonly roundTripMs?: number;
  /** Number of hops to the hub; 1 for a direct connection. */
  readonly hops: number;
  readonly capabilities: readonly string[];
  /** False if the hub announces that its machine is offline. */
  readonly isOnline?: boolean;
  /** Limits that the hub announces for calls that require a capability, by type of the capability. */
  readonly constraints?: ReadonlyMap<string, CapabilityConstraints>;
}

/** Another hub in the mesh. */
export interface Peer extends RoutePeer {
  readonly state: PeerState;
  readonly version: string;
  /** Time of the hub's last message, milliseconds since 1970 by this hub's clock. */
  readonly lastSeenMs: number;
  /** Address `host:port` of the direct connection. */
  readonly address?: string;
  readonly toolCount: number;
  /** Number of tools whose definition has not arrived yet. */
  readonly missingTools: number;
  readonly devices: readonly PeerDevice[];
}

/** Port: the other hubs; absent while the hub is in no mesh. */
export interface MeshView {
  readonly meshId: string | undefined;
  peers(): readonly Peer[];
}
