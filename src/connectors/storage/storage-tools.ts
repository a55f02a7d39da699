import { isoTime } from '../../core/time/iso-time.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { holds } from '../models/held-permissions.ts';
import type { AgentData } from './agent-data.ts';

const KEY = '^[a-zA-Z0-9_/.-]+$';
/** A hundred years: beyond it JavaScript's times would end. */
const MAX_TTL_SECONDS = 3_155_760_000;

const key = p.string({ description: 'Key, such as notes/shopping; keys below shared/ are everybody’s', pattern: KEY, maxLength: 256 });
const keyTool = { category: 'managing', capabilities: ['storage'], preferLocal: true, tags: ['storage', 'memory', 'key-value'] } as const;
const text = { type: 'string' };
const time = { type: 'string', format: 'date-time' };

/** `store_data` and `get_data` (source 000 §5, §8.8), `delete_data` and `list_data`. */
export function storageTools(data: AgentData): readonly RegisteredTool[] {
  return [storeDataTool(data), getDataTool(data), deleteDataTool(data), listDataTool(data)];
}

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
      returns: {
        type: 'object',
        required: ['success', 'key', 'created'],
        properties: { success: { type: 'boolean' }, key: text, created: { type: 'boolean' }, expires_at: time },
      },
      examples: [{ description: 'Remember for an hour', params: { key: 'notes/oven', value: 'on since 18:00', ttl_seconds: 3_600 } }],
    },
    async ({ key, value, ttl_seconds: ttlSeconds, if_not_exists: isOnlyNew }, { principal }) => {
      const ttl = ttlSeconds === 0 ? {} : { ttlMs: ttlSeconds * 1_000 };
      const { isKept, isNew, expiresAtMs } = data.keep(principal, key, { value, isOnlyNew, ...ttl });
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
      returns: { type: 'object', required: ['exists', 'value'], properties: { value: {}, exists: { type: 'boolean' }, expires_at: time } },
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
      returns: {
        type: 'object',
        required: ['success', 'existed'],
        properties: { success: { type: 'boolean' }, existed: { type: 'boolean' } },
      },
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
      returns: {
        type: 'object',
        required: ['keys', 'total'],
        properties: {
          keys: { type: 'array', items: { type: 'object', required: ['key'], properties: { key: text, expires_at: time } } },
          total: { type: 'integer' },
        },
      },
      examples: [{ description: 'All notes', params: { prefix: 'notes/' } }],
    },
    async ({ prefix, limit, offset }, { principal, permissions }) => {
      // What a caller could not read one by one it does not get by a list.
      const found = data.list(principal, prefix).filter(({ key }) => holds(permissions, `storage:read:${key}`));
      const keys = found.slice(offset, offset + limit).map(({ key, expiresAtMs }) => ({ key, ...expiresAt(expiresAtMs) }));
      return { keys, total: found.length };
    },
  );
}

function expiresAt(expiresAtMs: number | undefined): { readonly expires_at?: string } {
  return expiresAtMs === undefined ? {} : { expires_at: isoTime(expiresAtMs) };
}
