import { compareText } from '../../../core/edit-distance.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { AnnouncementVersion } from '../announce/announcement-version.ts';
import { GONE_MS } from '../gossip-limits.ts';
import { BuriedHubs } from './buried-hubs.ts';
import { freshness } from './freshness.ts';
import type { HubRecord } from './hub-record.ts';
import type { DirectoryChange, KnownHub } from './known-hub.ts';
import { viewOf } from './record-view.ts';

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
  readonly #buried = new BuriedHubs();
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
      this.#buried.dig(record.id);
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
    this.#buried.bury(record.id, record.heard);
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
