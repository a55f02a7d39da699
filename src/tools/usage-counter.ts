import type { ErrorCode } from '../core/errors.ts';

/** How often a tool was called since the start. */
export interface ToolUsage {
  readonly toolId: string;
  readonly calls: number;
  readonly errors: number;
  readonly totalMs: number;
  readonly lastMs: number;
}

/** One finished call, without its parameters. */
export interface UsageRecord {
  readonly toolId: string;
  readonly agentId: string;
  readonly atMs: number;
  readonly durationMs: number;
  readonly error?: ErrorCode;
}

const HISTORY_LENGTH = 500;

/** Counts calls per tool and remembers the newest ones. */
export class UsageCounter {
  readonly #tools = new Map<string, ToolUsage>();
  readonly #history: UsageRecord[] = [];
  #next = 0;

  record(record: UsageRecord): void {
    const before = this.#tools.get(record.toolId) ?? { toolId: record.toolId, calls: 0, errors: 0, totalMs: 0, lastMs: 0 };
    this.#tools.set(record.toolId, {
      toolId: record.toolId,
      calls: before.calls + 1,
      errors: before.errors + (record.error === undefined ? 0 : 1),
      totalMs: before.totalMs + record.durationMs,
      lastMs: record.atMs,
    });
    this.#history[this.#next] = record;
    this.#next = (this.#next + 1) % HISTORY_LENGTH;
  }

  /** Per tool, most used first. */
  tools(): readonly ToolUsage[] {
    return [...this.#tools.values()].sort((a, b) => b.calls - a.calls);
  }

  /** The newest calls, newest first, at most 500. */
  history(): readonly UsageRecord[] {
    return [...this.#history.slice(this.#next), ...this.#history.slice(0, this.#next)].reverse();
  }
}
