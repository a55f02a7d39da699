import type { AnnouncedCapability, AnnouncedTool } from '../../codec/messages/announced-state.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerDevice, PeerState } from '../../core/mesh-view.ts';

/** Another hub, as its own signed announcements describe it. */
export interface KnownHub {
  readonly id: HubId;
  readonly name: string;
  readonly version: string;
  readonly state: PeerState;
  readonly epoch: number;
  /** Arrival of the hub's newest announcement, in milliseconds since 1970 by the clock of this hub. */
  readonly lastSeenMs: number;
  readonly addresses: readonly string[];
  readonly links: readonly HubId[];
  readonly capabilities: readonly AnnouncedCapability[];
  readonly features: readonly string[];
  /** Tools of the newest complete state. The array stays the same object while the tools do not change. */
  readonly tools: readonly AnnouncedTool[];
  readonly devices: readonly PeerDevice[];
  /** Set while a page of the newest state is missing. `tools` and `devices` then come from an earlier state, or are empty. */
  readonly lacksPages?: true;
  /** Set if the hub does not announce its devices. `devices` is then empty, although tools may belong to devices. */
  readonly hidesDevices?: true;
}

/** Change of the directory of hubs. */
export interface DirectoryChange {
  readonly hub: HubId;
  /** `news`: what the hub announces has changed. `state`: only `KnownHub.state`, which is the freshness, has changed. */
  readonly kind: 'added' | 'news' | 'state' | 'removed';
}

/** Port: read access to the other hubs. */
export interface HubDirectory {
  /** Returns the other hubs, sorted by id. */
  hubs(): readonly KnownHub[];
  hub(id: HubId): KnownHub | undefined;
  onChange(listener: (change: DirectoryChange) => void): () => void;
}

/** Returns whether the tools of a hub can be called. */
export function isPresent({ state }: Pick<KnownHub, 'state'>): boolean {
  return state === 'fresh' || state === 'stale';
}
