import { createHash } from 'node:crypto';
import { type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { type Json, present } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { type Connector, type ConnectorContext, hasPermission, resultSchema } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import type { StorageConfig } from './storage-config.ts';

/** Returns the tools with which agents store values on the hub. These tools need no configuration. */
export function openStorage(
  { store, clock }: Pick<ConnectorContext, 'store' | 'clock'>,
  { storage }: Pick<ConnectorsConfig, 'storage'>,
): Connector {
  const data = new AgentData({ store, clock }, storage);
  return {
    tools: [storeDataTool(data), getDataTool(data), deleteDataTool(data), listDataTool(data)],
    capabilities: [{ type: 'storage', description: () => 'Values that agents keep by key' }],
  };
}

const KEY = '^[a-zA-Z0-9_/.-]+$';
/** Longest lifetime of a value in seconds: a hundred years. Its end is still within the range of JavaScript's dates. */
const MAX_TTL_SECONDS = 3_155_760_000;

const key = p.string({ description: 'Key, such as notes/shopping; keys below shared/ are everybody’s', pattern: KEY, maxLength: 256 });
const keyTool = { category: 'managing', capabilities: ['storage'], preferLocal: true, tags: ['storage', 'memory', 'key-value'] } as const;
const text = { type: 'string' };
const time = { type: 'string', format: 'date-time' };

function storeDataTool(data: AgentData): RegisteredTool {
  return defineTool(
    {
      ...keyTool,
      name: 'store_data',
      isDestructive: true,
      title: 'Store data',
      description: 'Keeps a value under a key of your own until you delete it or its time is over; restarts do not harm it.',
      permissions: ['storage:write:{key}'],
      hasSideEffects: true,
      parameters: {
        key,
        value: p.json({ description: 'What to keep: any JSON', secret: true }),
        ttl_seconds: p.integer({
          description: 'Forgets it after so long; 0 = never',
          minimum: 0,
          maximum: MAX_TTL_SECONDS,
          default: 0,
          unit: 's',
        }),
        if_not_exists: p.boolean({ description: 'Leaves a value that is there already as it is, and tells success false', default: false }),
      },
      returns: resultSchema(['success', 'key', 'created'], {
        success: { type: 'boolean' },
        key: text,
        created: { type: 'boolean' },
        expires_at: time,
      }),
      examples: [{ description: 'Remember for an hour', params: { key: 'notes/oven', value: 'on since 18:00', ttl_seconds: 3_600 } }],
    },
    async ({ key, value, ttl_seconds: ttlSeconds, if_not_exists: isOnlyNew }, { principal }) => {
      const ttl = ttlSeconds === 0 ? {} : { ttlMs: ttlSeconds * 1_000 };
      const { isKept, isNew, expiresAtMs } = data.put(principal, key, { value, isOnlyNew, ...ttl });
      return { success: isKept, key, created: isNew, ...expiresAt(expiresAtMs) };
    },
  );
}

function getDataTool(data: AgentData): RegisteredTool {
  return defineTool(
    {
      ...keyTool,
      name: 'get_data',
      title: 'Get data',
      description: 'Tells the value that was stored under a key of your own, and whether there is one.',
      permissions: ['storage:read:{key}'],
      hasSideEffects: false,
      audit: { logResult: false },
      parameters: { key },
      returns: resultSchema(['exists', 'value'], {
        value: { description: 'What was stored; null where nothing is' },
        exists: { type: 'boolean' },
        expires_at: time,
      }),
      examples: [{ description: 'Recall', params: { key: 'notes/oven' } }],
    },
    async ({ key }, { principal }) => {
      const kept = data.get(principal, key);
      return { exists: kept !== undefined, value: kept?.value ?? null, ...expiresAt(kept?.expiresAtMs) };
    },
  );
}

function deleteDataTool(data: AgentData): RegisteredTool {
  return defineTool(
    {
      ...keyTool,
      name: 'delete_data',
      title: 'Delete data',
      description: 'Forgets the value under a key of your own; tells whether there was one.',
      permissions: ['storage:write:{key}'],
      hasSideEffects: true,
      isIdempotent: true,
      parameters: { key },
      returns: resultSchema(['success', 'existed'], { success: { type: 'boolean' }, existed: { type: 'boolean' } }),
      examples: [{ description: 'Forget', params: { key: 'notes/oven' } }],
    },
    async ({ key }, { principal }) => ({ success: true, existed: data.delete(principal, key) }),
  );
}

function listDataTool(data: AgentData): RegisteredTool {
  return defineTool(
    {
      ...keyTool,
      name: 'list_data',
      title: 'List data',
      description: 'Lists the keys that you stored something under and may read, in their order.',
      hasSideEffects: false,
      parameters: {
        prefix: p.string({
          description: 'What keys have to begin with, such as notes/',
          pattern: '^[a-zA-Z0-9_/.-]*$',
          maxLength: 256,
          default: '',
        }),
        limit: p.integer({ description: 'Most keys to tell', minimum: 1, maximum: 1_000, default: 100 }),
        offset: p.integer({ description: 'How many to leave out before', minimum: 0, default: 0 }),
      },
      returns: resultSchema(['keys', 'total'], {
        keys: { type: 'array', items: resultSchema(['key'], { key: text, expires_at: time }) },
        total: { type: 'integer' },
      }),
      examples: [{ description: 'All notes', params: { prefix: 'notes/' } }],
    },
    async ({ prefix, limit, offset }, { principal, permissions }) => {
      // The list must not show keys whose values the caller may not read.
      const found = data.list(principal, prefix).filter(({ key }) => hasPermission(permissions, `storage:read:${key}`));
      const keys = found.slice(offset, offset + limit).map(({ key, expiresAtMs }) => ({ key, ...expiresAt(expiresAtMs) }));
      return { keys, total: found.length };
    },
  );
}

function expiresAt(expiresAtMs: number | undefined): { readonly expires_at?: string } {
  return expiresAtMs === undefined ? {} : { expires_at: isoTime(expiresAtMs) };
}

/** A value that an agent stored under a key. `expiresAtMs` counts from 1970, and is absent if the value never expires. */
interface StoredValue {
  readonly key: string;
  readonly value: Json;
  readonly expiresAtMs?: number;
}

interface PutRequest {
  readonly value: Json;
  /** Lifetime of the value in milliseconds; absent if it never expires. */
  readonly ttlMs?: number;
  /** True to leave an existing value unchanged. */
  readonly isOnlyNew: boolean;
}

interface PutResult {
  /** True if the new value was stored. False if an existing value was left unchanged. */
  readonly isKept: boolean;
  readonly isNew: boolean;
  readonly expiresAtMs?: number;
}

const SHARED = 'shared/';

/**
 * Values that agents store by key. Keys below `shared/` are common to all agents with the permission. All other keys are separate for each
 * principal. An agent and its descendants share one limit. A stored value is on the disk when `put` returns.
 */
export class AgentData {
  readonly #parts: Pick<ConnectorContext, 'store' | 'clock'>;
  readonly #bounds: StorageConfig;

  constructor(parts: Pick<ConnectorContext, 'store' | 'clock'>, bounds: StorageConfig) {
    this.#parts = parts;
    this.#bounds = bounds;
  }

  get(principal: Principal, key: string): StoredValue | undefined {
    return entryOf(this.#parts.store.get(...storeKeyOf(principal, key)));
  }

  /** Stores a value. Throws RESOURCE_EXCEEDED above the agent's limit, or the store's error if the store cannot write the value. */
  put(principal: Principal, key: string, { value, ttlMs, isOnlyNew }: PutRequest): PutResult {
    const { store, clock } = this.#parts;
    const before = this.get(principal, key);
    if (before && isOnlyNew) return present({ isKept: false, isNew: false, expiresAtMs: before.expiresAtMs });
    const [space, id] = storeKeyOf(principal, key);
    const stored = { key, value, ...(ttlMs !== undefined && { expiresAtMs: clock.now() + ttlMs }) };
    this.#requireSpace(space, before, stored);
    store.set(space, id, { owner: ownerOf(principal, key), ...stored }, ttlMs === undefined ? {} : { ttlMs });
    return present({ isKept: true, isNew: before === undefined, expiresAtMs: stored.expiresAtMs });
  }

  /** Deletes a value. Returns whether there was one. */
  delete(principal: Principal, key: string): boolean {
    return this.#parts.store.delete(...storeKeyOf(principal, key));
  }

  /** Returns the values whose keys have the prefix, sorted by key: the principal's own values and the shared ones. */
  list(principal: Principal, prefix: string): readonly StoredValue[] {
    const spaces = [spaceOf(principal, ''), spaceOf(principal, SHARED)];
    return spaces
      .flatMap((space) => this.#parts.store.entries(space))
      .flatMap(({ value }) => (isOwn(principal, value) ? (entryOf(value) ?? []) : []))
      .filter(({ key }) => key.startsWith(prefix))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #requireSpace(space: string, before: StoredValue | undefined, stored: StoredValue): void {
    const entries = this.#parts.store.entries(space).flatMap(({ value }) => entryOf(value) ?? []);
    const keys = entries.length + (before ? 0 : 1);
    const bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 0) - (before ? sizeOf(before) : 0) + sizeOf(stored);
    const { maxKeys, maxBytes } = this.#bounds;
    if (keys <= maxKeys && bytes <= maxBytes) return;
    const message = `One agent keeps at most ${maxKeys} keys with ${maxBytes} bytes (connectors.storage); delete something first`;
    throw new AtmoError('RESOURCE_EXCEEDED', message, { keys, bytes, max_keys: maxKeys, max_bytes: maxBytes, permanent: true });
  }
}

/** Returns the space and the key for the store. That key is a hash of owner and key, because keys in the store must be short. */
function storeKeyOf(principal: Principal, key: string): [space: string, id: string] {
  const id = createHash('sha256')
    .update(`${ownerOf(principal, key)}\n${key}`)
    .digest('hex');
  return [spaceOf(principal, key), id];
}

function spaceOf(principal: Principal, key: string): string {
  return key.startsWith(SHARED) ? 'data/shared' : `data/of/${rootAgentOf(principalKey(principal))}`;
}

function ownerOf(principal: Principal, key: string): string {
  return key.startsWith(SHARED) ? '' : principalKey(principal);
}

function isOwn(principal: Principal, stored: Json): boolean {
  const { owner } = stored as { readonly owner: string };
  return owner === '' || owner === principalKey(principal);
}

function entryOf(stored: Json | undefined): StoredValue | undefined {
  return stored as StoredValue | undefined;
}

function sizeOf({ key, value }: StoredValue): number {
  return Buffer.byteLength(key) + Buffer.byteLength(JSON.stringify(value));
}
