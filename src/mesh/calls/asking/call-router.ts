import { randomUUID } from 'node:crypto';
import { AtmoError, type ErrorCode, toAtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { type CallChunk, chunkOf } from '../../../tools/calls/asking/call-chunk.ts';
import type { CallRouter, ForwardedCall, RemoteResult } from '../../../tools/calls/call-collaborators.ts';
import { type SignedInvoke, signToolInvoke } from '../../../wire/messages/call.ts';
import type { ToolResponse } from '../../../wire/messages/call-response.ts';
import { decodeToolChunk } from '../../../wire/messages/signed-part.ts';
import type { DropSink } from '../../link/drop-sink.ts';
import type { CallRoutes, MemberKeys, MeshTokens, SigningHub } from '../call-ports.ts';
import type { MeshRequests } from '../mesh-requests.ts';
import { errorOfBody, type SignedAnswers } from '../signed-answers.ts';
import { PartReader } from '../signed-parts.ts';
import { atNewestEpoch } from '../stale-epoch.ts';
import { CallProgress } from './call-progress.ts';
import { LostCall, type LostCallFacts } from './lost-call.ts';

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
  readonly requests: MeshRequests;
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
 * Has calls run by other hubs (source 000 §4). What has been sent and may have been taken on is never given to a second hub:
 * after a lost connection the executing hub is asked what became of it, over any way, until the deadline.
 */
export class MeshCallRouter implements CallRouter {
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
    return chunkOf(decodeToolChunk(content));
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
