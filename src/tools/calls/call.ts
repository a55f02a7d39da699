import { randomUUID } from 'node:crypto';
import type { PlannedCall } from '../../core/access/approvals.ts';
import type { Effect, Risk } from '../../core/access/authorizer.ts';
import { maxRisk } from '../../core/access/authorizer.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { RunContext } from '../../core/storage/audit-sink.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { Standstill } from '../../core/time/standstill.ts';
import { canonicalJson } from '../../wire/canonical-json.ts';
import { sha256Hex } from '../../wire/hashes.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { maskSecrets, secretTexts, withoutSecretTexts } from '../schema/secret-params.ts';
import type { CallChunk } from './asking/call-chunk.ts';
import type { ToolMessage } from './asking/tool-message.ts';
import { CallDeadline, type TimeLimit } from './bounds/call-deadline.ts';
import type { CallRequest, NormalResult } from './call-answer.ts';
import type { IdempotencyClaim } from './jobs/idempotency-store.ts';
import type { JobView, RunningJob } from './jobs/job-store.ts';
import type { RouteCandidate } from './routes/route-score.ts';

interface CallSurroundings {
  readonly clock: Clock;
  readonly standstill: Pick<Standstill, 'waitedMs'>;
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

  constructor(request: CallRequest, mode: 'sync' | 'job', { clock, standstill }: CallSurroundings) {
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

  resolved(tool: RegisteredTool): void {
    this.#tool = tool;
  }

  /** Starts the clock; a second start (of a job) replaces the first. */
  startDeadline(clock: Clock, limit: TimeLimit, signal: AbortSignal | undefined): void {
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = new CallDeadline(clock, limit, signal);
    if (this.#cutBy !== undefined) this.#deadline.cut(this.#cutBy);
  }

  /** Ends the call because its caller may no longer make it, or because the hub does not wait for it when it stops. */
  cut(cause: 'revoked' | 'stopping'): void {
    this.#cutBy ??= cause;
    this.#deadline?.cut(cause);
  }

  /** Aborts when nobody will answer any more. */
  get questionsEnd(): AbortSignal {
    return this.#questions.signal;
  }

  /** Ends the call where it waits for a person, or once it would ask one: the hub does not wait for people when it stops. */
  endQuestions(): void {
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
  tell(chunk: CallChunk): void {
    if (this.#hasEnded) return;
    this.job?.progress(chunk.fraction, chunk.note);
    if (this.tool.definition.execution.isStreamSupported) this.request.onChunk?.(chunk);
  }

  /** Passes on what the tool has to say. */
  say({ level, data }: ToolMessage): void {
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
