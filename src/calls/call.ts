import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../codec/canonical-json.ts';
import { sha256Hex } from '../codec/hashes.ts';
import type { ApprovedStep, CoveringApproval, PlannedCall } from '../core/auth/approvals.ts';
import { type Effect, maxRisk, type Risk } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import type { DeviceState } from '../core/devices/device-model.ts';
import { AtmoError } from '../core/errors.ts';
import type { StallDetector } from '../core/health.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { RunContext } from '../core/storage/audit-log.ts';
import type { CallChunk } from '../tools/definition/notifications.ts';
import type { RegisteredTool, Restorable } from '../tools/definition/tool-definition.ts';
import { maskSecrets, secretTexts } from '../tools/schema/secrets.ts';
import { CallDeadline, type TimeLimitContext, timeLimitMs } from './call-deadline.ts';
import type { IdempotencyClaim } from './idempotency-store.ts';
import type { RunningJob } from './jobs/job-store.ts';
import type { RouteCandidate } from './pipeline-context.ts';
import type { ApprovalNeed, CallRequest, JobView, NormalResult } from './request-and-answer.ts';

/** The facts about a call in any stage of the pipeline. A stage never changes facts: it returns a copy with additional facts. */
export interface CallFacts {
  readonly running: RunningCall;
  readonly request: CallRequest;
  readonly tool?: RegisteredTool;
  /** The parameters; an empty object until the stage `readParameters`. */
  readonly params: JsonObject;
  /** The effects; an empty list until the stage `authorizeEffects`. The list stays empty if only another hub can compute them. */
  readonly effects: readonly Effect[];
  readonly rule?: string;
  /** The approval that the call used. */
  readonly approval?: { readonly id: string; readonly by: readonly string[]; readonly callHash: string };
  /** The approval of an outer call that is for this step too: people saw the step and its arguments when they gave it. */
  readonly coveredBy?: CoveringApproval;
  /** The approved plan of this call. People approved this call itself, or an outer call that has this call as a step. */
  readonly plan?: PlannedCall;
  /** The stored answer of the first call with the same idempotency key. */
  readonly repeated?: JsonObject | undefined;
  /** The job on another hub that runs the call. */
  readonly remoteJob?: JobView;
}

declare const passed: unique symbol;
declare const purpose: unique symbol;

/** Marks the type of a call that has passed a stage. Only the stages may add this mark, by a cast. */
interface Passed<Stage extends string> {
  readonly [passed]: { readonly [Name in Stage]: true };
}

/**
 * The purpose of a call. `asked`: the call is only checked and never runs. `charged`: the call counts towards its caller's rate limits.
 * `claimed`: the call may run, and no other call with its idempotency key may run.
 */
export type Purpose = 'asked' | 'charged' | 'claimed';

/** The states of a call in the order of the stages (stages.ts): each stage takes the state that the previous stage returns. */
export type ReceivedCall = CallFacts;
export type OpenCall = ReceivedCall & Passed<'hub is open'>;
export type AcceptedCall = OpenCall & Passed<'memory is left'>;
export type ValidCall = AcceptedCall & Passed<'token is valid'>;
export type RateCheckedCall<P extends Purpose = Purpose> = ValidCall & { readonly [purpose]: P };
export type DiscoverableCall<P extends Purpose = Purpose> = RateCheckedCall<P> & Passed<'remote tools are known'>;
export type ResolvedCall<P extends Purpose = Purpose> = DiscoverableCall<P> & Passed<'tool is known'> & { readonly tool: RegisteredTool };
export type SupportedCall<P extends Purpose = Purpose> = ResolvedCall<P> & Passed<'mode is supported'>;
export type PermittedCall<P extends Purpose = Purpose> = SupportedCall<P> & Passed<'static permissions are granted'>;
export type FeaturedCall<P extends Purpose = Purpose> = PermittedCall<P> & Passed<'features are granted'>;
export type EnabledCall<P extends Purpose = Purpose> = FeaturedCall<P> & Passed<'tool is enabled'>;
export type AttemptableCall<P extends Purpose = Purpose> = EnabledCall<P> & Passed<'some call is permitted'>;
export type ReadCall<P extends Purpose = Purpose> = EnabledCall<P> & Passed<'parameters are read'> & Measured;
export type ValidatedCall<P extends Purpose = Purpose> = ReadCall<P> & Passed<'parameters are valid'>;
export type CanonicalCall<P extends Purpose = Purpose> = ValidatedCall<P> & Passed<'parameters are canonical'>;
export type AuthorizedCall<P extends Purpose = Purpose> = CanonicalCall<P> & Passed<'effects are permitted'>;
export type ClaimedCall = AuthorizedCall<'claimed'> & { readonly repeated: undefined };
export type RepeatedCall = AuthorizedCall<'charged'> & { readonly repeated: JsonObject };
export type RuledCall<P extends Purpose = Purpose> = AuthorizedCall<P> & Passed<'rules allow it'> & Ruled;
export type VouchedCall = RuledCall<'claimed'> & Passed<'origin suffices'>;
export type ApprovedCall = VouchedCall & Passed<'approval suffices'> & { readonly repeated: undefined };
export type RoutableCall = RuledCall<'asked'> & Passed<'route exists'>;
export type RehearsedCall = RoutableCall & Passed<'approval need is known'> & { readonly approvalNeed: ApprovalNeed | undefined };
export type ApprovableCall = RuledCall<'asked'> & Passed<'approval is there'>;
export type QueuedCall = ApprovedCall & { readonly job: RunningJob };
export type ScheduledCall = ApprovedCall & Passed<'slot is taken'>;
export type RoutedCall = ScheduledCall & Passed<'route is chosen'> & { readonly route: readonly RouteCandidate[] };
export type RecordedCall = RoutedCall & Passed<'intent is written'> & { readonly run: RunContext };
export type AwaitedCall = RecordedCall & Passed<'caller still waits'>;
export type ReauthorizedCall = AwaitedCall & Passed<'effects are confirmed'>;
export type ConfirmedCall = ReauthorizedCall & Passed<'rules are confirmed'>;
export type RanCall = ConfirmedCall & Passed<'tool has run'> & { readonly rawResult: unknown };
export type CheckedCall = RanCall & Passed<'result is valid'> & { readonly result: NormalResult };
export type RemoteJobCall = CheckedCall & { readonly remoteJob: JobView };

interface Measured {
  /** Length of the given parameters' JSON text, in UTF-8 bytes. */
  readonly paramsBytes: number;
}

interface Ruled {
  /** Number of persons that must approve the call according to the rules. */
  readonly personsByRule: number;
}

/** Returns the tool's canonical id. If the tool is not resolved yet, returns the name in the request (at most 160 characters). */
export function toolIdOf({ tool, request }: CallFacts): string {
  return tool?.id ?? request.tool.slice(0, 160);
}

/** Returns whether the tool is on another hub. If it is, only that hub can compute the effects of a call. */
export function isElsewhere({ tool }: { readonly tool: RegisteredTool }): boolean {
  return tool.hubs !== undefined;
}

/** Returns the highest risk among a call's effects. */
export function riskOf({ effects }: Pick<CallFacts, 'effects'>): Risk {
  return maxRisk(...effects.map(({ risk }) => risk));
}

/** Returns the secret values among the parameters. They must not be stored or sent. */
export function secretsOf({ tool, params }: CallFacts): readonly string[] {
  return tool ? secretTexts(tool.definition.parameters, params) : [];
}

/** Returns a SHA-256 that is equal for calls of the same tool with the same arguments. `seal` replaces each secret argument. */
export function callHash({ tool, params }: AuthorizedCall, seal: (value: Json) => string): string {
  return sha256Hex(canonicalJson({ tool: tool.id, params: maskSecrets(tool.definition.parameters, params, seal) }));
}

interface CallContext {
  readonly clock: Clock;
  readonly stallDetector: Pick<StallDetector, 'waitedMs'>;
}

/** The state of a running call, such as its deadline, its job and the hub to which it was sent. */
export class RunningCall {
  readonly request: CallRequest;
  readonly mode: 'sync' | 'job';
  readonly requestId: string;
  readonly traceId: string;
  readonly startedMs: number;
  /** Milliseconds for which the call may have waited unread, because the hub's process was suspended when the call arrived. */
  readonly waitedMs: number;
  /** The facts that the most recent stage returned. */
  facts: CallFacts;
  /** The job of this hub that runs the call. Absent for a synchronous call and for a job on another hub. */
  job?: RunningJob;
  /** The call's claim on its idempotency key. */
  claim?: IdempotencyClaim;
  /** The step of an approved plan that this call runs. Absent if the call is not part of an approved plan. */
  step?: ApprovedStep;
  /** The hub that was tried most recently. After a success, this is the hub that ran the call. */
  ranOn?: RouteCandidate;
  /** The values that the call may change, as they were before. */
  before?: DeviceState;
  /** What the call changes elsewhere than in values of devices. */
  restorable?: Restorable;
  /** Whether the call may already have taken effect. */
  isDispatched = false;
  hasEnded = false;
  /** Media type of the result, if the tool declares it. */
  contentType?: string;
  resultDetails?: JsonObject;
  readonly #clock: Clock;
  #deadline: CallDeadline | undefined;
  #abortCause: 'revoked' | 'stopping' | undefined;
  readonly #questions = new AbortController();
  readonly #onEnd: (() => void)[] = [];

  constructor(request: CallRequest, mode: 'sync' | 'job', { clock, stallDetector }: CallContext) {
    this.request = request;
    this.mode = mode;
    this.waitedMs = request.isOwn || request.within ? 0 : stallDetector.waitedMs;
    this.requestId = request.requestId ?? randomUUID();
    this.traceId = request.traceId ?? randomUUID();
    this.startedMs = clock.monotonic();
    this.facts = { running: this, request, params: {}, effects: [] };
    this.#clock = clock;
  }

  get deadline(): CallDeadline {
    if (!this.#deadline) throw new AtmoError('INTERNAL_ERROR', 'A call stage ran before the call had a deadline');
    return this.#deadline;
  }

  /** Stores the newest facts. The audit log and the events use them when the call ends. */
  keep<Facts extends CallFacts>(facts: Facts): Facts {
    this.facts = facts;
    return facts;
  }

  /** Starts the call's time limit. The call ends earlier if `signal` or the outer call aborts. For a job, the time limit starts again. */
  startDeadline({ definition }: RegisteredTool, context: TimeLimitContext, signal: AbortSignal | undefined): void {
    // A job continues after the end of the call that started it.
    const parent = this.mode === 'sync' ? this.request.within : undefined;
    const limit = { ...context, ...(parent && { parentDeadlineMs: parent.deadlineMs }) };
    const timeoutMs = timeLimitMs(definition, this.request, limit);
    const outer = [signal, parent?.signal].filter((one) => one !== undefined);
    this.#deadline?.[Symbol.dispose]();
    const ended = outer.length > 1 ? AbortSignal.any(outer) : outer[0];
    this.#deadline = new CallDeadline(this.#clock, { timeoutMs, waitedMs: this.waitedMs }, ended);
    if (this.#abortCause !== undefined) this.#deadline.abort(this.#abortCause);
  }

  abort(cause: 'revoked' | 'stopping'): void {
    this.#abortCause ??= cause;
    this.#deadline?.abort(cause);
  }

  /** The signal for questions to a person. It aborts when the hub stops, because a stopping hub does not wait for people. */
  get questionsSignal(): AbortSignal {
    return this.#questions.signal;
  }

  /** Ends the call's current question to a person, and every later question of the call, with SHUTTING_DOWN. */
  abortQuestions(): void {
    this.#questions.abort(
      new AtmoError('SHUTTING_DOWN', 'The hub is stopping, and with it the question to a person; call it again when it is back'),
    );
  }

  /** Sends progress to the job. If the tool supports streaming, sends progress and partial results to the caller too. */
  emitChunk({ definition }: RegisteredTool, chunk: CallChunk): void {
    if (this.hasEnded) return;
    this.job?.progress(chunk.fraction, chunk.note);
    if (definition.execution.isStreamSupported) this.request.onChunk?.(chunk);
  }

  /** Ends the claim on the idempotency key. Repeats that wait get `answer`. Later repeats get `stored`; if it is undefined, they run. */
  settleClaim(answer: JsonObject, stored: JsonObject | undefined): void {
    this.claim?.settle(answer, stored);
    delete this.claim;
  }

  /** Adds a callback for the end of the call. */
  onEnd(callback: () => void): void {
    this.#onEnd.push(callback);
  }

  end(): void {
    this.hasEnded = true;
    this.#deadline?.[Symbol.dispose]();
    for (const callback of this.#onEnd.splice(0)) callback();
  }
}

/** Returns whether `names` contains the id or the name of the hub. */
export function isNamed(candidate: Pick<RouteCandidate, 'id' | 'name'>, names: readonly string[]): boolean {
  return names.includes(candidate.id) || names.includes(candidate.name);
}
