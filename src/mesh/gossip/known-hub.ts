import type { AnnouncedCapability, AnnouncedTool } from '../../codec/messages/announced-state.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerDevice, PeerState } from '../../core/mesh-view.ts';

/** Another hub, as far as its own signed words tell. */
export interface KnownHub {
  readonly id: HubId;
  readonly name: string;
  /** Of its software. */
  readonly version: string;
  readonly state: PeerState;
  /** Counts up with each start of the hub. */
  readonly epoch: number;
  /** Milliseconds since 1970, by this hub's clock. */
  readonly lastSeenMs: number;
  readonly addresses: readonly string[];
  readonly links: readonly HubId[];
  readonly capabilities: readonly AnnouncedCapability[];
  /** What it reads beyond what every hub reads. */
  readonly features: readonly string[];
  /** Without those whose page is not here yet; the same array as long as nothing changes. */
  readonly tools: readonly AnnouncedTool[];
  readonly devices: readonly PeerDevice[];
  /** A page of what it announces is not here yet: `tools` and `devices` are not its newest. */
  readonly lacksPages?: true;
  /** Its owner keeps the list of its devices to the house: `devices` is empty, and its tools name some all the same. */
  readonly hidesDevices?: true;
}

/** How the directory differs from before. */
export interface DirectoryChange {
  readonly hub: HubId;
  /** `news`: what it announces is different. `state`: only its freshness is. */
  readonly kind: 'added' | 'news' | 'state' | 'removed';
}

/** Port: the other hubs, for those who only read. */
export interface HubDirectory {
  /** In the order of their ids. */
  hubs(): readonly KnownHub[];
  hub(id: HubId): KnownHub | undefined;
  /** Hears every change from now on; the answer stops it. */
  onChange(listener: (change: DirectoryChange) => void): () => void;
}

/** True as long as a hub's tools can be called. */
export function isPresent({ state }: Pick<KnownHub, 'state'>): boolean {
  return state === 'fresh' || state === 'stale';
}
