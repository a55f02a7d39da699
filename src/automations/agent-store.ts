import type { ErrorCode } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { copyJson } from '../tools/schema/plain-json.ts';

const SPACE = 'agents';
/** How long the record of an ended agent is kept, and how many of them. */
const ENDED_KEPT_MS = 7 * 86_400_000;
const MAX_ENDED = 64;

/** All agents of this hub, in memory and on the disk; emits an event for each change. */
export class AgentStore {
  readonly #parts: { readonly store: KeyValueStore; readonly events: EventBus };
  readonly #records = new Map<string, AgentRecord>();

  constructor(parts: { readonly store: KeyValueStore; readonly events: EventBus }) {
    this.#parts = parts;
  }

  load(): void {
    for (const { key, value } of this.#parts.store.entries(SPACE)) {
      // Nobody but this class writes here.
      if (isJsonObject(value)) this.#records.set(key, value as unknown as AgentRecord);
    }
  }

  get(id: string): AgentRecord | undefined {
    return this.#records.get(id);
  }

  /** Returns all records sorted by id, so that children follow their parent. */
  all(): readonly AgentRecord[] {
    return [...this.#records.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  living(): readonly AgentRecord[] {
    return this.all().filter(isLiving);
  }

  /** Writes the record to the disk, then to memory. Throws STORAGE_FAILED if the write fails; both are then unchanged. */
  put(record: AgentRecord): void {
    this.#parts.store.set(SPACE, record.id, copyJson(record), isLiving(record) ? {} : { ttlMs: ENDED_KEPT_MS });
    this.remember(record);
  }

  /** Stores a record only in memory: for the end of an agent if the disk fails. */
  remember(record: AgentRecord): void {
    this.#records.set(record.id, record);
    this.#deleteOldest();
    const { id, type, status, runs, lastError } = record;
    const problem = lastError && { code: lastError.code, message: lastError.message };
    this.#parts.events.emit('agent.changed', id, {
      agent_id: id,
      agent_type: type,
      status,
      runs,
      is_running: record.running !== undefined,
      ...(problem && { last_error: problem }),
    });
  }

  #deleteOldest(): void {
    const ended = [...this.#records.values()].filter((record) => !isLiving(record));
    for (const { id } of ended.sort((a, b) => b.createdAtMs - a.createdAtMs).slice(MAX_ENDED)) {
      this.#records.delete(id);
      this.#parts.store.delete(SPACE, id);
    }
  }
}

/** `automation` runs in this hub; `external` is a process elsewhere that holds the token. */
export type AgentType = 'automation' | 'external';

/** `failing` is an automation that rests after failures; the last two are final. */
export const AGENT_STATUSES = ['active', 'failing', 'killed', 'expired'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** The last error of an agent. */
export interface AgentProblem {
  readonly code: ErrorCode;
  readonly message: string;
  readonly atMs: number;
}

/** The stored record of an agent. Times are in milliseconds since 1970. */
export interface AgentRecord {
  readonly id: string;
  readonly type: AgentType;
  /** The kind of an external agent, named by the spawning agent, such as `researcher`. */
  readonly kind?: string;
  readonly name: string;
  readonly status: AgentStatus;
  /** Id of the agent that spawned it; absent when the owner did. */
  readonly parent?: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly tokenId: string;
  /** Ids of the tokens that its token derives from, root first, its own last. */
  readonly chain: readonly string[];
  readonly permissions: readonly string[];
  /** The token with which the hub makes an automation's calls; absent once the agent has ended. */
  readonly token?: string;
  readonly config: JsonObject;
  /** Number of ended runs, including failed ones. */
  readonly runs: number;
  /** Failed runs since the last success. */
  readonly failures: number;
  readonly lastRunAtMs?: number;
  readonly lastError?: AgentProblem;
  /** A failing automation tries again at the first trigger after this. */
  readonly restsUntilMs?: number;
  /** Written before the first call of a run, so that no run is made twice. */
  readonly running?: { readonly runId: string; readonly startedAtMs: number };
  /** The reason of its end. */
  readonly reason?: string;
}

/** Returns whether the agent may act. */
export function isLiving({ status }: Pick<AgentRecord, 'status'>): boolean {
  return status === 'active' || status === 'failing';
}
