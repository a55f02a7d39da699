import type { Json, JsonObject } from '../../core/json.ts';
import { isoTime } from '../../core/time/iso-time.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toHdnRecord } from '../../tools/forms/hdn-record.ts';
import type { RedisCommand } from './redis-link.ts';

const HISTORY_LENGTH = 500;

/** A finished call (source 003, usage history). */
export interface UsageEntry {
  readonly agent: string;
  readonly entry: JsonObject;
}

/**
 * The keys of source 003 ("Redis keys", "Usage history"): `tools:registry`, `tool:<id>`, `tools:<agent>:usage_history`,
 * `tools:global:usage_history`; beside them `tools:node:<hub>`, the ids that this hub put there.
 */
export class RegistryKeys {
  readonly #prefix: string;
  readonly #node: string;

  constructor(prefix: string, node: string) {
    this.#prefix = prefix;
    this.#node = node;
  }

  /** Set of the ids that this hub put there. */
  get own(): string {
    return `${this.#prefix}tools:node:${this.#node}`;
  }

  put(tool: RegisteredTool, createdAtMs: number): readonly RedisCommand[] {
    const record = { ...toHdnRecord(tool.definition, createdAtMs), node: this.#node };
    return [
      ['SET', `${this.#prefix}tool:${tool.id}`, JSON.stringify(record)],
      ['SADD', `${this.#prefix}tools:registry`, tool.id],
      ['SADD', this.own, tool.id],
    ];
  }

  drop(id: string): readonly RedisCommand[] {
    return [
      ['DEL', `${this.#prefix}tool:${id}`],
      ['SREM', `${this.#prefix}tools:registry`, id],
      ['SREM', this.own, id],
    ];
  }

  usage({ agent, entry }: UsageEntry): readonly RedisCommand[] {
    const text = JSON.stringify(entry);
    return [`${this.#prefix}tools:global:usage_history`, `${this.#prefix}tools:${agent}:usage_history`].flatMap((key): RedisCommand[] => [
      ['LPUSH', key, text],
      ['LTRIM', key, '0', String(HISTORY_LENGTH - 1)],
    ]);
  }
}

/** A finished call as its event tells it; undefined for other events. */
export function usageOf(type: string, data: JsonObject, atMs: number): UsageEntry | undefined {
  const isFailed = type === 'agi.tool.failed';
  if (type !== 'agi.tool.result' && !isFailed) return undefined;
  const agent = typeof data.agent_id === 'string' ? data.agent_id : 'unknown';
  const told: readonly [string, Json | undefined][] = [
    ['duration_ms', data.duration_ms],
    ['error', data.code],
    ['trace_id', data.trace_id],
  ];
  const known = told.filter((pair): pair is [string, Json] => pair[1] !== undefined);
  const entry = { ts: isoTime(atMs), type: isFailed ? 'failed' : 'result', tool: data.tool ?? null, agent, ...Object.fromEntries(known) };
  return { agent, entry };
}
