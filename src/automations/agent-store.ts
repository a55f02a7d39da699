import type { ErrorCode } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { copyJson } from '../tools/schema/plain-json.ts';

const SPACE = 'agents';
/** How long an agent that has ended can still be looked up, and how many of them. */
const ENDED_KEPT_MS = 7 * 86_400_000;
const MAX_ENDED = 64;

/** All agents of this hub, in memory and on the disk; every change is told. */
export class AgentStore {
  readonly #store: KeyValueStore;
  readonly #events: EventBus;
  readonly #records = new Map<string, AgentRecord>();

  constructor(collaborators: { readonly store: KeyValueStore; readonly events: EventBus }) {
    this.#store = collaborators.store;
    this.#events = collaborators.events;
  }

  load(): void {
    for (const { key, value } of this.#store.entries(SPACE)) {
      // Nobody but this class writes here.
      if (isJsonObject(value)) this.#records.set(key, value as unknown as AgentRecord);
    }
  }

  get(id: string): AgentRecord | undefined {
    return this.#records.get(id);
  }

  /** Sorted by id, so that children follow their parent. */
  all(): readonly AgentRecord[] {
    return [...this.#records.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  living(): readonly AgentRecord[] {
    return this.all().filter(isLiving);
  }

  /** The record is on the disk when this returns; STORAGE_FAILED leaves what was known before. */
  put(record: AgentRecord): void {
    this.#store.set(SPACE, record.id, copyJson(record), isLiving(record) ? {} : { ttlMs: ENDED_KEPT_MS });
    this.remember(record);
  }

  /** As `put`, in memory alone: for an end that holds although the disk does not take it. */
  remember(record: AgentRecord): void {
    this.#records.set(record.id, record);
    this.#forgetOld();
    const { id, type, status, runs, lastError } = record;
    const problem = lastError && { code: lastError.code, message: lastError.message };
    this.#events.emit('agent.changed', id, {
      agent_id: id,
      agent_type: type,
      status,
      runs,
      is_running: record.running !== undefined,
      ...(problem && { last_error: problem }),
    });
  }

  #forgetOld(): void {
    const ended = [...this.#records.values()].filter((record) => !isLiving(record));
    for (const { id } of ended.sort((a, b) => b.createdAtMs - a.createdAtMs).slice(MAX_ENDED)) {
      this.#records.delete(id);
      this.#store.delete(SPACE, id);
    }
  }
}

/** `automation` runs in this hub; `external` is a process elsewhere that holds the token. */
export type AgentType = 'automation' | 'external';

/** `failing` is an automation that rests after failures; the last two are final. */
export const AGENT_STATUSES = ['active', 'failing', 'killed', 'expired'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** What went wrong last. */
export interface AgentProblem {
  readonly code: ErrorCode;
  readonly message: string;
  readonly atMs: number;
}

/** What the hub keeps of an agent, as it lies on the disk. Times in milliseconds since 1970. */
export interface AgentRecord {
  readonly id: string;
  readonly type: AgentType;
  /** What its maker calls an external agent, such as `researcher`. */
  readonly kind?: string;
  readonly name: string;
  readonly status: AgentStatus;
  /** Id of the agent that spawned it; absent when the owner did. */
  readonly parent?: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly tokenId: string;
  /** Ids of the tokens that its own comes from, root first, its own last. */
  readonly chain: readonly string[];
  readonly permissions: readonly string[];
  /** An automation's own token, which the hub uses for it; gone when the agent has ended. */
  readonly token?: string;
  readonly config: JsonObject;
  /** Runs that ended, well or not. */
  readonly runs: number;
  /** Failed runs since the last one that went well. */
  readonly failures: number;
  readonly lastRunAtMs?: number;
  readonly lastError?: AgentProblem;
  /** A failing automation tries again at the first trigger after this. */
  readonly restsUntilMs?: number;
  /** Written before the first call of a run, so that no run begins twice. */
  readonly running?: { readonly runId: string; readonly startedAtMs: number };
  /** Why it ended. */
  readonly reason?: string;
}

/** True while it may act. */
export function isLiving({ status }: Pick<AgentRecord, 'status'>): boolean {
  return status === 'active' || status === 'failing';
}
