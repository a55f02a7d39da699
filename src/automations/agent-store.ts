import type { ErrorCode } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { copyJson } from '../tools/schema/plain-json.ts';
import type { RecentRuns } from './run/run-rate-limit.ts';
import { type VersionFacts, VersionStore } from './versions/version-store.ts';

const SPACE = 'agents';
/** Time for which the record of an ended agent is kept. */
const ENDED_KEPT_MS = 7 * 86_400_000;
const MAX_ENDED = 64;

/** Stores all agents of this hub in memory and on the disk, and emits an event for each change. */
export class AgentStore {
  readonly #parts: { readonly store: KeyValueStore; readonly events: EventBus };
  readonly #records = new Map<string, AgentRecord>();
  /** The former definitions of automations. */
  readonly versions: VersionStore;

  constructor(parts: { readonly store: KeyValueStore; readonly events: EventBus }) {
    this.#parts = parts;
    this.versions = new VersionStore(parts.store);
  }

  load(): void {
    for (const { key, value } of this.#parts.store.entries(SPACE)) {
      // The cast is safe because only this class writes records.
      if (isJsonObject(value)) this.#records.set(key, value as unknown as AgentRecord);
    }
    this.versions.forgetOthers(new Set(this.#records.keys()));
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

  /** Writes the record to memory only, for example if the record of an ended agent cannot be written to the disk. */
  remember(record: AgentRecord): void {
    this.#records.set(record.id, record);
    this.#deleteOldest();
    const { id, type, runs, lastError, lastOutcome } = record;
    const problem = lastError && { code: lastError.code, message: lastError.message };
    this.#parts.events.emit('agent.changed', id, {
      agent_id: id,
      agent_type: type,
      status: shownStatus(record),
      runs,
      is_running: record.running !== undefined,
      ...(lastOutcome && { last_outcome: lastOutcome }),
      ...(problem && { last_error: problem }),
    });
  }

  #deleteOldest(): void {
    const ended = [...this.#records.values()].filter((record) => !isLiving(record));
    // The one that ended last stays: the next start of the hub ends its tokens if a crash keeps the hub from it now.
    for (const { id } of ended.sort((a, b) => endOf(b) - endOf(a)).slice(MAX_ENDED)) {
      this.#records.delete(id);
      this.#parts.store.delete(SPACE, id);
      this.versions.forget(id);
    }
  }
}

/** An `automation` runs in this hub; an `external` agent is an outside process that holds the agent's token. */
export type AgentType = 'automation' | 'external';

/** States of an agent. A `failing` automation pauses after repeated failures. `killed` and `expired` are final. */
export const AGENT_STATUSES = ['active', 'failing', 'killed', 'expired'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** How the last run of an automation ended. It is `unknown` if the hub stopped during the run. */
export const RUN_OUTCOMES = ['success', 'failure', 'stopped', 'unknown'] as const;
export type LastOutcome = (typeof RUN_OUTCOMES)[number];

/** Why an agent ended by itself. */
export type EndCause = 'lifetime_over' | 'token_revoked' | 'token_invalid';

/** The last error of an agent. */
interface AgentProblem {
  readonly code: ErrorCode;
  readonly message: string;
  readonly atMs: number;
}

/** A run that waits: what its trigger said, and how far it got. */
export interface WaitingRun {
  readonly facts: JsonObject;
  readonly progress: RunProgress;
}

/** How far a run got. Steps are named by their place, such as `1/options/0/2`. */
export interface RunProgress {
  /** Results of the steps that have ended. They are not done again. */
  readonly done: Readonly<Record<string, Json>>;
  /** When each wait that has begun ends, milliseconds since 1970. */
  readonly waits: Readonly<Record<string, number>>;
}

/** The stored record of an agent. Times are in milliseconds since 1970. */
export interface AgentRecord {
  readonly id: string;
  readonly type: AgentType;
  /** Type of an external agent, as named by its creator, such as `researcher`. */
  readonly kind?: string;
  readonly name: string;
  readonly status: AgentStatus;
  /** Id of the agent that spawned this agent; absent if the owner spawned it. */
  readonly parent?: string;
  readonly createdAtMs: number;
  /** When the agent's token ends. */
  readonly expiresAtMs: number;
  /** Present if the automation has no end: the hub then gives it a new token before the old one ends. */
  readonly renewsItself?: true;
  /** A renewal that has begun. It is on the disk before the new token exists, so that a crash leaves no token that nobody ends. */
  readonly renewing?: { readonly tokenIdsBefore: readonly string[] };
  readonly tokenId: string;
  /** Ids of earlier tokens of the agent. They end with the agent. */
  readonly formerTokenIds?: readonly string[];
  /** When and by whom the automation was disabled; absent while it is enabled. */
  readonly disabled?: { readonly atMs: number; readonly by: string };
  /** Ids of the tokens in the chain of the agent's token: the root token first, the agent's own token last. */
  readonly chain: readonly string[];
  readonly permissions: readonly string[];
  /** The token with which the hub makes an automation's calls; absent once the agent has ended. */
  readonly token?: string;
  readonly config: JsonObject;
  /** The present version of an automation; absent for the one with which it was made. */
  readonly version?: VersionFacts;
  /** Present if a person accepted it as a proposal: only persons edit it then. */
  readonly accepted?: { readonly by: string; readonly proposal: string; readonly proposedBy: string };
  /** Number of ended runs, including failed runs. */
  readonly runs: number;
  /** Number of failed runs since the last success. */
  readonly failures: number;
  readonly lastRunAtMs?: number;
  readonly lastOutcome?: LastOutcome;
  readonly lastError?: AgentProblem;
  /** A failing automation ignores triggers until this time, milliseconds since 1970. */
  readonly restsUntilMs?: number;
  /** Starts of the runs within the hour before the last one, for the cooldown and the limit per hour: a restart or an edit forgets none. */
  readonly recentRuns?: readonly RecentRuns[];
  /** The current run. It is on the disk before the run's first call, so that no run is repeated after a crash. */
  readonly running?: {
    readonly runId: string;
    readonly startedAtMs: number;
    /** Present while the run only waits: it then goes on after a restart of the hub. */
    readonly waiting?: WaitingRun;
  };
  /** Why the agent ended. */
  readonly reason?: string;
  /** When the agent ended, and who asked for it or, if it ended by itself, the cause. Absent in records of earlier versions. */
  readonly ended?: { readonly atMs: number; readonly by?: string; readonly cause?: EndCause };
}

function endOf({ ended, createdAtMs }: AgentRecord): number {
  return ended?.atMs ?? createdAtMs;
}

/** Returns whether the agent has not ended. */
export function isLiving({ status }: Pick<AgentRecord, 'status'>): boolean {
  return status === 'active' || status === 'failing';
}

/** Returns the status that people see: a living automation that somebody disabled is `disabled`. */
export function shownStatus(record: Pick<AgentRecord, 'status' | 'disabled'>): AgentStatus | 'disabled' {
  return record.disabled && isLiving(record) ? 'disabled' : record.status;
}

/**
 * Returns the ids of those who wrote what an automation does: who made the present version, or accepted it, and the same for the automations from
 * which it comes.
 */
export function authorsOf(
  { version, accepted, parent }: Pick<AgentRecord, 'version' | 'accepted' | 'parent'>,
  agents: { get(id: string): AgentRecord | undefined },
): readonly string[] {
  const author = version?.by ?? accepted?.by;
  const above = parent === undefined ? undefined : agents.get(parent);
  return [...new Set([...(author === undefined ? [] : [author]), ...(above ? authorsOf(above, agents) : [])])].sort();
}
