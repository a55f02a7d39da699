import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { formatHostPort, parseHostPort } from '../transport/host-port.ts';
import type { PeerAddress } from '../transport/mesh-engine.ts';
import { isLinkLocal } from './network-interfaces.ts';

/** Where a hub says that it can be reached. */
export interface KnownAddresses {
  readonly id: HubId;
  /** `host:port`. */
  readonly addresses: readonly string[];
}

/** What the book looks things up in. */
export interface PeerAddressSources {
  readonly self: HubId;
  readonly remembered: PeerAddressStore;
  /** What members announce. */
  readonly announced: () => readonly KnownAddresses[];
  /** `host:port` on which this hub can be reached itself. */
  readonly own: () => ReadonlySet<string>;
  /** Hubs that are not to be connected any more. */
  readonly isBarred: (id: HubId) => boolean;
}

/** All hubs of the mesh that are known, and where they may be. */
export class PeerAddressRegistry {
  readonly #parts: PeerAddressSources;
  readonly #sighted = new Map<HubId, readonly PeerAddress[]>();
  readonly #given = new Map<HubId, PeerAddress>();

  constructor(parts: PeerAddressSources) {
    this.#parts = parts;
  }

  /** It was seen on a link just now. */
  addDiscovered(id: HubId, addresses: readonly PeerAddress[]): void {
    this.#sighted.set(id, addresses);
  }

  removeDiscovered(id: HubId): void {
    this.#sighted.delete(id);
  }

  /** The owner's address turned out to be that of the hub. */
  addConfigured(id: HubId, address: PeerAddress): void {
    this.#given.set(id, { ...address, expect: id });
  }

  /** Hubs that were connected or whose announcement was believed: strangers cannot add to these. */
  proven(): ReadonlySet<HubId> {
    const announced = this.#parts.announced().map(({ id }) => id);
    return this.#others([...announced, ...this.#given.keys(), ...this.#parts.remembered.hubs()]);
  }

  /** These, and hubs that were only seen on a link: anybody can claim to be one. */
  all(): ReadonlySet<HubId> {
    return this.#others([...this.proven(), ...this.#sighted.keys()]);
  }

  /** Hubs at addresses that the owner gave. */
  configured(): ReadonlySet<HubId> {
    return this.#others(this.#given.keys());
  }

  /** Where to try a hub, the likeliest place first: where it is seen, where it said it is, where it was. */
  addressesOf(id: HubId): readonly PeerAddress[] {
    const announced = this.#parts.announced().find((known) => known.id === id)?.addresses ?? [];
    const given = this.#given.get(id);
    const own = this.#parts.own();
    return orderedAddresses([
      this.#sighted.get(id) ?? [],
      given === undefined ? [] : [given],
      announced.flatMap((text) => announcedAddress(text, id)),
      this.#parts.remembered.of(id),
    ]).filter((address) => !own.has(formatHostPort(address)));
  }

  #others(ids: Iterable<HubId>): ReadonlySet<HubId> {
    return new Set([...ids].filter((id) => id !== this.#parts.self && !this.#parts.isBarred(id)));
  }
}

// A link-local address that another hub announces means something on its own links only.
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
  /** `host:port`, the last one first. */
  readonly addresses: readonly string[];
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Under which addresses hubs were connected last, for 30 days; so a mesh comes back after a power cut without discovery. */
export class PeerAddressStore {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  #memories: Map<HubId, StoredAddresses> | undefined;

  constructor(store: KeyValueStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  hubs(): readonly HubId[] {
    return [...this.#load().keys()];
  }

  /** The last one first. */
  of(id: HubId): readonly PeerAddress[] {
    return (this.#load().get(id)?.addresses ?? []).flatMap((text) => {
      const address = parseHostPort(text);
      return address === undefined ? [] : [{ ...address, expect: id }];
    });
  }

  /** Writes only what is new, or a day old: the disk may be a card that wears. */
  remember(id: HubId, address: PeerAddress): void {
    const memories = this.#load();
    const known = memories.get(id);
    const text = formatHostPort(address);
    const atMs = this.#clock.now();
    if (known !== undefined && known.addresses[0] === text && atMs - known.atMs < DAY_MS) return;
    const others = (known?.addresses ?? []).filter((other) => other !== text);
    const memory: StoredAddresses = { addresses: [text, ...others].slice(0, MAX_STORED_ADDRESSES), atMs };
    memories.set(id, memory);
    this.#store.set(SPACE, id, { ...memory }, { ttlMs: KEEP_MS });
    this.#forgetOldest(memories);
  }

  #forgetOldest(memories: Map<HubId, StoredAddresses>): void {
    if (memories.size <= MAX_HUBS) return;
    const [oldest] = [...memories].sort(([, one], [, other]) => one.atMs - other.atMs);
    if (oldest === undefined) return;
    memories.delete(oldest[0]);
    this.#store.delete(SPACE, oldest[0]);
  }

  #load(): Map<HubId, StoredAddresses> {
    this.#memories ??= new Map(this.#store.entries(SPACE).map(({ key, value }) => [key as HubId, parseStoredAddresses(value)]));
    return this.#memories;
  }
}

function parseStoredAddresses(value: Json): StoredAddresses {
  if (!isJsonObject(value) || !Array.isArray(value.addresses)) return { addresses: [], atMs: 0 };
  return { addresses: value.addresses.map(String), atMs: Number(value.atMs) || 0 };
}

const MAX_DIALLED_ADDRESSES = 12;

/**
 * Addresses in the order in which to try them, each once: sources come best first; within one, IPv6 and IPv4 take turns
 * (RFC 8305 4) and link-local addresses, which mean something on one link only, stand at its end.
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
