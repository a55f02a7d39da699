import { randomUUID } from 'node:crypto';
import type { CallRouter, ForwardedCall, RemoteResult } from '../../calls/pipeline-context.ts';
import {
  meshQueryCodec,
  type ResponseContent,
  type SignedInvoke,
  signToolInvoke,
  type ToolResponse,
  toolChunkCodec,
} from '../../codec/messages/call.ts';
import { pause } from '../../core/clock.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { type CallChunk, parseChunk } from '../../tools/definition/notifications.ts';
import { isActing } from '../../tools/definition/tool-definition.ts';
import type { PeerLinks, RequestOptions } from './peer-link.ts';
import { MeshEvents } from './remote-events.ts';
import { type ClientContext, MeshJobs, MeshQueries, QUERY_HOPS } from './remote-queries.ts';
import { atNewestEpoch, RoutedRequests, type SiteRoutes, staleEpoch } from './routed-requests.ts';
import { type Sent, SessionCalls } from './session-calls.ts';
import { errorOfBody, PartReader, SignedAnswers } from './signed-answers.ts';

/** Sends calls, job queries and event subscriptions of this hub's callers to other hubs. */
export class CallClient {
  readonly router: CallRouter;
  readonly jobs: MeshJobs;
  readonly events: MeshEvents;

  constructor(
    collaborators: Omit<ClientContext, 'requests' | 'answers'> & {
      readonly links: PeerLinks;
      readonly sites?: SiteRoutes | undefined;
    },
  ) {
    const context: ClientContext = {
      self: collaborators.self,
      routes: collaborators.routes,
      tokens: collaborators.tokens,
      members: collaborators.members,
      drops: collaborators.drops,
      clock: collaborators.clock,
      time: collaborators.time,
      requests: new RoutedRequests(collaborators),
      answers: new SignedAnswers(collaborators),
    };
    const queries = new MeshQueries(context);
    this.router = new MeshCallRouter(context, new SessionCalls(collaborators, context));
    this.jobs = new MeshJobs(queries, context.clock);
    this.events = new MeshEvents(queries, context.clock);
  }
}

/** After a cancellation, an answer is still accepted for this number of milliseconds. The pipeline waits longer than that. */
const CANCEL_GRACE_MS = 200;
/** Form of a request id that fits into a message. A caller's id in any other form is replaced. */
const PLAIN_ID = /^[\x21-\x7e]{1,100}$/;
const ID_SUFFIX_LENGTH = 13;
/** Error codes of refusals after which the caller may try another hub, unless a hub has accepted the call. */
const TRY_NEXT: ReadonlySet<ErrorCode> = new Set([
  'NODE_UNAVAILABLE',
  'NO_CAPABLE_NODE',
  'SHUTTING_DOWN',
  'RATE_LIMITED',
  'RESOURCE_EXCEEDED',
  'HUB_UNREACHABLE',
]);

/** How the request of a call is sent, and how its answer is opened. `open` returns undefined for an answer that proves nothing. */
interface Exchange {
  readonly send: (options: RequestOptions) => Promise<Uint8Array>;
  readonly open: (bytes: Uint8Array) => ToolResponse | ResponseContent | undefined;
}

/**
 * Sends calls to other hubs. If a connection breaks after the call may have been accepted, the router queries the executing hub for the
 * outcome, over any route. Another hub may run the call only if the call never ran or is safe to repeat.
 */
class MeshCallRouter implements CallRouter {
  readonly #context: ClientContext;
  readonly #sessions: SessionCalls;

  constructor(context: ClientContext, sessions: SessionCalls) {
    this.#context = context;
    this.#sessions = sessions;
  }

  async forward(hubId: string, call: ForwardedCall): Promise<RemoteResult> {
    const target = hubId as HubId;
    return atNewestEpoch(this.#context.routes, target, (epoch) => this.#forward(target, call, epoch));
  }

  async #forward(target: HubId, call: ForwardedCall, epoch: number): Promise<RemoteResult> {
    const link = this.#sessions.linkFor(target, call);
    if (!link) return this.#forwardSigned(target, call, epoch);
    const progress = new CallProgress(call);
    const sent = this.#newRequest(target, call, epoch);
    try {
      return await this.#exchange(
        { target, call, progress, sent },
        {
          send: (options) => this.#sessions.send(link, call, sent, options),
          open: (bytes) => this.#sessions.open(bytes),
        },
      );
    } catch (error) {
      if (progress.isInDoubt || !this.#sessions.mustSign(toAtmoError(error), target, call)) throw error;
      return this.#forwardSigned(target, call, epoch);
    }
  }

  #forwardSigned(target: HubId, call: ForwardedCall, epoch: number): Promise<RemoteResult> {
    const { requests, self, answers } = this.#context;
    const sent = this.#newRequest(target, call, epoch);
    const { untilMs, hopBudget: hopsLeft } = call;
    const request = { kind: 'invoke', target, ...this.#sign(target, call, sent), untilMs, hopsLeft, visited: [self.hubId] } as const;
    return this.#exchange(
      { target, call, progress: new CallProgress(call), sent },
      {
        send: (options) => requests.send(request, options),
        open: (bytes) => answers.open(bytes, { executor: target, requestIds: [sent.id] }),
      },
    );
  }

  async #exchange(facts: LostCallFacts, { send, open }: Exchange): Promise<RemoteResult> {
    const { target, call, progress, sent } = facts;
    let bytes: Uint8Array;
    try {
      const onPart = this.#chunkReader(call, { executor: target, requestId: sent.id });
      bytes = await send({ signal: call.signal, cancelGraceMs: CANCEL_GRACE_MS, onPart, ...progress.listeners });
    } catch (error) {
      return this.#afterFailure(toAtmoError(error), facts);
    }
    const answer = open(bytes);
    if (!answer) return this.#recover(facts);
    if (answer.status === 'success') {
      progress.accepted();
      return resultOf(answer, target);
    }
    const error = errorOfBody(answer.error, target);
    throw progress.isAccepted ? error : refusal(target, error);
  }

  #newRequest(target: HubId, call: ForwardedCall, epoch: number): Sent {
    // Each attempt gets a new id, because the executing hub accepts each id only once.
    const id = `${PLAIN_ID.test(call.requestId) ? call.requestId : 'call'}~${randomUUID().slice(0, ID_SUFFIX_LENGTH)}`;
    const mode = this.#modeFor(target, call);
    return { id, epoch, mode, token: this.#context.tokens.textFor(call.principal, target, mode === 'waiting_job' ? 'waiting' : 'now') };
  }

  #sign(target: HubId, call: ForwardedCall, { id, epoch, token, mode }: Sent): SignedInvoke {
    const { self, clock, time } = this.#context;
    const { versionRange, sessionId, idempotencyKey } = call;
    return signToolInvoke(
      {
        id,
        entryHub: self.hubId,
        executingHub: target,
        executorEpoch: epoch,
        timeMs: time.now(),
        token,
        tool: call.tool.id,
        ...(versionRange !== undefined && { version: versionRange }),
        params: call.params,
        context: { agentId: call.principal.id, traceId: call.traceId, ...(sessionId !== undefined && { sessionId }) },
        routing: { hopBudget: call.hopBudget },
        timeoutMs: Math.max(0, Math.floor(call.untilMs - clock.monotonic())),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        mode,
      },
      self.privateKey,
      call.tool.definition.parameters,
    );
  }

  /** A hub that does not know the mode `waiting_job` would refuse the message. It gets `job`, and answers APPROVAL_REQUIRED. */
  #modeFor(target: HubId, { mode }: ForwardedCall): ForwardedCall['mode'] {
    const { routes } = this.#context;
    const readers = [target, routes.nextHop(target) ?? target];
    return mode === 'waiting_job' && !readers.every((hub) => routes.reads(hub, 'wire:waiting')) ? 'job' : mode;
  }

  #chunkReader({ onChunk }: ForwardedCall, expected: ConstructorParameters<typeof PartReader>[1]): (part: Uint8Array) => void {
    const { drops } = this.#context;
    const parts = new PartReader(this.#context, expected);
    return (bytes) => {
      const part = parts.read(bytes);
      if (!part) return;
      const chunk = readChunk(part.content);
      if (chunk) onChunk?.(chunk);
      else drops.count('call.malformed_chunk');
    };
  }

  /** Handles an error that the executing hub did not sign. The error came from a neighbour or from this hub's own end of the link. */
  async #afterFailure(error: AtmoError, sentCall: LostCallFacts): Promise<RemoteResult> {
    const { target, call, progress } = sentCall;
    const wasNotSent = error.code === 'NODE_UNAVAILABLE' && !progress.isInDoubt;
    if (call.signal.aborted) throw wasNotSent ? error : progress.unknownOutcome();
    if (progress.isInDoubt || error.code === 'OUTCOME_UNKNOWN') return this.#recover(sentCall);
    // Only the executing hub can require an approval, and it would have signed this error.
    if (error.code === 'APPROVAL_REQUIRED')
      throw new AtmoError('NODE_UNAVAILABLE', `An answer in the name of ${target} came without its signature`);
    throw refusal(target, error);
  }

  async #recover(lost: LostCallFacts): Promise<RemoteResult> {
    const answer = await new LostCall(this.#context, lost).answer();
    if (answer.status === 'success') return resultOf(answer, lost.target);
    throw errorOfBody(answer.error, lost.target);
  }
}

function readChunk(content: Uint8Array): CallChunk | undefined {
  try {
    return parseChunk(toolChunkCodec.decode(content).chunk);
  } catch (error) {
    if (error instanceof AtmoError) return undefined;
    throw error;
  }
}

/** Returns the result of an answer. A signed answer names the hops; an unsigned one came straight from its hub. */
function resultOf(answer: Extract<ToolResponse | ResponseContent, { readonly status: 'success' }>, target: HubId): RemoteResult {
  return { result: answer.result, nodeId: target, hops: 'execution' in answer ? answer.execution.hops : 1 };
}

/** If a refusal has a code in `TRY_NEXT`, converts it to NODE_UNAVAILABLE, so that another hub is tried. */
function refusal(target: HubId, error: AtmoError): AtmoError {
  if (!TRY_NEXT.has(error.code) || error.code === 'NODE_UNAVAILABLE') return error;
  const details = { ...error.details, code: error.code };
  return new AtmoError('NODE_UNAVAILABLE', `${target} did not take the call: ${error.message}`, details, { cause: error });
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
/** Longest wait, in milliseconds, for the outcome of a call that is safe to repeat. After it, another hub may run the call. */
const SAFE_CALL_PATIENCE_MS = 2_000;

/** A call with an unknown outcome. */
interface LostCallFacts {
  readonly target: HubId;
  readonly call: ForwardedCall;
  readonly progress: CallProgress;
  /** The request that was sent to the other hub. */
  readonly sent: Sent;
}

/** Finds the outcome of a call whose connection broke. Queries the executing hub until it answers or the time is over. */
class LostCall {
  readonly #context: ClientContext;
  readonly #facts: LostCallFacts;
  readonly #giveUpMs: number;
  /** Epoch of the executing hub's current start. */
  #epoch: number;

  constructor(context: ClientContext, facts: LostCallFacts) {
    this.#context = context;
    this.#facts = facts;
    this.#epoch = facts.sent.epoch;
    const { call, progress } = facts;
    const patienceMs = progress.isActing ? Number.POSITIVE_INFINITY : SAFE_CALL_PATIENCE_MS;
    this.#giveUpMs = Math.min(call.untilMs, context.clock.monotonic() + patienceMs);
  }

  /**
   * Returns the signed answer of the call. If the call never ran, rejects with NODE_UNAVAILABLE. If the outcome cannot be found, rejects
   * with OUTCOME_UNKNOWN if the call is not safe to repeat, else with TIMEOUT if the call was cancelled, else with NODE_UNAVAILABLE.
   */
  async answer(): Promise<ToolResponse> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)) {
      if (this.#isTimeUp) throw this.#inDoubt();
      const answer = await this.#ask();
      if (answer && answer.requestId === this.#facts.sent.id) return answer;
      const error = answer && this.#judge(answer);
      if (error) throw error;
      await this.#pause(pauseMs);
    }
  }

  get #isTimeUp(): boolean {
    return this.#facts.call.signal.aborted || this.#context.clock.monotonic() >= this.#giveUpMs;
  }

  /** Sends one query for the outcome. Returns undefined if no signed answer arrives. */
  async #ask(): Promise<ToolResponse | undefined> {
    const { self, requests, answers, time } = this.#context;
    const { target, call, sent } = this.#facts;
    const { id, token } = sent;
    const queryId = randomUUID();
    const head = { id: queryId, entryHub: self.hubId, executingHub: target, executorEpoch: this.#epoch, timeMs: time.now(), token };
    const signed = meshQueryCodec.sign({ kind: 'call_status', ...head, requestId: id }, self.privateKey);
    try {
      const bytes = await requests.send(
        { kind: 'call_status', target, signed, untilMs: this.#giveUpMs, hopsLeft: QUERY_HOPS, visited: [self.hubId] },
        { signal: call.signal },
      );
      return answers.open(bytes, { executor: target, requestIds: [queryId, id] });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#epoch = staleEpoch(error) ?? this.#epoch;
      return undefined;
    }
  }

  /** Converts a status answer to the error of the call. Returns undefined if the outcome must be queried again. */
  #judge(answer: ToolResponse): AtmoError | undefined {
    if (answer.status === 'error') return this.#facts.progress.isActing ? undefined : errorOfBody(answer.error, this.#facts.target);
    const status: JsonObject = isJsonObject(answer.result) ? answer.result : {};
    if (status.state === 'running') return undefined;
    // If the epoch is the same, the hub has not restarted since, so it can confirm that the request never ran.
    if (status.state === 'unknown' && status.epoch === this.#facts.sent.epoch)
      return new AtmoError('NODE_UNAVAILABLE', `The connection to ${this.#facts.target} was lost before it accepted the call`);
    return this.#inDoubt();
  }

  #inDoubt(): AtmoError {
    const { call, progress, target } = this.#facts;
    if (progress.isActing || call.signal.aborted) return progress.unknownOutcome();
    return new AtmoError('NODE_UNAVAILABLE', `${target} was lost while it ran the call, which is safe to repeat`);
  }

  #pause(ms: number): Promise<void> {
    const { clock } = this.#context;
    const leftMs = Math.max(1, this.#giveUpMs - clock.monotonic());
    return pause(clock, Math.min(ms, leftMs), this.#facts.call.signal);
  }
}

/** Tracks the progress of a call on another hub, as far as this hub knows it. */
class CallProgress {
  readonly #call: ForwardedCall;
  #isAccepted = false;
  #isLost = false;

  constructor(call: ForwardedCall) {
    this.#call = call;
  }

  get listeners(): Pick<RequestOptions, 'onAccept' | 'onLost'> {
    return {
      onAccept: () => this.accepted(),
      onLost: () => {
        this.#isLost = true;
      },
    };
  }

  /** Marks the call as accepted, after an accept frame or a result of the other hub. Notifies the caller once. */
  accepted(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#call.onAccept?.();
  }

  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** Returns whether the other hub accepted the call, or may have accepted it before the connection was lost. */
  get isInDoubt(): boolean {
    return this.#isAccepted || this.#isLost;
  }

  /** Returns whether a second run of the tool could have a second effect. */
  get isActing(): boolean {
    return isActing(this.#call.tool.definition);
  }

  /** Returns the error for an outcome that cannot be found: TIMEOUT if the call is safe to repeat, and OUTCOME_UNKNOWN if it is not. */
  unknownOutcome(): AtmoError {
    const { id } = this.#call.tool;
    if (!this.isActing) return new AtmoError('TIMEOUT', `The hub that runs ${id} did not answer in time`);
    return new AtmoError(
      'OUTCOME_UNKNOWN',
      `${id} was sent to another hub that does not answer any more; read the state before calling it again`,
    );
  }
}
