import type { EventBus } from '../core/events.ts';
import { isJsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { copyJson } from '../tools/schema/plain-json.ts';
import { type AgentRecord, isLiving } from './agent-record.ts';

const SPACE = 'agents';
/** How long an agent that has ended can still be looked up, and how many of them. */
const ENDED_KEPT_MS = 7 * 86_400_000;
const MAX_ENDED = 64;

/** All agents of this hub, in memory and on the disk; every change is told. */
export class AgentBook {
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
