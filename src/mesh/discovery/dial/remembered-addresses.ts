import type { HubId } from '../../../core/ids.ts';
import { isJsonObject, type Json } from '../../../core/json.ts';
import type { KeyValueStore } from '../../../core/storage/key-value-store.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { formatHostPort, parseHostPort } from '../../engine/host-port.ts';
import type { PeerAddress } from '../../engine/mesh-engine.ts';

const SPACE = 'mesh-addresses';
const DAY_MS = 86_400_000;
const KEEP_MS = 30 * DAY_MS;
const MAX_HUBS = 256;
const MAX_ADDRESSES = 4;

interface Memory {
  /** `host:port`, the last one first. */
  readonly addresses: readonly string[];
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Under which addresses hubs were connected last, for 30 days; so a mesh comes back after a power cut without discovery. */
export class RememberedAddresses {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  #memories: Map<HubId, Memory> | undefined;

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
    const memory: Memory = { addresses: [text, ...others].slice(0, MAX_ADDRESSES), atMs };
    memories.set(id, memory);
    this.#store.set(SPACE, id, { ...memory }, { ttlMs: KEEP_MS });
    this.#forgetOldest(memories);
  }

  #forgetOldest(memories: Map<HubId, Memory>): void {
    if (memories.size <= MAX_HUBS) return;
    const [oldest] = [...memories].sort(([, one], [, other]) => one.atMs - other.atMs);
    if (oldest === undefined) return;
    memories.delete(oldest[0]);
    this.#store.delete(SPACE, oldest[0]);
  }

  #load(): Map<HubId, Memory> {
    this.#memories ??= new Map(this.#store.entries(SPACE).map(({ key, value }) => [key as HubId, memoryOf(value)]));
    return this.#memories;
  }
}

function memoryOf(value: Json): Memory {
  if (!isJsonObject(value) || !Array.isArray(value.addresses)) return { addresses: [], atMs: 0 };
  return { addresses: value.addresses.map(String), atMs: Number(value.atMs) || 0 };
}
