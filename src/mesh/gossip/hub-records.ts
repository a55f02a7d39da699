import type { KeyObject } from 'node:crypto';
import {
  type AnnouncedState,
  type HubState,
  isProtocolFeature,
  RELAYS,
  SITE_FEATURE,
  siteOf,
} from '../../codec/messages/announced-state.ts';
import type { Announcement } from '../../codec/messages/announcement.ts';
import type { Clock } from '../../core/clock.ts';
import { compareText } from '../../core/edit-distance.ts';
import type { HubId } from '../../core/ids.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import type { PeerDevice, PeerState } from '../../core/mesh-view.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { GONE_MS, STALE_MS } from './gossip-limits.ts';
import { type AnnouncementVersion, type HubRecord, isNewer } from './hub-record.ts';
import type { DirectoryChange, KnownHub } from './known-hub.ts';

/** Collaborators that determine how fresh the record of a hub is. */
export interface RecordsCollaborators {
  readonly self: HubId;
  readonly clock: Clock;
  readonly isLinked: (id: HubId) => boolean;
  /** Returns whether announced connections form a route to the hub. */
  readonly hasRoute: (id: HubId) => boolean;
}

/** Estimated bytes of memory for each record, tool and device, without envelopes. Measured with scripts/mesh-simulation.ts. */
const RECORD_BYTES = 2_000;
const TOOL_BYTES = 200;
const DEVICE_BYTES = 300;
/** Milliseconds for which a hub is shown as gone before its record is deleted. */
const LINGER_MS = 30_000;
const MAX_TOMBSTONES = 1_024;

/** Stores the records of all hubs, and the views of these records that other modules read. */
export class HubRecords {
  readonly #parts: RecordsCollaborators;
  readonly #records = new Map<HubId, HubRecord>();
  readonly #sizes = new Map<HubId, number>();
  readonly #views = new Map<HubId, KnownHub>();
  /** Newest versions and keys of deleted records, oldest entry first. Older announcements of these hubs may still arrive, and are then stale. */
  readonly #tombstones = new Map<HubId, AnnouncementVersion & { readonly key: KeyObject }>();
  readonly #listeners = new Set<(change: DirectoryChange) => void>();
  #sorted: readonly KnownHub[] | undefined;
  #bytes = 0;

  constructor(parts: RecordsCollaborators) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Estimated size of all records in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get(id: HubId): HubRecord | undefined {
    return this.#records.get(id);
  }

  /** Returns all records, including the record of this hub. */
  all(): readonly HubRecord[] {
    return [...this.#records.values()];
  }

  others(): readonly HubRecord[] {
    return this.all().filter(({ id }) => id !== this.#parts.self);
  }

  views(): readonly KnownHub[] {
    this.#sorted ??= [...this.#views.values()].sort((a, b) => compareText(a.id, b.id));
    return this.#sorted;
  }

  view(id: HubId): KnownHub | undefined {
    return this.#views.get(id);
  }

  /** Returns whether an announcement is too old to change the records. */
  isStale(announcement: Announcement): boolean {
    return this.get(announcement.hubId)?.isStale(announcement) ?? this.isBuried(announcement.hubId, announcement);
  }

  /** Returns whether the record of the hub was deleted and already had this version or a newer one. */
  isBuried(id: HubId, version: AnnouncementVersion): boolean {
    const last = this.#tombstones.get(id);
    return last !== undefined && !isNewer(version, last);
  }

  /** Returns the key of a hub that has a record, or had one that was deleted. */
  keyOf(id: HubId): KeyObject | undefined {
    return (this.#records.get(id) ?? this.#tombstones.get(id))?.key;
  }

  /**
   * Forgets the version of a deleted record, because the hub has announced itself since. The hub does not announce its whole state again, so
   * the earlier announcements of its state must be accepted again.
   */
  exhume(id: HubId): void {
    this.#tombstones.delete(id);
  }

  /** Adds a record or updates its view. `news`: what the hub announces has changed. `state`: only the freshness may have changed. */
  update(record: HubRecord, news: 'news' | 'state'): void {
    const { id } = record;
    const isNew = !this.#records.has(id);
    if (isNew) {
      this.#records.set(id, record);
      this.#tombstones.delete(id);
    }
    if (id === this.#parts.self) return;
    this.#measure(record);
    const before = this.#views.get(id);
    const state = this.#stateOf(record);
    this.#show(record, state);
    if (isNew) this.#emit({ hub: id, kind: 'added' });
    else if (news === 'news') this.#emit({ hub: id, kind: 'news' });
    else if (before?.state !== state) this.#emit({ hub: id, kind: 'state' });
  }

  remove({ id }: HubRecord): void {
    this.#records.delete(id);
    this.#bytes -= this.#sizes.get(id) ?? 0;
    this.#sizes.delete(id);
    this.#views.delete(id);
    this.#sorted = undefined;
    this.#emit({ hub: id, kind: 'removed' });
  }

  /** Updates the freshness of all hubs. Deletes a record 300 s after the hub's withdrawal, or after 330 s of silence in state `gone`. */
  sweep(): void {
    // Computes all states before the first event. A state depends on the routes, and after each event the routes must be computed again.
    const states = this.others().map((record) => ({ record, state: this.#stateOf(record) }));
    const over = states.filter(({ record, state }) => this.#isOver(record, state));
    const changed = states.filter((one) => !over.includes(one) && one.state !== this.#views.get(one.record.id)?.state);
    for (const { record, state } of changed) this.#show(record, state);
    for (const { record } of over) this.#bury(record);
    for (const { record } of changed) this.#emit({ hub: record.id, kind: 'state' });
  }

  /** Deletes the record of the hub that was silent longest among the hubs in state `left` or `gone`. Returns false if there is none. */
  makeRoom(): boolean {
    const ended = this.others().filter((record) => ['left', 'gone'].includes(this.#stateOf(record)));
    const [longest] = ended.sort((a, b) => a.receivedAt.monotonicMs - b.receivedAt.monotonicMs);
    if (longest) this.#bury(longest);
    return longest !== undefined;
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #bury(record: HubRecord): void {
    const { epoch, sequence } = record.newestVersion;
    this.#tombstones.delete(record.id);
    this.#tombstones.set(record.id, { epoch, sequence, key: record.key });
    const [oldest] = this.#tombstones.keys();
    if (this.#tombstones.size > MAX_TOMBSTONES && oldest !== undefined) this.#tombstones.delete(oldest);
    this.remove(record);
  }

  #show(record: HubRecord, state: PeerState): void {
    this.#views.set(record.id, viewOf(record, state));
    this.#sorted = undefined;
  }

  #isOver(record: HubRecord, state: PeerState): boolean {
    const silentMs = this.#silentMs(record);
    return (state === 'gone' && silentMs >= GONE_MS + LINGER_MS) || (state === 'left' && silentMs >= GONE_MS);
  }

  /**
   * Returns the freshness of a hub. After a withdrawal, a hub is `left`. A directly connected hub is `fresh`. Any other hub is `fresh` for
   * 90 s after its newest announcement, and `gone` after 300 s. In between, it is `fresh` if it has a route (its neighbours announce lost
   * connections within seconds), and otherwise `stale`. Clocks of other hubs are not used.
   */
  #stateOf(record: HubRecord): PeerState {
    if (record.hasLeft) return 'left';
    const silentMs = this.#silentMs(record);
    if (silentMs < STALE_MS || this.#parts.isLinked(record.id)) return 'fresh';
    if (silentMs >= GONE_MS) return 'gone';
    return this.#parts.hasRoute(record.id) ? 'fresh' : 'stale';
  }

  #silentMs(record: HubRecord): number {
    return this.#parts.clock.monotonic() - record.receivedAt.monotonicMs;
  }

  #measure(record: HubRecord): void {
    const { tools = [], devices = [] } = record.state ?? {};
    const bytes = RECORD_BYTES + record.bytes + TOOL_BYTES * tools.length + DEVICE_BYTES * (devices?.length ?? 0);
    this.#bytes += bytes - (this.#sizes.get(record.id) ?? 0);
    this.#sizes.set(record.id, bytes);
  }

  #emit(change: DirectoryChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

const MAX_NAME = 64;
const MAX_DESCRIPTION = 256;
const HUB_ID = /^\s*hub-[0-9a-f]{16}\s*$/i;
const NOTHING: readonly never[] = [];

type Head = Pick<KnownHub, 'name' | 'version' | 'addresses' | 'links' | 'capabilities' | 'features' | 'site' | 'relaysNothing'>;

/**
 * Returns the view of a record. Removes control characters from texts for people. While pages of the newest state are missing, tools and
 * devices come from the earlier state, and the other fields from the newest full announcement.
 */
function viewOf(record: HubRecord, state: PeerState): KnownHub {
  const isWaiting = record.isWaitingForPages();
  const newest = isWaiting ? record.announced : (record.state ?? record.announced);
  const head = headOf(newest);
  return {
    ...head,
    // A name in the form of a hub id is replaced by the hub's own id. Otherwise a hub could receive the calls for another hub's id.
    name: HUB_ID.test(head.name) ? record.id : head.name,
    id: record.id,
    state,
    epoch: record.newestVersion.epoch,
    lastSeenMs: record.receivedAt.wallMs,
    tools: record.state?.tools ?? NOTHING,
    devices: record.state ? cleanDevices(record.state) : NOTHING,
    ...(isWaiting && { lacksPages: true }),
    ...(record.state?.devices === null && { hidesDevices: true }),
  };
}

/** Returns the cleaned texts of a state; caches them, so that a heartbeat does not clean them again. */
const headOf = oncePerObject(({ name, version, addresses, links, capabilities }: HubState | AnnouncedState): Head => {
  const site = siteOf(capabilities);
  const isBarredAsBorder = capabilities.some(({ type, constraints }) => type === SITE_FEATURE && constraints?.[RELAYS] === false);
  return {
    name: visibleLine(name, MAX_NAME),
    version: visibleLine(version, MAX_NAME),
    addresses: addresses.map((address) => visibleLine(address, MAX_DESCRIPTION)),
    links,
    capabilities: capabilities
      .filter((capability) => !isProtocolFeature(capability))
      .map((capability) => ({
        ...capability,
        type: visibleLine(capability.type, MAX_NAME),
        description: visibleLine(capability.description, MAX_DESCRIPTION),
      })),
    features: capabilities.filter(isProtocolFeature).map(({ type }) => type),
    ...(site !== undefined && { site: visibleLine(site, MAX_NAME) }),
    ...(isBarredAsBorder && { relaysNothing: true }),
  };
});

/** Returns the cleaned devices of a state; caches them, so that a heartbeat does not clean them again. */
const cleanDevices = oncePerObject(({ devices }: HubState): readonly PeerDevice[] =>
  (devices ?? NOTHING).map((device) => ({ ...device, name: visibleLine(device.name, MAX_NAME), type: visibleLine(device.type, MAX_NAME) })),
);
