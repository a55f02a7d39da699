import { randomUUID } from 'node:crypto';
import type { CallRouter, ForwardedCall, RemoteResult } from '../../calls/pipeline-context.ts';
import { type SignedInvoke, signToolInvoke, type ToolResponse } from '../../codec/messages/call.ts';
import { decodeToolChunk, signMeshQuery } from '../../codec/messages/query.ts';
import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { type CallChunk, parseChunk } from '../../tools/definition/notifications.ts';
import { isActing } from '../../tools/definition/tool-definition.ts';
import type { DropSink, PeerLinks, RequestOptions } from './peer-link.ts';
import { MeshEvents } from './remote-events.ts';
import { MeshJobs, MeshQueries, QUERY_HOPS } from './remote-queries.ts';
import {
  atNewestEpoch,
  type CallRoutes,
  type MemberKeys,
  type MeshTokens,
  RoutedRequests,
  type SigningHub,
  staleEpoch,
} from './routed-requests.ts';
import { errorOfBody, PartReader, SignedAnswers } from './signed-answers.ts';

interface CallClientCollaborators {
  readonly self: SigningHub;
  readonly links: PeerLinks;
  readonly routes: CallRoutes;
  readonly members: MemberKeys;
  readonly tokens: MeshTokens;
  readonly clock: Clock;
  /** The best that the hub knows of the time. */
  readonly time: Pick<Clock, 'now'>;
  readonly drops: DropSink;
}

/** What this hub has other hubs do for its callers. */
export class CallClient {
  readonly router: MeshCallRouter;
  readonly jobs: MeshJobs;
  readonly events: MeshEvents;

  constructor(collaborators: CallClientCollaborators) {
    const requests = new RoutedRequests(collaborators);
    const answers = new SignedAnswers(collaborators);
    const queries = new MeshQueries({
      self: collaborators.self,
      routes: collaborators.routes,
      tokens: collaborators.tokens,
      members: collaborators.members,
      drops: collaborators.drops,
      time: collaborators.time,
      requests,
      answers,
    });
    const { clock } = collaborators;
    this.router = new MeshCallRouter({
      self: collaborators.self,
      routes: collaborators.routes,
      tokens: collaborators.tokens,
      members: collaborators.members,
      drops: collaborators.drops,
      clock: collaborators.clock,
      time: collaborators.time,
      requests,
      answers,
    });
    this.jobs = new MeshJobs({ queries, clock });
    this.events = new MeshEvents({ queries, clock });
  }
}

/** How long a cancelled call may still say how it ended: less than the pipeline's own patience. */
const CANCEL_GRACE_MS = 200;
/** An id of a caller's own making that fits into a message; any other is left out. */
const PLAIN_ID = /^[\x21-\x7e]{1,100}$/;
const ID_SUFFIX_LENGTH = 13;
/** Refusals after which another hub may be tried, while nothing was accepted. */
const TRY_NEXT: ReadonlySet<ErrorCode> = new Set([
  'NODE_UNAVAILABLE',
  'NO_CAPABLE_NODE',
  'SHUTTING_DOWN',
  'RATE_LIMITED',
  'RESOURCE_EXCEEDED',
  'HUB_UNREACHABLE',
]);

interface RouterCollaborators {
  readonly self: SigningHub;
  readonly requests: RoutedRequests;
  readonly answers: SignedAnswers;
  readonly routes: CallRoutes;
  readonly tokens: MeshTokens;
  readonly members: MemberKeys;
  readonly drops: DropSink;
  readonly clock: Clock;
  /** The best that the hub knows of the time. */
  readonly time: Pick<Clock, 'now'>;
}

interface Sent {
  readonly id: string;
  readonly epoch: number;
  readonly token: string;
  readonly invoke: SignedInvoke;
}

/**
 * Has calls run by other hubs. What has been sent and may have been taken on is never given to a second hub:
 * after a lost connection the executing hub is asked what became of it, over any way, until the deadline.
 */
class MeshCallRouter implements CallRouter {
  readonly #collaborators: RouterCollaborators;

  constructor(collaborators: RouterCollaborators) {
    this.#collaborators = collaborators;
  }

  async forward(hubId: string, call: ForwardedCall): Promise<RemoteResult> {
    const target = hubId as HubId;
    return atNewestEpoch(this.#collaborators.routes, target, (epoch) => this.#forward(target, call, epoch));
  }

  async #forward(target: HubId, call: ForwardedCall, epoch: number): Promise<RemoteResult> {
    const { requests, self, answers } = this.#collaborators;
    const sent = this.#sign(target, call, epoch);
    const progress = new CallProgress(call);
    let bytes: Uint8Array;
    try {
      const request = { kind: 'invoke', target, ...sent.invoke, hopsLeft: call.hopBudget, visited: [self.hubId] } as const;
      const onPart = this.#chunkReader(call, { executor: target, requestId: sent.id });
      const options = { signal: call.signal, cancelGraceMs: CANCEL_GRACE_MS, onPart, ...progress.listeners };
      bytes = await requests.send({ ...request, remainingMs: this.#remainingMs(call) }, options);
    } catch (error) {
      return this.#afterFailure(toAtmoError(error), { target, call, sent, progress });
    }
    const answer = answers.open(bytes, { executor: target, requestIds: [sent.id] });
    if (!answer) return this.#recover({ target, call, sent, progress });
    if (answer.status === 'success') {
      progress.accepted();
      return resultOf(answer);
    }
    const error = errorOfBody(answer.error, target);
    throw progress.isAccepted ? error : refusal(target, error);
  }

  #sign(target: HubId, call: ForwardedCall, epoch: number): Sent {
    const { self, tokens, time } = this.#collaborators;
    const { versionRange, sessionId, idempotencyKey } = call;
    // A second try is another request: the executing hub takes each id once.
    const id = `${PLAIN_ID.test(call.requestId) ? call.requestId : 'call'}~${randomUUID().slice(0, ID_SUFFIX_LENGTH)}`;
    const token = tokens.textFor(call.principal, target);
    const invoke = signToolInvoke(
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
        timeoutMs: this.#remainingMs(call),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        mode: call.mode,
      },
      self.privateKey,
      call.tool.definition.parameters,
    );
    return { id, epoch, token, invoke };
  }

  #chunkReader({ onChunk }: ForwardedCall, expected: ConstructorParameters<typeof PartReader>[1]): (part: Uint8Array) => void {
    const { drops } = this.#collaborators;
    const parts = new PartReader(this.#collaborators, expected);
    return (bytes) => {
      const part = parts.read(bytes);
      if (!part) return;
      const chunk = readChunk(part.content);
      if (chunk) onChunk?.(chunk);
      else drops.count('call.malformed_chunk');
    };
  }

  #remainingMs({ deadlineMs }: ForwardedCall): number {
    return Math.max(0, Math.floor(deadlineMs - this.#collaborators.clock.now()));
  }

  /** What a neighbour said without the executing hub's signature, or what the own end of the link noticed. */
  async #afterFailure(error: AtmoError, doubtful: LostCallFacts): Promise<RemoteResult> {
    const { target, call, progress } = doubtful;
    const wasNotSent = error.code === 'NODE_UNAVAILABLE' && !progress.isInDoubt;
    if (call.signal.aborted) throw wasNotSent ? error : progress.unknownOutcome();
    if (progress.isInDoubt || error.code === 'OUTCOME_UNKNOWN') return this.#recover(doubtful);
    // Only the hub that runs the call can ask for an approval, and it signs that.
    if (error.code === 'APPROVAL_REQUIRED')
      throw new AtmoError('NODE_UNAVAILABLE', `What came back on the way to ${target} was not signed by it`);
    throw refusal(target, error);
  }

  async #recover(lost: LostCallFacts): Promise<RemoteResult> {
    const answer = await new LostCall(this.#collaborators, lost).answer();
    if (answer.status === 'success') return resultOf(answer);
    throw errorOfBody(answer.error, lost.target);
  }
}

function readChunk(content: Uint8Array): CallChunk | undefined {
  try {
    return parseChunk(decodeToolChunk(content));
  } catch (error) {
    if (error instanceof AtmoError) return undefined;
    throw error;
  }
}

function resultOf({ result, execution }: Extract<ToolResponse, { readonly status: 'success' }>): RemoteResult {
  return { result, nodeId: execution.nodeId, hops: execution.hops };
}

/** Another hub may be tried after what says nothing about the call itself; the reason stays in message and cause. */
function refusal(target: HubId, error: AtmoError): AtmoError {
  if (!TRY_NEXT.has(error.code) || error.code === 'NODE_UNAVAILABLE') return error;
  const details = { ...error.details, code: error.code };
  return new AtmoError('NODE_UNAVAILABLE', `${target} did not take the call: ${error.message}`, details, { cause: error });
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
/** A call that may be repeated is given up early: another hub may be able to run it. */
const HARMLESS_PATIENCE_MS = 2_000;

interface LostCallCollaborators {
  readonly self: SigningHub;
  readonly requests: RoutedRequests;
  readonly answers: SignedAnswers;
  readonly clock: Clock;
  readonly time: Pick<Clock, 'now'>;
}

/** A call of which nobody knows how it ended. */
interface LostCallFacts {
  readonly target: HubId;
  readonly call: ForwardedCall;
  readonly progress: CallProgress;
  /** The request by which it was given to the other hub. */
  readonly sent: { readonly id: string; readonly epoch: number; readonly token: string };
}

/** A call of which the connection broke: its executing hub is asked what became of it until it says so or time is up. */
class LostCall {
  readonly #collaborators: LostCallCollaborators;
  readonly #facts: LostCallFacts;
  readonly #giveUpMs: number;
  /** Of the process that is there now. */
  #epoch: number;

  constructor(collaborators: LostCallCollaborators, facts: LostCallFacts) {
    this.#collaborators = collaborators;
    this.#facts = facts;
    this.#epoch = facts.sent.epoch;
    const { call, progress } = facts;
    const patienceMs = progress.isActing ? Number.POSITIVE_INFINITY : HARMLESS_PATIENCE_MS;
    this.#giveUpMs = Math.min(call.deadlineMs, collaborators.clock.now() + patienceMs);
  }

  /**
   * How it ended. NODE_UNAVAILABLE when it never ran, or may run again without harm; OUTCOME_UNKNOWN, for what acts, when
   * nobody can tell any more.
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
    return this.#facts.call.signal.aborted || this.#collaborators.clock.now() >= this.#giveUpMs;
  }

  /** Undefined when no answer came, by whatever way. */
  async #ask(): Promise<ToolResponse | undefined> {
    const { self, requests, answers, clock, time } = this.#collaborators;
    const { target, call, sent } = this.#facts;
    const { id, token } = sent;
    const queryId = randomUUID();
    const head = { id: queryId, entryHub: self.hubId, executingHub: target, executorEpoch: this.#epoch, timeMs: time.now(), token };
    const signed = signMeshQuery({ kind: 'call_status', ...head, requestId: id }, self.privateKey);
    const remainingMs = this.#giveUpMs - clock.now();
    try {
      const bytes = await requests.send(
        { kind: 'call_status', target, signed, remainingMs, hopsLeft: QUERY_HOPS, visited: [self.hubId] },
        { signal: call.signal },
      );
      return answers.open(bytes, { executor: target, requestIds: [queryId, id] });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#epoch = staleEpoch(error) ?? this.#epoch;
      return undefined;
    }
  }

  /** Undefined while it runs. */
  #judge(answer: ToolResponse): AtmoError | undefined {
    if (answer.status === 'error') return this.#facts.progress.isActing ? undefined : errorOfBody(answer.error, this.#facts.target);
    const told: JsonObject = isJsonObject(answer.result) ? answer.result : {};
    if (told.state === 'running') return undefined;
    // Only the process that was asked then can know that it never ran.
    if (told.state === 'unknown' && told.epoch === this.#facts.sent.epoch) return neverRan(this.#facts.target);
    return this.#inDoubt();
  }

  #inDoubt(): AtmoError {
    const { call, progress, target } = this.#facts;
    if (progress.isActing || call.signal.aborted) return progress.unknownOutcome();
    return new AtmoError('NODE_UNAVAILABLE', `${target} was lost while it ran the call, which may be made again without harm`);
  }

  #pause(ms: number): Promise<void> {
    const { clock } = this.#collaborators;
    const leftMs = Math.max(1, this.#giveUpMs - clock.now());
    return pause(clock, Math.min(ms, leftMs), this.#facts.call.signal);
  }
}

function neverRan(target: HubId): AtmoError {
  return new AtmoError('NODE_UNAVAILABLE', `The connection to ${target} was lost before it took the call on`);
}

/** How far a call has come that was given to another hub, as far as this hub can tell. */
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

  /** It is told, or its result shows, that the call was let through. */
  accepted(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#call.onAccept?.();
  }

  /** The executing hub has let the call through. */
  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** It may have run, and nobody has said how it ended. */
  get isInDoubt(): boolean {
    return this.#isAccepted || this.#isLost;
  }

  /** Running it twice would do something twice. */
  get isActing(): boolean {
    return isActing(this.#call.tool.definition);
  }

  /** What is honest when nobody can say any more what became of it. */
  unknownOutcome(): AtmoError {
    const { id } = this.#call.tool;
    if (!this.isActing) return new AtmoError('TIMEOUT', `The hub that runs ${id} did not answer in time`);
    return new AtmoError(
      'OUTCOME_UNKNOWN',
      `${id} was given to another hub that does not answer any more; read the state before calling it again`,
    );
  }
}
