import { createHash } from 'node:crypto';
import { familyOf } from '../../core/access/agent-id.ts';
import { type Principal, principalKey } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { StorageConfig } from './storage-config.ts';

/** What an agent keeps under a key; milliseconds since 1970, absent = for ever. */
export interface Kept {
  readonly key: string;
  readonly value: Json;
  readonly expiresAtMs?: number;
}

/** What is to be kept, for how many milliseconds (for ever when absent), and whether only where there is nothing yet. */
export interface Keeping {
  readonly value: Json;
  readonly ttlMs?: number;
  readonly isOnlyNew: boolean;
}

/** What came of it; `isKept` is false where there was something already that had to stay. */
export interface KeepingOutcome {
  readonly isKept: boolean;
  readonly isNew: boolean;
  readonly expiresAtMs?: number;
}

/** Keys that begin so are the same for everybody. */
const SHARED = 'shared/';

/**
 * Values that agents keep by key. Each principal has keys of its own; those below `shared/` are everybody's who is granted them.
 * An agent and all that come from it share one bound. A value is on the disk when the call returns.
 */
export class AgentData {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  readonly #bounds: StorageConfig;

  constructor({ store, clock }: { readonly store: KeyValueStore; readonly clock: Clock }, bounds: StorageConfig) {
    this.#store = store;
    this.#clock = clock;
    this.#bounds = bounds;
  }

  get(principal: Principal, key: string): Kept | undefined {
    return entryOf(this.#store.get(...placeOf(principal, key)));
  }

  /** Errors: RESOURCE_EXCEEDED when it would be more than one agent may keep; those of the store. */
  keep(principal: Principal, key: string, { value, ttlMs, isOnlyNew }: Keeping): KeepingOutcome {
    const before = this.get(principal, key);
    if (before && isOnlyNew) return { isKept: false, isNew: false, ...expiry(before.expiresAtMs) };
    const [space, id] = placeOf(principal, key);
    const kept = { key, value, ...expiry(ttlMs === undefined ? undefined : this.#clock.now() + ttlMs) };
    this.#requireRoom(space, before, kept);
    this.#store.set(space, id, { owner: ownerOf(principal, key), ...kept }, ttlMs === undefined ? {} : { ttlMs });
    return { isKept: true, isNew: before === undefined, ...expiry(kept.expiresAtMs) };
  }

  /** True when there was something. */
  delete(principal: Principal, key: string): boolean {
    return this.#store.delete(...placeOf(principal, key));
  }

  /** All of the principal's own and shared entries whose key begins so, by key. */
  list(principal: Principal, prefix: string): readonly Kept[] {
    const spaces = [spaceOf(principal, ''), spaceOf(principal, SHARED)];
    return spaces
      .flatMap((space) => this.#store.entries(space))
      .flatMap(({ value }) => (isOwn(principal, value) ? (entryOf(value) ?? []) : []))
      .filter(({ key }) => key.startsWith(prefix))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #requireRoom(space: string, before: Kept | undefined, kept: Kept): void {
    const entries = this.#store.entries(space).flatMap(({ value }) => entryOf(value) ?? []);
    const keys = entries.length + (before ? 0 : 1);
    const bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 0) - (before ? sizeOf(before) : 0) + sizeOf(kept);
    const { maxKeys, maxBytes } = this.#bounds;
    if (keys <= maxKeys && bytes <= maxBytes) return;
    const message = `One agent keeps at most ${maxKeys} keys with ${maxBytes} bytes (connectors.storage); delete something first`;
    throw new AtmoError('RESOURCE_EXCEEDED', message, { keys, bytes, max_keys: maxKeys, max_bytes: maxBytes, permanent: true });
  }
}

/** Space and key in the store. The store's keys are short, ours with an agent's id are not: theirs is a hash. */
function placeOf(principal: Principal, key: string): [space: string, id: string] {
  const id = createHash('sha256')
    .update(`${ownerOf(principal, key)}\n${key}`)
    .digest('hex');
  return [spaceOf(principal, key), id];
}

function spaceOf(principal: Principal, key: string): string {
  return key.startsWith(SHARED) ? 'data/shared' : `data/of/${familyOf(principalKey(principal))}`;
}

function ownerOf(principal: Principal, key: string): string {
  return key.startsWith(SHARED) ? '' : principalKey(principal);
}

function isOwn(principal: Principal, stored: Json): boolean {
  const { owner } = stored as { readonly owner: string };
  return owner === '' || owner === principalKey(principal);
}

function entryOf(stored: Json | undefined): Kept | undefined {
  return stored as Kept | undefined;
}

function expiry(expiresAtMs: number | undefined): { readonly expiresAtMs?: number } {
  return expiresAtMs === undefined ? {} : { expiresAtMs };
}

function sizeOf({ key, value }: Kept): number {
  return Buffer.byteLength(key) + Buffer.byteLength(JSON.stringify(value));
}
