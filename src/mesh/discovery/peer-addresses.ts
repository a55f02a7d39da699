import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { formatHostPort, type PeerAddress, parseHostPort } from '../transport/mesh-engine.ts';
import { isLinkLocal } from './network-interfaces.ts';

/** Addresses that a hub has announced. */
export interface KnownAddresses {
  readonly id: HubId;
  /** Addresses as `host:port`. */
  readonly addresses: readonly string[];
}

interface PeerAddressSources {
  readonly self: HubId;
  readonly remembered: PeerAddressStore;
  readonly announced: () => readonly KnownAddresses[];
  /** Returns the addresses of this hub itself, as `host:port`. */
  readonly own: () => ReadonlySet<string>;
  /** Returns whether a hub was revoked and must not be connected. */
  readonly isBarred: (id: HubId) => boolean;
}

/** Registry of the hubs of the mesh and their possible addresses. */
export class PeerAddressRegistry {
  readonly #sources: PeerAddressSources;
  readonly #discovered = new Map<HubId, readonly PeerAddress[]>();
  readonly #configured = new Map<HubId, PeerAddress>();

  constructor(sources: PeerAddressSources) {
    this.#sources = sources;
  }

  addDiscovered(id: HubId, addresses: readonly PeerAddress[]): void {
    this.#discovered.set(id, addresses);
  }

  removeDiscovered(id: HubId): void {
    this.#discovered.delete(id);
  }

  addConfigured(id: HubId, address: PeerAddress): void {
    this.#configured.set(id, { ...address, expect: id });
  }

  /** Returns the hubs that have proven to be members: they were connected, or sent a valid announcement. */
  proven(): ReadonlySet<HubId> {
    const announced = this.#sources.announced().map(({ id }) => id);
    return this.#others([...announced, ...this.#configured.keys(), ...this.#sources.remembered.hubs()]);
  }

  /** Returns the proven hubs and the hubs that DNS-SD found. DNS-SD proves nothing, because anybody can forge its records. */
  all(proven = this.proven()): ReadonlySet<HubId> {
    return this.#discovered.size === 0 ? proven : this.#others([...proven, ...this.#discovered.keys()]);
  }

  /** Returns the hubs that were reached at configured addresses. */
  configured(): ReadonlySet<HubId> {
    return this.#others(this.#configured.keys());
  }

  /** Returns the addresses of a hub, most likely ones first: discovered, then configured, announced and remembered addresses. */
  addressesOf(id: HubId): readonly PeerAddress[] {
    const announced = this.#sources.announced().find((known) => known.id === id)?.addresses ?? [];
    const configured = this.#configured.get(id);
    const own = this.#sources.own();
    return orderedAddresses([
      this.#discovered.get(id) ?? [],
      configured === undefined ? [] : [configured],
      announced.flatMap((text) => announcedAddress(text, id)),
      this.#sources.remembered.of(id),
    ]).filter((address) => !own.has(formatHostPort(address)));
  }

  #others(ids: Iterable<HubId>): ReadonlySet<HubId> {
    return new Set([...ids].filter((id) => id !== this.#sources.self && !this.#sources.isBarred(id)));
  }
}

// Leaves out link-local addresses, which are valid only on the links of the hub that announced them.
function announcedAddress(text: string, expect: HubId): readonly PeerAddress[] {
  const address = parseHostPort(text);
  return address === undefined || isLinkLocal(address.host) ? [] : [{ ...address, expect }];
}

const SPACE = 'mesh-addresses';
const DAY_MS = 86_400_000;
const KEEP_MS = 30 * DAY_MS;
const MAX_HUBS = 256;
const MAX_STORED_ADDRESSES = 4;

interface StoredAddresses {
  /** Addresses as `host:port`, the most recent first. */
  readonly addresses: readonly string[];
  /** Time of the last write, in milliseconds since 1970. */
  readonly atMs: number;
}

/** Stores the last addresses of connected hubs for 30 days. After a power cut, the mesh can reconnect without discovery. */
export class PeerAddressStore {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  #loaded: Map<HubId, StoredAddresses> | undefined;

  constructor(store: KeyValueStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  hubs(): readonly HubId[] {
    return [...this.#load().keys()];
  }

  of(id: HubId): readonly PeerAddress[] {
    return (this.#load().get(id)?.addresses ?? []).flatMap((text) => {
      const address = parseHostPort(text);
      return address === undefined ? [] : [{ ...address, expect: id }];
    });
  }

  /** Stores a hub's last address. Writes only if it changed or the last write was a day ago, because writing wears a memory card. */
  remember(id: HubId, address: PeerAddress): void {
    const stored = this.#load();
    const known = stored.get(id);
    const text = formatHostPort(address);
    const atMs = this.#clock.now();
    if (known !== undefined && known.addresses[0] === text && atMs - known.atMs < DAY_MS) return;
    const others = (known?.addresses ?? []).filter((other) => other !== text);
    const entry: StoredAddresses = { addresses: [text, ...others].slice(0, MAX_STORED_ADDRESSES), atMs };
    stored.set(id, entry);
    this.#store.set(SPACE, id, { ...entry }, { ttlMs: KEEP_MS });
    this.#forgetOldest(stored);
  }

  #forgetOldest(stored: Map<HubId, StoredAddresses>): void {
    if (stored.size <= MAX_HUBS) return;
    const [oldest] = [...stored].sort(([, one], [, other]) => one.atMs - other.atMs);
    if (oldest === undefined) return;
    stored.delete(oldest[0]);
    this.#store.delete(SPACE, oldest[0]);
  }

  #load(): Map<HubId, StoredAddresses> {
    this.#loaded ??= new Map(this.#store.entries(SPACE).map(({ key, value }) => [key as HubId, parseStoredAddresses(value)]));
    return this.#loaded;
  }
}

function parseStoredAddresses(value: Json): StoredAddresses {
  if (!isJsonObject(value) || !Array.isArray(value.addresses)) return { addresses: [], atMs: 0 };
  return { addresses: value.addresses.map(String), atMs: Number(value.atMs) || 0 };
}

const MAX_DIALLED_ADDRESSES = 12;

/**
 * Returns the addresses in the order of attempts, without duplicates. Addresses of the best source come first. Within a source, IPv6 and
 * IPv4 addresses alternate (RFC 8305 4) and link-local addresses come last.
 */
export function orderedAddresses(sources: readonly (readonly PeerAddress[])[]): readonly PeerAddress[] {
  const ordered = sources.flatMap((source) => {
    const local = source.filter(({ host }) => isLinkLocal(host));
    const wide = source.filter(({ host }) => !isLinkLocal(host));
    const six = wide.filter(({ host }) => host.includes(':'));
    const four = wide.filter(({ host }) => !host.includes(':'));
    return [...interleaved(six, four), ...local];
  });
  return [...new Map(ordered.map((address) => [formatHostPort(address), address])).values()].slice(0, MAX_DIALLED_ADDRESSES);
}

function interleaved<Item>(some: readonly Item[], others: readonly Item[]): readonly Item[] {
  return Array.from({ length: Math.max(some.length, others.length) }, (_, index) => [
    ...some.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]).flat();
}
