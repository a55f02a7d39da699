import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { canonicalJson } from '../codec/canonical-json.ts';
import { sha256Hex } from '../codec/hashes.ts';
import type { PlannedCall } from '../core/auth/approvals.ts';
import { type Effect, maxRisk, type Risk } from '../core/auth/authorizer.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { pollSockets, type StallDetector } from '../core/health.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { RunContext } from '../core/storage/audit-sink.ts';
import type { CallChunk, ToolMessage } from '../tools/definition/notifications.ts';
import type { RegisteredTool, ToolContext, ToolDefinition } from '../tools/definition/tool-definition.ts';
import { maskSecrets, secretTexts, withoutSecretTexts } from '../tools/schema/secrets.ts';
import type { IdempotencyClaim } from './idempotency-store.ts';
import type { JobView, RunningJob } from './jobs/job-store.ts';
import type { CallRequest, NormalResult } from './request-and-answer.ts';
import type { RouteCandidate } from './routing/route-ranking.ts';

interface CallContext {
  readonly clock: Clock;
  readonly standstill: Pick<StallDetector, 'waitedMs'>;
}

/** One call on its way through the stages; each stage fills in what it found out. */
export class Call {
  readonly request: CallRequest;
  readonly requestId: string;
  readonly traceId: string;
  readonly startedMs: number;
  /** How long it may have waited before the hub saw it, in milliseconds. */
  readonly waitedMs: number;
  readonly mode: 'sync' | 'job';
  /** The job that this call runs as. */
  job?: RunningJob;
  /** The job on another hub that this call has become. */
  remoteJob?: JobView;
  params: JsonObject = {};
  /** Length of the JSON text of the parameters as they were given, in UTF-8. */
  paramsBytes = 0;
  effects: readonly Effect[] = [];
  /** The owner's rule that decided about the call. */
  rule?: string;
  /** Persons that a rule wants to approve it. */
  personsByRule = 0;
  /** The approval that it used up. */
  approval?: { readonly id: string; readonly by: readonly string[]; readonly callHash: string };
  /** What it runs, as people approved it, by itself or as the step of another call. */
  plan?: PlannedCall;
  /** The step of the approved call around it that it is. */
  step?: PlannedCall;
  /** The world that it runs in, from the moment on at which its intent is written. */
  run?: RunContext;
  claim?: IdempotencyClaim;
  /** The stored or awaited answer of the first call with the same idempotency key. */
  repeated?: JsonObject;
  route: readonly RouteCandidate[] = [];
  ranOn?: RouteCandidate;
  isDispatched = false;
  rawResult: unknown;
  result?: NormalResult;
  /** What the tool says that its result holds. */
  contentType?: string;
  /** What the tool says about its result beside it. */
  resultDetails?: JsonObject;
  #tool: RegisteredTool | undefined;
  #deadline: CallDeadline | undefined;
  #cutBy: 'revoked' | 'stopping' | undefined;
  readonly #questions = new AbortController();
  #hasEnded = false;
  readonly #onEnd: (() => void)[] = [];

  constructor(request: CallRequest, mode: 'sync' | 'job', { clock, standstill }: CallContext) {
    this.request = request;
    this.mode = mode;
    this.waitedMs = request.isOwn || request.within ? 0 : standstill.waitedMs;
    this.requestId = request.requestId ?? randomUUID();
    this.traceId = request.traceId ?? randomUUID();
    this.startedMs = clock.monotonic();
  }

  /** The tool's canonical id, or the name that was asked for while none is found. */
  get toolId(): string {
    return this.#tool?.id ?? this.request.tool.slice(0, 160);
  }

  get isResolved(): boolean {
    return this.#tool !== undefined;
  }

  get tool(): RegisteredTool {
    if (!this.#tool) throw outOfOrder('resolved');
    return this.#tool;
  }

  get deadline(): CallDeadline {
    if (!this.#deadline) throw outOfOrder('given a deadline');
    return this.#deadline;
  }

  /** True for a tool that only other hubs have: what it really does, they alone can tell. */
  get isElsewhere(): boolean {
    return this.tool.hubs !== undefined;
  }

  setTool(tool: RegisteredTool): void {
    this.#tool = tool;
  }

  /** Starts the clock; a second start (of a job) replaces the first. */
  startDeadline(clock: Clock, limit: TimeLimit, signal: AbortSignal | undefined): void {
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = new CallDeadline(clock, limit, signal);
    if (this.#cutBy !== undefined) this.#deadline.abort(this.#cutBy);
  }

  /** Ends the call because its caller may no longer make it, or because the hub does not wait for it when it stops. */
  abort(cause: 'revoked' | 'stopping'): void {
    this.#cutBy ??= cause;
    this.#deadline?.abort(cause);
  }

  /** Aborts when nobody will answer any more. */
  get questionsSignal(): AbortSignal {
    return this.#questions.signal;
  }

  /** Ends the call where it waits for a person, or once it would ask one: the hub does not wait for people when it stops. */
  abortQuestions(): void {
    this.#questions.abort(
      new AtmoError('SHUTTING_DOWN', 'The hub is stopping, and with it the question to a person; call it again when it is back'),
    );
  }

  get risk(): Risk {
    return this.effects.reduce<Risk>((risk, effect) => maxRisk(risk, effect.risk), 'none');
  }

  /** SHA-256 over tool and arguments, by which a repeated call is known; secrets count as what `seal` makes of them. */
  hash(seal: (value: Json) => string): string {
    const params = maskSecrets(this.tool.definition.parameters, this.params, seal);
    return sha256Hex(canonicalJson({ tool: this.tool.id, params }));
  }

  /** Secret values among its parameters, which nothing that is kept or told may repeat. */
  get secrets(): readonly string[] {
    return this.#tool ? secretTexts(this.#tool.definition.parameters, this.params) : [];
  }

  /** Passes on what the running call tells of itself. */
  emitChunk(chunk: CallChunk): void {
    if (this.#hasEnded) return;
    this.job?.progress(chunk.fraction, chunk.note);
    if (this.tool.definition.execution.isStreamSupported) this.request.onChunk?.(chunk);
  }

  /** Passes on what the tool has to say. */
  emitMessage({ level, data }: ToolMessage): void {
    if (!this.#hasEnded) this.request.onMessage?.({ level, data: withoutSecretTexts(data, this.secrets) });
  }

  onEnd(callback: () => void): void {
    this.#onEnd.push(callback);
  }

  /** Gives back what the call held. */
  end(): void {
    this.#hasEnded = true;
    this.#deadline?.[Symbol.dispose]();
    for (const callback of this.#onEnd.splice(0)) callback();
  }
}

function outOfOrder(step: string): AtmoError {
  return new AtmoError('INTERNAL_ERROR', `A call stage ran before the call was ${step}`);
}

/** Within so short a time nothing is missed that matters. */
const UNCHECKED_WAIT_MS = 20;
/** From the end of a connection to the abort of the signal that stands for it. */
const TURNS_TO_ABORT = 4;

/** Why a call has to end early. */
export type EndCause = 'deadline' | 'caller' | 'revoked' | 'stopping';

/** How long a call may take, and how much of that was over before the hub saw it; in milliseconds. */
interface TimeLimit {
  readonly timeoutMs: number;
  readonly waitedMs?: number;
}

/**
 * The time that one call has: its signal aborts at the deadline and when the caller gives up. It counts by the wall clock too, since
 * the monotonic one, and every timer with it, stands still while the machine sleeps.
 */
export class CallDeadline {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** In whole milliseconds, for people: what is left of a call that comes from another hub is a fraction. */
  readonly timeoutMs: number;
  readonly #atMonotonicMs: number;
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #stopTimer: () => void;
  readonly #cancel = () => this.#end('caller');
  #cause: EndCause | undefined;

  constructor(clock: Clock, { timeoutMs, waitedMs = 0 }: TimeLimit, outer?: AbortSignal) {
    const leftMs = Math.max(0, timeoutMs - waitedMs);
    this.#clock = clock;
    this.timeoutMs = Math.round(timeoutMs);
    this.atMs = clock.now() + leftMs;
    this.#atMonotonicMs = clock.monotonic() + leftMs;
    this.#outer = outer;
    this.#stopTimer = clock.after(leftMs, () => this.#end('deadline'));
    if (outer?.aborted) this.#end('caller');
    else outer?.addEventListener('abort', this.#cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get cause(): EndCause | undefined {
    return this.#cause;
  }

  get remainingMs(): number {
    return Math.max(0, Math.min(this.atMs - this.#clock.now(), this.#atMonotonicMs - this.#clock.monotonic()));
  }

  /** Throws why the call has to end, also where no timer has run yet since its time was over. */
  throwIfOver(): void {
    if (this.remainingMs === 0) this.#end('deadline');
    this.signal.throwIfAborted();
  }

  /**
   * The same for a call that has waited since `sinceMs` of the monotonic clock: no event may have said yet that its caller left,
   * most of all where the process stood still meanwhile.
   */
  async confirm(sinceMs: number): Promise<void> {
    if (this.#clock.monotonic() - sinceMs >= UNCHECKED_WAIT_MS) await pollSockets(TURNS_TO_ABORT);
    this.throwIfOver();
  }

  /** What a call answers that ended early and left nothing behind. */
  error(): AtmoError {
    if (this.#cause === 'caller') return new AtmoError('CANCELLED', 'The caller cancelled the call');
    if (this.#cause === 'revoked') return new AtmoError('CANCELLED', 'The call was ended: its caller may no longer make it');
    // Not SHUTTING_DOWN: the call had begun, and other hubs make one elsewhere that was refused so.
    if (this.#cause === 'stopping') return new AtmoError('CANCELLED', 'The call was ended: the hub is stopping');
    return new AtmoError('TIMEOUT', `The call was not done within ${this.timeoutMs} ms; nothing of it takes effect later`);
  }

  /** Ends the call because its caller may no longer make it, or because the hub does not wait for it when it stops. */
  abort(cause: 'revoked' | 'stopping'): void {
    this.#end(cause);
  }

  /** Stops the timer; the signal stays as it is. */
  [Symbol.dispose](): void {
    this.#stopTimer();
    this.#outer?.removeEventListener('abort', this.#cancel);
  }

  #end(cause: EndCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.#controller.abort(this.error());
  }
}

const SEED_BYTES = 16;
/** Random numbers that one SHA-256 digest yields, of 8 bytes each. */
const NUMBERS_PER_DIGEST = 4;
const NUMBER_BYTES = 8;
/** Bits that a number has beyond the 53 which a double can hold. */
const SPARE_BITS = 11n;

/** The world of one run: an id, the time as it is at `nowMs`, and a seed where the tool is bounded (16 bytes, hex). */
export function newRun({ execution }: ToolDefinition, nowMs: number): RunContext {
  const randomSeed = execution.determinism === 'bounded' ? randomBytes(SEED_BYTES).toString('hex') : '';
  return { runId: randomUUID(), logicalTimeMs: nowMs, randomSeed };
}

/**
 * Time and chance as a bounded tool sees them (source 001, BoundedNonDeterminism); the same for the same run, on every
 * machine. Time stands still, so there are no timers: asking for one throws NOT_SUPPORTED. Number n, from 0, is made of
 * bytes 8·(n mod 4) to 8·(n mod 4)+7 of SHA-256(`<seed>:<n div 4>`): their first 53 bits, big endian, divided by 2^53.
 */
export function boundedContext(run: RunContext): Pick<ToolContext, 'clock' | 'random'> {
  return { clock: frozenClock(run.logicalTimeMs), random: seededRandom(run.randomSeed) };
}

function frozenClock(nowMs: number): Clock {
  return {
    now: () => nowMs,
    monotonic: () => 0,
    after() {
      throw new AtmoError('NOT_SUPPORTED', 'Time stands still for a bounded tool: it cannot wait; declare it nondeterministic instead');
    },
  };
}

function seededRandom(seed: string): () => number {
  let count = 0;
  let digest = Buffer.alloc(0);
  return () => {
    const place = count % NUMBERS_PER_DIGEST;
    if (place === 0)
      digest = createHash('sha256')
        .update(`${seed}:${count / NUMBERS_PER_DIGEST}`, 'utf8')
        .digest();
    count++;
    return Number(digest.readBigUInt64BE(place * NUMBER_BYTES) >> SPARE_BITS) / 2 ** 53;
  };
}
