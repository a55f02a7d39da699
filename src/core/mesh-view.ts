import type { HubId } from './ids.ts';

/**
 * How fresh the news of a hub are: heard of within 90 s, within 300 s, or not any more (and soon forgotten). A hub that said
 * goodbye has `left` at once.
 */
export type PeerState = 'fresh' | 'stale' | 'gone' | 'left';

/** A device of another hub, as it announces it. */
export interface PeerDevice {
  readonly id: string;
  readonly name: string;
  /** Matter device type by name, such as `dimmable_light`. */
  readonly type: string;
  readonly isReachable: boolean;
}

/** Bounds of a capability, such as `max_image_mb` or `model`. */
export type CapabilityConstraints = Readonly<Record<string, string | number | boolean>>;

/** What decides whether a call goes to another hub. */
export interface RoutePeer {
  readonly id: HubId;
  readonly name: string;
  /** A call can be sent there now, directly or over other hubs. */
  readonly isReachable: boolean;
  /** Absent while there is no direct connection. */
  readonly roundTripMs?: number;
  /** 1 = directly connected. */
  readonly hops: number;
  readonly capabilities: readonly string[];
  /** False for a hub that says that it has no network. */
  readonly isOnline?: boolean;
  /** What holds for calls that need a capability, by its type, as the hub announces it. */
  readonly constraints?: ReadonlyMap<string, CapabilityConstraints>;
}

/** Another hub as the mesh room sees it. */
export interface Peer extends RoutePeer {
  readonly state: PeerState;
  readonly version: string;
  /** When anything was last heard from it, milliseconds since 1970 by this hub's clock. */
  readonly lastSeenMs: number;
  /** `host:port` of the direct connection. */
  readonly address?: string;
  readonly toolCount: number;
  /** Tools of which the definition is not here yet. */
  readonly missingTools: number;
  readonly devices: readonly PeerDevice[];
}

/** Port: the other hubs. Absent until the hub is a member of a mesh. */
export interface MeshView {
  readonly meshId: string | undefined;
  peers(): readonly Peer[];
}
