import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../codec/canonical-json.ts';
import { sha256Hex } from '../codec/hashes.ts';
import type { PlannedCall } from '../core/auth/approvals.ts';
import { type Effect, maxRisk, type Risk } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { StallDetector } from '../core/health.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { RunContext } from '../core/storage/audit-log.ts';
import type { CallChunk } from '../tools/definition/notifications.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { maskSecrets, secretTexts } from '../tools/schema/secrets.ts';
import { CallDeadline, type TimeLimitContext, timeLimitMs } from './call-deadline.ts';
import type { IdempotencyClaim } from './idempotency-store.ts';
import type { RunningJob } from './jobs/job-store.ts';
import type { RouteCandidate } from './pipeline-context.ts';
import type { CallRequest, JobView, NormalResult } from './request-and-answer.ts';

/** The facts about a call in any stage of the pipeline. A stage never changes facts: it returns a copy with additional facts. */
export interface CallFacts {
  readonly running: RunningCall;
  readonly request: CallRequest;
  readonly tool?: RegisteredTool;
  /** The parameters; empty until the stage that reads them. */
  readonly params: JsonObject;
  /** The effects. They are empty before they are authorised, and always empty for a tool that only other hubs have. */
  readonly effects: readonly Effect[];
  readonly rule?: string;
  /** The approval that the call used. */
  readonly approval?: { readonly id: string; readonly by: readonly string[]; readonly callHash: string };
  /** The plan of this call that people approved. They approved this call itself or an outer call that has it as a step. */
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
 * The purpose of a call. An `asked` call is only checked and never runs. A call that runs is first `charged` to its caller's rate limits.
 * It is then `claimed`, so that no other call with its idempotency key runs.
 */
export type Purpose = 'asked' | 'charged' | 'claimed';

/** The states of a call in the order of the stages (stages.ts): each stage takes the state that the previous stage returns. */
export type ReceivedCall = CallFacts;
export type OpenCall = ReceivedCall & Passed<'hub is open'>;
export type AcceptedCall = OpenCall & Passed<'memory is left'>;
export type ValidCall = AcceptedCall & Passed<'token is valid'>;
export type CountedCall<P extends Purpose = Purpose> = ValidCall & { readonly [purpose]: P };
export type DiscoverableCall<P extends Purpose = Purpose> = CountedCall<P> & Passed<'remote tools are known'>;
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
export type ApprovedCall = RuledCall<'claimed'> & Passed<'approval is used'> & { readonly repeated: undefined };
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

/** Returns the tool's canonical id, or the name in the request if the tool is not resolved yet. */
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

/** Returns the SHA-256 of the tool and its arguments, which identifies a repeated call. `seal` replaces each secret argument. */
export function callHash({ tool, params }: AuthorizedCall, seal: (value: Json) => string): string {
  return sha256Hex(canonicalJson({ tool: tool.id, params: maskSecrets(tool.definition.parameters, params, seal) }));
}

interface CallContext {
  readonly clock: Clock;
  readonly standstill: Pick<StallDetector, 'waitedMs'>;
}

/** The state of a running call: its deadline, its abort, its job, and the hub to which it was sent. */
export class RunningCall {
  readonly request: CallRequest;
  readonly mode: 'sync' | 'job';
  readonly requestId: string;
  readonly traceId: string;
  readonly startedMs: number;
  /** Milliseconds that the call may have waited before the hub received it. */
  readonly waitedMs: number;
  /** The facts that the most recent stage returned. */
  facts: CallFacts;
  /** The job of this hub that runs the call; absent if the call does not run as a job of this hub. */
  job?: RunningJob;
  /** The call's claim on its idempotency key. */
  claim?: IdempotencyClaim;
  /** The planned step that this call runs, if it is part of an approved call. */
  step?: PlannedCall;
  /** The hub that was tried most recently. */
  ranOn?: RouteCandidate;
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

  constructor(request: CallRequest, mode: 'sync' | 'job', { clock, standstill }: CallContext) {
    this.request = request;
    this.mode = mode;
    this.waitedMs = request.isOwn || request.within ? 0 : standstill.waitedMs;
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

  /** Stores the newest facts for the records at the end of the call. */
  keep<Facts extends CallFacts>(facts: Facts): Facts {
    this.facts = facts;
    return facts;
  }

  /** Starts the tool's time limit. `signal` or the outer call may end the call earlier. A second start, for a job, replaces the first. */
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

  /** Aborts when the hub is stopping and no longer waits for a person's answer. */
  get questionsSignal(): AbortSignal {
    return this.#questions.signal;
  }

  /** Ends the call when it waits for a person's answer, now or later, because a stopping hub does not wait for people. */
  abortQuestions(): void {
    this.#questions.abort(
      new AtmoError('SHUTTING_DOWN', 'The hub is stopping, and with it the question to a person; call it again when it is back'),
    );
  }

  /** Sends progress and partial results to the job and the caller. */
  emitChunk({ definition }: RegisteredTool, chunk: CallChunk): void {
    if (this.hasEnded) return;
    this.job?.progress(chunk.fraction, chunk.note);
    if (definition.execution.isStreamSupported) this.request.onChunk?.(chunk);
  }

  /** Ends the idempotency claim with the answer. `stored` is the answer as written to the disk; if undefined, a repeat may run. */
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

/** Returns whether one of the names is the hub's id or name. */
export function isNamed(candidate: Pick<RouteCandidate, 'id' | 'name'>, names: readonly string[]): boolean {
  return names.includes(candidate.id) || names.includes(candidate.name);
}
