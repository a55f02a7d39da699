import { type AnnouncedState, type HubState, isProtocolFeature } from '../../codec/messages/announced-state.ts';
import type { Clock } from '../../core/clock.ts';
import { compareText } from '../../core/edit-distance.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerDevice, PeerState } from '../../core/mesh-view.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { type AnnouncementVersion, isNewer } from './announcement-version.ts';
import { GONE_MS, STALE_MS } from './gossip-limits.ts';
import type { HubRecord } from './hub-record.ts';
import type { DirectoryChange, KnownHub } from './known-hub.ts';

interface RecordsCollaborators {
  readonly self: HubId;
  readonly clock: Clock;
  /** True while a direct connection to the hub lives. */
  readonly isLinked: (id: HubId) => boolean;
  /** True while living connections lead to the hub, as far as those tell that have them. */
  readonly hasWay: (id: HubId) => boolean;
}

/** What a record, a tool and a device take beside their envelopes, bytes; measured with scripts/mesh-simulation.ts. */
const RECORD_BYTES = 2_000;
const TOOL_BYTES = 200;
const DEVICE_BYTES = 300;
/** A hub that is gone stays shown so for so long. */
const LINGER_MS = 30_000;

/** The records of all hubs, as long as they count, and how others see them. */
export class HubRecords {
  readonly #self: HubId;
  readonly #clock: Clock;
  readonly #isLinked: (id: HubId) => boolean;
  readonly #hasWay: (id: HubId) => boolean;
  readonly #records = new Map<HubId, HubRecord>();
  readonly #sizes = new Map<HubId, number>();
  readonly #views = new Map<HubId, KnownHub>();
  readonly #buried = new HubTombstones();
  readonly #listeners = new Set<(change: DirectoryChange) => void>();
  #sorted: readonly KnownHub[] | undefined;
  #bytes = 0;

  constructor({ self, clock, isLinked, hasWay }: RecordsCollaborators) {
    this.#self = self;
    this.#clock = clock;
    this.#isLinked = isLinked;
    this.#hasWay = hasWay;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Estimated bytes of all of them. */
  get bytes(): number {
    return this.#bytes;
  }

  get(id: HubId): HubRecord | undefined {
    return this.#records.get(id);
  }

  /** This hub's own among them. */
  all(): readonly HubRecord[] {
    return [...this.#records.values()];
  }

  /** The other hubs, in the order of their ids. */
  views(): readonly KnownHub[] {
    this.#sorted ??= [...this.#views.values()].sort((a, b) => compareText(a.id, b.id));
    return this.#sorted;
  }

  view(id: HubId): KnownHub | undefined {
    return this.#views.get(id);
  }

  /** True for what was heard before the hub was forgotten. */
  isBuried(id: HubId, version: AnnouncementVersion): boolean {
    return this.#buried.covers(id, version);
  }

  /** Takes up a record, or what changed in it: `news` is more than its freshness. */
  update(record: HubRecord, news: 'news' | 'state'): void {
    const isNew = !this.#records.has(record.id);
    if (isNew) {
      this.#records.set(record.id, record);
      this.#buried.delete(record.id);
    }
    if (record.id === this.#self) return;
    this.#measure(record);
    const before = this.#views.get(record.id);
    const state = this.#stateOf(record);
    this.#show(record, state);
    if (isNew) this.#tell({ hub: record.id, kind: 'added' });
    else if (news === 'news') this.#tell({ hub: record.id, kind: 'news' });
    else if (before?.state !== state) this.#tell({ hub: record.id, kind: 'state' });
  }

  remove(record: HubRecord): void {
    this.#records.delete(record.id);
    this.#bytes -= this.#sizes.get(record.id) ?? 0;
    this.#sizes.delete(record.id);
    this.#views.delete(record.id);
    this.#sorted = undefined;
    this.#tell({ hub: record.id, kind: 'removed' });
  }

  /** Tells what became stale since, and forgets what is gone. */
  sweep(): void {
    // All are looked at before anybody hears of it: each word has the ways to all hubs looked for again.
    const over: HubRecord[] = [];
    const turned: HubRecord[] = [];
    for (const record of this.#records.values()) {
      if (record.id === this.#self) continue;
      const state = this.#stateOf(record);
      if (this.#isOver(record, state)) over.push(record);
      else if (state !== this.#views.get(record.id)?.state) turned.push(record);
    }
    for (const record of turned) this.#show(record, this.#stateOf(record));
    for (const record of over) this.#bury(record);
    for (const { id } of turned) this.#tell({ hub: id, kind: 'state' });
  }

  /** Forgets the hub that left or is gone longest; false when all are there. */
  makeRoom(): boolean {
    const ended = this.all().filter((record) => record.id !== this.#self && ['left', 'gone'].includes(this.#stateOf(record)));
    const [longest] = ended.sort((a, b) => a.heardAt.monotonicMs - b.heardAt.monotonicMs);
    if (longest) this.#bury(longest);
    return longest !== undefined;
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #bury(record: HubRecord): void {
    this.#buried.add(record.id, record.newestVersion);
    this.remove(record);
  }

  #show(record: HubRecord, state: KnownHub['state']): void {
    this.#views.set(record.id, viewOf(record, state));
    this.#sorted = undefined;
  }

  #isOver(record: HubRecord, state: KnownHub['state']): boolean {
    const silentMs = this.#silentMs(record);
    return (state === 'gone' && silentMs >= GONE_MS + LINGER_MS) || (state === 'left' && silentMs >= GONE_MS);
  }

  #stateOf(record: HubRecord): KnownHub['state'] {
    return freshness({
      silentMs: this.#silentMs(record),
      hasLeft: record.hasLeft,
      isLinked: this.#isLinked(record.id),
      hasWay: () => this.#hasWay(record.id),
    });
  }

  #silentMs(record: HubRecord): number {
    return this.#clock.monotonic() - record.heardAt.monotonicMs;
  }

  #measure(record: HubRecord): void {
    const { tools = [], devices = [] } = record.state ?? {};
    const bytes = RECORD_BYTES + record.chain.bytes + TOOL_BYTES * tools.length + DEVICE_BYTES * (devices?.length ?? 0);
    this.#bytes += bytes - (this.#sizes.get(record.id) ?? 0);
    this.#sizes.set(record.id, bytes);
  }

  #tell(change: DirectoryChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

const MAX_NAME = 64;
const MAX_DESCRIPTION = 256;
const HUB_ID = /^\s*hub-[0-9a-f]{16}\s*$/i;
const NOTHING: readonly never[] = [];

type Head = Pick<KnownHub, 'name' | 'version' | 'addresses' | 'links' | 'capabilities' | 'features'>;

/** States are cleaned once, not with each heartbeat. */
const heads = new WeakMap<HubState | AnnouncedState, Head>();
const devicesOf = new WeakMap<HubState, readonly PeerDevice[]>();

/**
 * A record as others see it: text that people read has no control characters. What needs no page is told as soon as it is
 * known; tools and devices of the state before stay until theirs are here.
 */
function viewOf(record: HubRecord, state: PeerState): KnownHub {
  const newest = record.isWaitingForPages() ? record.announced : (record.state ?? record.announced);
  return {
    ...remembered(heads, newest, (state) => headOf(state, record.id)),
    id: record.id,
    state,
    epoch: record.newestVersion.epoch,
    lastSeenMs: record.heardAt.wallMs,
    tools: record.state?.tools ?? NOTHING,
    devices: record.state ? remembered(devicesOf, record.state, cleanDevices) : NOTHING,
    ...(record.isWaitingForPages() && { lacksPages: true }),
    ...(record.state?.devices === null && { hidesDevices: true }),
  };
}

function headOf({ name, version, addresses, links, capabilities }: HubState | AnnouncedState, id: HubId): Head {
  return {
    // A call that names a hub by its id must not mean one that calls itself so.
    name: HUB_ID.test(visibleLine(name, MAX_NAME)) ? id : visibleLine(name, MAX_NAME),
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
  };
}

function cleanDevices({ devices }: HubState): readonly PeerDevice[] {
  return (devices ?? NOTHING).map((device) => ({
    ...device,
    name: visibleLine(device.name, MAX_NAME),
    type: visibleLine(device.type, MAX_NAME),
  }));
}

function remembered<Key extends object, Value>(known: WeakMap<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const before = known.get(key);
  if (before !== undefined) return before;
  const made = make(key);
  known.set(key, made);
  return made;
}

/** What the freshness of a hub depends on. No clock of another hub is among it. */
export interface SignsOfLife {
  /** Since anything was heard of it that it signed, milliseconds on a clock that never jumps. */
  readonly silentMs: number;
  /** It said that it stops. */
  readonly hasLeft: boolean;
  /** A direct connection to it lives. */
  readonly isLinked: boolean;
  /** Its neighbours, and theirs up to this hub, still tell of living connections; asked only where it matters. */
  readonly hasWay: () => boolean;
}

/**
 * How fresh the news of a hub are (stale at 90 s, gone at 300 s, at once when it says goodbye). A connection that ends is
 * announced within seconds by whoever sees it end, so that a hub with a way to it need not say so often that it lives. It still
 * has to say so itself: by their word alone its neighbours keep it no longer than until it is gone.
 */
function freshness({ silentMs, hasLeft, isLinked, hasWay }: SignsOfLife): PeerState {
  if (hasLeft) return 'left';
  if (isLinked || silentMs < STALE_MS) return 'fresh';
  if (silentMs < GONE_MS && hasWay()) return 'fresh';
  return silentMs < GONE_MS ? 'stale' : 'gone';
}

const MAX_TOMBSTONES = 1_024;

/**
 * The last that was heard of hubs that are forgotten: a neighbour that still remembers one does not bring it back to life.
 * Those that were buried first are forgotten first.
 */
class HubTombstones {
  readonly #versions = new Map<HubId, AnnouncementVersion>();

  add(id: HubId, { epoch, sequence }: AnnouncementVersion): void {
    this.#versions.delete(id);
    this.#versions.set(id, { epoch, sequence });
    const oldest = this.#versions.keys().next().value;
    if (this.#versions.size > MAX_TOMBSTONES && oldest !== undefined) this.#versions.delete(oldest);
  }

  /** True for what was heard before the hub was forgotten. */
  covers(id: HubId, version: AnnouncementVersion): boolean {
    const last = this.#versions.get(id);
    return last !== undefined && !isNewer(version, last);
  }

  delete(id: HubId): void {
    this.#versions.delete(id);
  }
}
