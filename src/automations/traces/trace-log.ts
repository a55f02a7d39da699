import { type Clock, repeat, type TrustedTime } from '../../core/clock.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { TraceRow, TraceRows } from '../../core/storage/trace-rows.ts';
import { outcomeOf, type Trace, type TraceCause, type TraceNote } from './trace.ts';

const MINUTE_MS = 60_000;
/** How long traces are kept. */
const KEPT_MS = 30 * 86_400_000;
/** Most traces of one automation: runs and triggers that started none, and triggers that nearly fired. */
export const MOST_TRACES = { fired: 200, near: 100 } as const;
/** Most new traces of one automation within a minute. Beyond them, its traces of one cause are one, whatever set them off. */
const MOST_PER_MINUTE = 20;
const MOST_IN_ALL = 20_000;
/** A trace that repeats within this time counts up the former one, which spans an hour at most. */
const REPEAT_MS = 10 * MINUTE_MS;
const LONGEST_SPAN_MS = 60 * MINUTE_MS;
/** A new trace is written after this time, so that a crash that follows does not lose it. */
const PROMPT_MS = 2_000;
/** Shortest time between two writes. */
const WRITE_EVERY_MS = MINUTE_MS;
/** How soon a mere repetition is written, and how often the time at which the hub runs. */
const COUNTED_EVERY_MS = 5 * MINUTE_MS;
const TRUST_POLL_MS = 10_000;
const DROP_EVERY_MS = 60 * MINUTE_MS;
/** Most traces in memory: those that may repeat, and those that a full or broken disk refused. */
const MOST_IN_MEMORY = 2_000;

interface TraceLogPorts {
  readonly rows: TraceRows;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly time: Pick<TrustedTime, 'isTrusted'>;
}

/** Causes that last for a time of their own. */
const SPANS: ReadonlySet<TraceCause> = new Set(['hub_off', 'disabled']);

/** The name under which the hub itself has traces. No agent has an empty id. */
export const HUB = '';

/**
 * Keeps what triggers and runs did, for people who ask why. Traces of one cause that repeat are one trace with a count. They are written in
 * batches, at most once a minute, since each write wears an SD card; repetitions alone every five minutes. A crash loses what is not written.
 */
export class TraceLog implements Service {
  readonly #ports: TraceLogPorts;
  /** The latest trace of each agent and key. */
  readonly #latest = new Map<string, Trace>();
  readonly #unwritten = new Map<number, Trace>();
  readonly #cancels: (() => void)[] = [];
  readonly #budget: MinuteBudget;
  #cancelTrust = () => {};
  #cancelWrite: (() => void) | undefined;
  #dueMs = Infinity;
  #lastId = 0;
  #writtenMs = -Infinity;
  #isFailing = false;

  constructor(ports: TraceLogPorts) {
    this.#ports = ports;
    this.#budget = new MinuteBudget(ports.clock);
  }

  /** Reads when the hub ran last, and notes how long it was off as soon as the time is known. */
  async start(): Promise<void> {
    const { rows, clock } = this.#ports;
    const { lastId, aliveMs } = rows.known();
    this.#lastId = lastId;
    if (aliveMs !== undefined) this.#noteOff(aliveMs, clock.monotonic());
    this.#cancels.push(
      repeat(clock, COUNTED_EVERY_MS, () => this.#writeWithin(0)),
      repeat(clock, DROP_EVERY_MS, () => this.#attempt(() => this.#drop())),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of [...this.#cancels, this.#cancelTrust]) cancel();
    this.#cancelWrite?.();
    this.#attempt(() => this.#write());
  }

  /** A board without a battery for its clock begins with the time of the last stop, so that this waits for a trusted time. */
  #noteOff(aliveMs: number, startedAt: number): void {
    const { clock, time } = this.#ports;
    if (!time.isTrusted()) {
      this.#cancelTrust = clock.after(TRUST_POLL_MS, () => this.#noteOff(aliveMs, startedAt));
      return;
    }
    const untilMs = clock.now() - (clock.monotonic() - startedAt);
    this.note(HUB, { cause: 'hub_off', facts: {}, sinceMs: Math.min(aliveMs, untilMs), untilMs });
  }

  /** Adds a trace. */
  note(agent: string, note: TraceNote): void {
    const own = `${agent} ${keyOf(note)}`;
    const before = this.#latest.get(own);
    if (!SPANS.has(note.cause) && this.#isRecent(before)) this.#keep(own, this.#again(before, note));
    else if (this.#budget.take(agent)) this.#keep(own, this.#anew(agent, note));
    else this.#noteCause(agent, note);
  }

  /** Adds a trace of an automation that leaves too many: it counts with the others of its cause. */
  #noteCause(agent: string, note: TraceNote): void {
    const key = `${agent} ${note.cause}`;
    const before = this.#latest.get(key);
    const trigger = note.trigger && { trigger: note.trigger };
    this.#keep(key, this.#isRecent(before) ? { ...this.#again(before, note), ...trigger } : this.#anew(agent, note));
  }

  #keep(key: string, trace: Trace): void {
    this.#remember(key, trace);
    this.#writeWithin(trace.count > 1 ? COUNTED_EVERY_MS : PROMPT_MS);
  }

  /** Returns the newest traces of an agent that touch a range of time, newest first. */
  read(
    agent: string,
    { fromMs, toMs, limit }: { readonly fromMs: number; readonly toMs: number; readonly limit: number },
  ): readonly Trace[] {
    const isAsked = (trace: Trace) => trace.agent === agent && trace.lastMs >= fromMs && trace.atMs <= toMs;
    const unwritten = [...this.#unwritten.values()].filter(isAsked);
    const written = this.#written({ agent, fromMs, toMs, limit }).filter(({ id }) => !this.#unwritten.has(id));
    return [...unwritten, ...written].sort((a, b) => b.lastMs - a.lastMs || b.id - a.id).slice(0, limit);
  }

  #written(query: Parameters<TraceRows['read']>[0]): readonly Trace[] {
    return this.#ports.rows.read(query).map(traceOf);
  }

  /** Returns whether what happens now still counts to a trace. */
  #isRecent(before: Trace | undefined): before is Trace {
    if (!before) return false;
    const nowMs = this.#ports.clock.now();
    return nowMs >= before.lastMs && nowMs - before.lastMs <= REPEAT_MS && nowMs - before.atMs <= LONGEST_SPAN_MS;
  }

  #again(before: Trace, { facts, runId }: TraceNote): Trace {
    const { runId: _, ...rest } = before;
    return { ...rest, ...(runId !== undefined && { runId }), facts, lastMs: this.#ports.clock.now(), count: before.count + 1 };
  }

  #anew(agent: string, { sinceMs, untilMs, ...note }: TraceNote): Trace {
    const nowMs = this.#ports.clock.now();
    this.#lastId += 1;
    return { ...note, id: this.#lastId, agent, atMs: sinceMs ?? nowMs, lastMs: untilMs ?? nowMs, count: 1 };
  }

  #remember(key: string, trace: Trace): void {
    this.#latest.delete(key);
    this.#latest.set(key, trace);
    this.#unwritten.set(trace.id, trace);
    dropOldest(this.#latest);
    dropOldest(this.#unwritten);
  }

  /** Writes within a time, but not before a minute after the last write. */
  #writeWithin(delayMs: number): void {
    const { clock } = this.#ports;
    const nowMs = clock.monotonic();
    const dueMs = Math.max(nowMs + delayMs, this.#writtenMs + WRITE_EVERY_MS);
    if (dueMs >= this.#dueMs) return;
    this.#cancelWrite?.();
    this.#dueMs = dueMs;
    this.#cancelWrite = clock.after(dueMs - nowMs, () => this.#attempt(() => this.#write()));
  }

  #write(): void {
    const { rows, clock } = this.#ports;
    this.#dueMs = Infinity;
    this.#writtenMs = clock.monotonic();
    rows.write([...this.#unwritten.values()].map(rowOf), clock.now());
    this.#unwritten.clear();
    this.#isFailing = false;
  }

  #drop(): void {
    this.#ports.rows.drop({ sinceMs: this.#ports.clock.now() - KEPT_MS, perAgent: MOST_TRACES, total: MOST_IN_ALL });
  }

  /** A disk that refuses traces stops no automation: the next write tries again. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      const problem = toAtmoError(thrown).message;
      if (!this.#isFailing) this.#ports.logger.warn('agent.traces_not_written', { problem });
      this.#isFailing = true;
    }
  }
}

/** Counts the new traces of each automation within a minute, so that a flood of triggers neither fills the disk nor displaces those of others. */
class MinuteBudget {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #taken = new Map<string, number>();
  #minute = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Takes one trace. Returns false if none is left within this minute. */
  take(agent: string): boolean {
    const minute = Math.floor(this.#clock.monotonic() / MINUTE_MS);
    if (minute !== this.#minute) this.#taken.clear();
    this.#minute = minute;
    const taken = this.#taken.get(agent) ?? 0;
    this.#taken.set(agent, taken + 1);
    return taken < MOST_PER_MINUTE;
  }
}

function dropOldest<Key>(kept: Map<Key, Trace>): void {
  const [oldest] = kept.keys();
  if (kept.size > MOST_IN_MEMORY && oldest !== undefined) kept.delete(oldest);
}

/** Returns what traces have in common that count as one. */
function keyOf({ cause, trigger = {}, facts }: TraceNote): string {
  const { step, unmet } = facts;
  const conditions = Array.isArray(unmet) ? unmet.map((one) => (one as JsonObject).condition ?? null) : [];
  return JSON.stringify([cause, trigger, step ?? null, conditions]);
}

function rowOf({ id, agent, atMs, lastMs, count, cause, trigger, facts, runId }: Trace): TraceRow {
  const content = { cause, facts, ...(trigger && { trigger }), ...(runId !== undefined && { runId }) };
  return { id, agent, kind: outcomeOf(cause) === 'not_triggered' ? 'near' : 'fired', atMs, lastMs, count, content };
}

/** The cast is safe because only this module writes rows. */
function traceOf({ id, agent, atMs, lastMs, count, content }: TraceRow): Trace {
  return { ...(content as unknown as TraceNote), id, agent, atMs, lastMs, count };
}
