import { canonicalJson } from '../codec/canonical-json.ts';
import { repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { type ErrorCode, isErrorCode } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';

/** The counters of a tool or an agent. */
interface UsageTotals {
  readonly calls: number;
  readonly errors: number;
  readonly totalMs: number;
  /** End of the last call, in milliseconds since 1970. */
  readonly lastMs: number;
  /** The error of the last call that failed. */
  readonly lastError?: ErrorCode;
}

/** Usage counters of a tool. */
export interface ToolUsage extends UsageTotals {
  readonly toolId: string;
}

/** Usage counters of an agent. */
export interface AgentUsage extends UsageTotals {
  readonly agentId: string;
}

/** A finished call without its parameters. */
export interface UsageRecord {
  readonly toolId: string;
  readonly agentId: string;
  readonly atMs: number;
  readonly durationMs: number;
  readonly error?: ErrorCode;
}

const HISTORY_LENGTH = 500;
const AGENT_HISTORY_LENGTH = 100;
const MAX_TOOLS = 2_000;
const MAX_AGENTS = 200;
const NEVER: UsageTotals = { calls: 0, errors: 0, totalMs: 0, lastMs: 0 };

/** Counts calls per tool and per agent, and keeps the newest calls. */
export class UsageCounter {
  readonly #tools = new Map<string, UsageTotals>();
  readonly #agents = new Map<string, UsageTotals>();
  readonly #history: UsageRecord[] = [];
  readonly #agentHistory = new Map<string, UsageRecord[]>();

  record(record: UsageRecord): void {
    addCall(this.#tools, record.toolId, record);
    dropOldest(this.#tools, MAX_TOOLS);
    addCall(this.#agents, record.agentId, record);
    for (const gone of dropOldest(this.#agents, MAX_AGENTS)) this.#agentHistory.delete(gone);
    appendBounded(this.#history, record, HISTORY_LENGTH);
    const own = this.#agentHistory.get(record.agentId) ?? [];
    this.#agentHistory.set(record.agentId, own);
    appendBounded(own, record, AGENT_HISTORY_LENGTH);
  }

  /** Returns the totals per tool, most used first. */
  tools(): readonly ToolUsage[] {
    return mostUsedFirst([...this.#tools].map(([toolId, totals]) => ({ toolId, ...totals })));
  }

  /** Returns the totals per agent, most active first. */
  agents(): readonly AgentUsage[] {
    return mostUsedFirst([...this.#agents].map(([agentId, totals]) => ({ agentId, ...totals })));
  }

  /** Returns the newest calls, newest first: at most 500 of all agents, or at most 100 of the given agent. */
  history(agentId?: string): readonly UsageRecord[] {
    return (agentId === undefined ? this.#history : (this.#agentHistory.get(agentId) ?? [])).toReversed();
  }

  /** Returns the counters for `restore` after a restart. The calls themselves are in the audit log. */
  snapshot(): JsonObject {
    return { tools: toJson(this.#tools), agents: toJson(this.#agents) };
  }

  /** Loads the counters of a snapshot and ignores unreadable counters. */
  restore(snapshot: Json | undefined): void {
    if (!isJsonObject(snapshot)) return;
    fromJson(this.#tools, snapshot.tools);
    fromJson(this.#agents, snapshot.agents);
  }
}

/** Adds a call to the totals. Moves the entry to the end, so that the least recently used entry is always the first. */
function addCall(totals: Map<string, UsageTotals>, key: string, { durationMs, atMs, error }: UsageRecord): void {
  const before = totals.get(key) ?? NEVER;
  totals.delete(key);
  totals.set(key, {
    ...before,
    calls: before.calls + 1,
    errors: before.errors + (error === undefined ? 0 : 1),
    totalMs: before.totalMs + durationMs,
    lastMs: atMs,
    ...(error !== undefined && { lastError: error }),
  });
}

/** Deletes the least recently used counters and returns their keys. The counters are limited because agents may have any names. */
function dropOldest(totals: Map<string, UsageTotals>, maxSize: number): readonly string[] {
  const gone = [...totals.keys()].slice(0, Math.max(0, totals.size - maxSize));
  for (const key of gone) totals.delete(key);
  return gone;
}

function appendBounded(history: UsageRecord[], record: UsageRecord, maxLength: number): void {
  history.push(record);
  if (history.length > maxLength) history.shift();
}

function mostUsedFirst<T extends UsageTotals>(usages: readonly T[]): readonly T[] {
  return usages.toSorted((a, b) => b.calls - a.calls);
}

function toJson(totals: ReadonlyMap<string, UsageTotals>): Json {
  return [...totals].map(([key, { calls, errors, totalMs, lastMs, lastError }]) => [
    key,
    calls,
    errors,
    Math.round(totalMs),
    lastMs,
    lastError ?? null,
  ]);
}

function fromJson(totals: Map<string, UsageTotals>, rows: Json | undefined): void {
  for (const row of Array.isArray(rows) ? (rows as readonly Json[]) : []) {
    const [key, ...rest] = Array.isArray(row) ? (row as readonly Json[]) : [];
    const numbers = rest.slice(0, 4).filter((value) => typeof value === 'number');
    const [calls = 0, errors = 0, totalMs = 0, lastMs = 0] = numbers;
    if (typeof key !== 'string' || numbers.length < 4) continue;
    const lastError = rest[4];
    totals.set(key, { calls, errors, totalMs, lastMs, ...(isErrorCode(lastError) && { lastError }) });
  }
}

const SPACE = 'usage';
const KEY = 'totals';
/** Milliseconds between writes. With 200 tools, this means up to 5 MB a day. A write each minute would use most of the daily limit. */
const WRITE_EVERY_MS = 300_000;

interface UsageWriterCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'store'> {
  readonly usage: UsageCounter;
}

/** Stores the usage counters across restarts. A crash loses the counts of the last five minutes. */
export class UsageWriter implements Service {
  readonly #collaborators: UsageWriterCollaborators;
  #written = '';
  #stop: (() => void) | undefined;

  constructor(collaborators: UsageWriterCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Loads the counters of the last process. */
  async start(): Promise<void> {
    const { usage, store, clock } = this.#collaborators;
    usage.restore(store.get(SPACE, KEY));
    this.#written = canonicalJson(usage.snapshot());
    this.#stop = repeat(clock, WRITE_EVERY_MS, () => this.#write());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#stop) return;
    this.#stop();
    this.#stop = undefined;
    this.#write();
  }

  /** Writes the counters. An error, such as a full disk, is only logged, because it must not affect calls. */
  #write(): void {
    const { usage, store, logger } = this.#collaborators;
    const snapshot = usage.snapshot();
    const text = canonicalJson(snapshot);
    if (text === this.#written) return;
    try {
      store.set(SPACE, KEY, snapshot);
      this.#written = text;
    } catch (error) {
      logger.warn('usage.not_kept', { reason: error instanceof Error ? error.message : 'unknown' });
    }
  }
}
