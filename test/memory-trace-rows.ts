import { AtmoError } from '../src/core/errors.ts';
import type { TraceBounds, TraceRow, TraceRows } from '../src/core/storage/trace-rows.ts';

/** Traces in memory, in place of a disk. What was written survives a hub that is killed. */
export class MemoryTraceRows implements TraceRows {
  readonly rows = new Map<number, TraceRow>();
  /** How often something was written. */
  writes = 0;
  isFull = false;
  #aliveMs: number | undefined;

  /** Returns what a hub finds that starts after one that was killed. What the former hub still writes does not reach it. */
  copy(): MemoryTraceRows {
    const copy = new MemoryTraceRows();
    for (const row of this.rows.values()) copy.rows.set(row.id, row);
    copy.#aliveMs = this.#aliveMs;
    return copy;
  }

  known(): ReturnType<TraceRows['known']> {
    return { lastId: Math.max(0, ...this.rows.keys()), aliveMs: this.#aliveMs };
  }

  write(rows: readonly TraceRow[], aliveMs: number): void {
    if (this.isFull) throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    this.writes += 1;
    this.#aliveMs = aliveMs;
    for (const row of rows) this.rows.set(row.id, structuredClone(row));
  }

  read({ agent, fromMs, toMs, limit }: Parameters<TraceRows['read']>[0]): readonly TraceRow[] {
    const found = this.#newest().filter((row) => row.agent === agent && row.lastMs >= fromMs && row.atMs <= toMs);
    return found.slice(0, limit);
  }

  drop({ sinceMs, perAgent, total }: TraceBounds): void {
    this.writes += 1;
    const counts = new Map<string, number>();
    for (const [index, { id, agent, kind, lastMs }] of this.#newest().entries()) {
      const key = `${agent} ${kind}`;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (lastMs < sinceMs || index >= total || count > perAgent[kind]) this.rows.delete(id);
    }
  }

  #newest(): readonly TraceRow[] {
    return [...this.rows.values()].sort((a, b) => b.lastMs - a.lastMs || b.id - a.id);
  }
}
