import type { AnnouncedCapability, AnnouncedTool } from '../../codec/messages/announced-state.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerDevice, PeerState } from '../../core/mesh-view.ts';

/** Another hub, from its own signed announcements. */
export interface KnownHub {
  readonly id: HubId;
  readonly name: string;
  /** Version of its software. */
  readonly version: string;
  readonly state: PeerState;
  /** Counts the starts of the hub. */
  readonly epoch: number;
  /** Arrival of its newest announcement, milliseconds since 1970 by this hub's clock. */
  readonly lastSeenMs: number;
  readonly addresses: readonly string[];
  readonly links: readonly HubId[];
  readonly capabilities: readonly AnnouncedCapability[];
  /** Optional features of the protocol. */
  readonly features: readonly string[];
  /** Without the tools of missing pages; the same array as long as nothing changes. */
  readonly tools: readonly AnnouncedTool[];
  readonly devices: readonly PeerDevice[];
  /** A page of its newest state is missing: `tools` and `devices` are older. */
  readonly lacksPages?: true;
  /** Its owner does not announce the devices: `devices` is empty, although tools may name some. */
  readonly hidesDevices?: true;
}

/** A change of the directory. */
export interface DirectoryChange {
  readonly hub: HubId;
  /** `news`: its announced state has changed. `state`: only its freshness has. */
  readonly kind: 'added' | 'news' | 'state' | 'removed';
}

/** Port: read access to the other hubs. */
export interface HubDirectory {
  /** Sorted by id. */
  hubs(): readonly KnownHub[];
  hub(id: HubId): KnownHub | undefined;
  /** Calls the listener after every change. Returns the function that stops it. */
  onChange(listener: (change: DirectoryChange) => void): () => void;
}

/** Returns whether the tools of a hub can be called. */
export function isPresent({ state }: Pick<KnownHub, 'state'>): boolean {
  return state === 'fresh' || state === 'stale';
}
