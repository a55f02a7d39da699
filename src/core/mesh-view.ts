import type { HubId } from './ids.ts';

/**
 * State of another hub by the age of its last message: up to 90 s it is `fresh`, up to 300 s `stale`, and after that `gone`. `left` means
 * that the hub has announced its departure.
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

/** Properties that limit a capability, such as `max_image_mb` or `model`. */
export type CapabilityConstraints = Readonly<Record<string, string | number | boolean>>;

/** What the routing of a call must know about another hub. */
export interface RoutePeer {
  readonly id: HubId;
  readonly name: string;
  /** True if a call can be sent to the hub now, directly or through other hubs. */
  readonly isReachable: boolean;
  /** Round trip time in milliseconds; absent without a direct connection. */
  readonly roundTripMs?: number;
  /** Number of hops to the hub: 1 for a direct connection, 0 if there is no route. */
  readonly hops: number;
  readonly capabilities: readonly string[];
  /** False if the hub announces that its machine has no route to another network. */
  readonly isOnline?: boolean;
  /** Limits that the hub announces for its capabilities, by the type of the capability. */
  readonly constraints?: ReadonlyMap<string, CapabilityConstraints>;
}

/** Another hub in the mesh. */
export interface Peer extends RoutePeer {
  readonly state: PeerState;
  readonly version: string;
  /** Time of the peer's last message (now, while it is connected), milliseconds since 1970 by our own clock. */
  readonly lastSeenMs: number;
  /** Address `host:port` of the direct connection; absent without one. */
  readonly address?: string;
  readonly toolCount: number;
  /** Number of the hub's tools whose definitions have not arrived yet. */
  readonly missingTools: number;
  readonly devices: readonly PeerDevice[];
}

/** Port: the mesh and its other hubs. `meshId` is undefined while this hub is in no mesh. */
export interface MeshView {
  readonly meshId: string | undefined;
  peers(): readonly Peer[];
}
