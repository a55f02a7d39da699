import type { ErrorCode } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';

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
