import { randomUUID } from 'node:crypto';
import { openToolResponse, partCodec, type ResponsePart, signToolResponse, type ToolResponse } from '../../codec/messages/call.ts';
import { decodeSessionAnswer, encodeSessionAnswer } from '../../codec/messages/session-call.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, type ErrorBody, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import { visibleJson, visibleText } from '../../core/untrusted-text.ts';
import type { DropSink } from './peer-link.ts';
import type { OpenedRequest, RequestHead } from './request-guard.ts';
import type { CallRoutes, MemberKeys, SigningHub } from './routed-requests.ts';

const MAX_MESSAGE_LENGTH = 2_048;
const MAX_DETAILS_LENGTH = 65_536;

/** What an answer must name: the executing hub and one of the request ids. */
interface ExpectedAnswer {
  readonly executor: HubId;
  readonly requestIds: readonly string[];
}

interface AnswerChecks {
  readonly members: MemberKeys;
  readonly drops: DropSink;
}

/** Opens answers of other hubs; accepts only answers that the executing hub has signed. */
export class SignedAnswers {
  readonly #parts: AnswerChecks;

  constructor(parts: AnswerChecks) {
    this.#parts = parts;
  }

  /** Opens an answer. Returns undefined and counts a drop if the executing hub did not sign the answer for this request. */
  open(bytes: Uint8Array, { executor, requestIds }: ExpectedAnswer): ToolResponse | undefined {
    try {
      return openToolResponse(bytes, ({ requestId, execution }) => {
        if (execution.nodeId === executor && requestIds.includes(requestId)) return this.#parts.members.keyOf(executor)?.publicKey;
        throw new AtmoError('VALIDATION_ERROR', `The answer is not one of ${executor} to this request`);
      });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.drops.count('call.forged_answer');
      return undefined;
    }
  }
}

/** Converts an error from `executor` to an AtmoError that is safe to show. If the details have a `node_id`, sets it to `executor`. */
export function errorOfBody({ code, message, details }: ErrorBody, executor: HubId): AtmoError {
  const safe = JSON.stringify(details).length > MAX_DETAILS_LENGTH ? {} : (visibleJson(details) as JsonObject);
  return new AtmoError(code, visibleText(message, MAX_MESSAGE_LENGTH), { ...safe, ...('node_id' in safe && { node_id: executor }) });
}

/** Signs and numbers the parts of one answer, so that a hub on the route can neither change a part nor secretly drop one. */
export class PartSigner {
  readonly #self: SigningHub;
  readonly #requestId: string;
  #sequence = 0;

  constructor(self: SigningHub, requestId: string) {
    this.#self = self;
    this.#requestId = requestId;
  }

  /** Returns the next part, encoded. Throws VALIDATION_ERROR if the content is too long. */
  sign(content: Uint8Array): Uint8Array {
    const { hubId: executingHub, privateKey } = this.#self;
    const part = { requestId: this.#requestId, executingHub, sequence: this.#sequence, content };
    const signed = partCodec.sign(part, privateKey);
    this.#sequence++;
    return signed;
  }
}

/** What each part of an answer must name: the executing hub and the request id. */
interface ExpectedParts {
  readonly executor: HubId;
  readonly requestId: string;
}

/** A part that the executing hub has signed. */
export interface ReadPart {
  readonly content: Uint8Array;
  /** True if parts before this part are missing. */
  readonly isAfterGap: boolean;
}

/** Opens the parts of an answer; accepts only parts that the executing hub has signed, and each part once. */
export class PartReader {
  readonly #collaborators: AnswerChecks;
  readonly #expected: ExpectedParts;
  #next = 0;

  constructor(collaborators: AnswerChecks, expected: ExpectedParts) {
    this.#collaborators = collaborators;
    this.#expected = expected;
  }

  /** Reads a part. If the bytes are not a part of this answer or repeat an earlier part, counts a drop and returns undefined. */
  read(bytes: Uint8Array): ReadPart | undefined {
    const part = this.#open(bytes);
    if (!part) return undefined;
    const isAfterGap = part.sequence > this.#next;
    this.#next = part.sequence + 1;
    return { content: part.content, isAfterGap };
  }

  #open(bytes: Uint8Array): ResponsePart | undefined {
    const { executor, requestId } = this.#expected;
    try {
      return partCodec.open(bytes, (part) => {
        const isExpected = part.executingHub === executor && part.requestId === requestId && part.sequence >= this.#next;
        if (isExpected) return this.#collaborators.members.keyOf(executor)?.publicKey;
        throw new AtmoError('VALIDATION_ERROR', `The part is not the next one of ${executor} to this request`);
      });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#collaborators.drops.count('call.forged_part');
      return undefined;
    }
  }
}

/** The outcome of a request. */
export type Outcome = { readonly kind: 'result'; readonly result: Json } | { readonly kind: 'error'; readonly error: ErrorBody };

/** What an answer needs of its request. It holds neither the parameters nor the token. */
export interface AnswerHead extends Pick<RequestHead, 'id' | 'entryHub'> {
  /** Number of hops that the request has taken. */
  readonly hops: number;
  /** Microseconds from the arrival of the request to its outcome. */
  readonly durationUs: number;
  /** The declared schema of the result, which shows which of its texts are sent as bytes. */
  readonly returns?: JsonSchema | undefined;
}

interface SignerCollaborators {
  readonly self: SigningHub;
  readonly routes: Pick<CallRoutes, 'reads'>;
  readonly clock: Clock;
  readonly time: Pick<Clock, 'now'>;
}

/** Signs the answers of this hub, so that hubs on the route cannot change them. */
export class AnswerSigner {
  readonly #collaborators: SignerCollaborators;

  constructor(collaborators: SignerCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Returns the head of the answer to a request that has its outcome now. `startMs` is when it arrived, by the monotonic clock. */
  headOf({ statement: { id, entryHub }, hops }: OpenedRequest<RequestHead>, startMs: number, returns?: JsonSchema): AnswerHead {
    const durationUs = Math.max(0, Math.round((this.#collaborators.clock.monotonic() - startMs) * 1000));
    return { id, entryHub, hops, durationUs, returns };
  }

  /** Returns the encoded and signed answer. */
  sign(outcome: Outcome, head: AnswerHead): Uint8Array {
    const { self, time } = this.#collaborators;
    const { id: requestId, durationUs, hops } = head;
    const statement = { id: randomUUID(), requestId, execution: { nodeId: self.hubId, durationUs, hops }, timeMs: time.now() };
    if (outcome.kind === 'error')
      return signToolResponse({ ...statement, status: 'error', error: this.#located(outcome.error) }, self.privateKey);
    return signToolResponse({ ...statement, status: 'success', result: outcome.result }, self.privateKey, this.#bytesOf(head));
  }

  /** Returns the encoded answer to a call that came without a signature. Only the session protects this answer. */
  unsigned(outcome: Outcome, head: AnswerHead): Uint8Array {
    if (outcome.kind === 'error') return encodeSessionAnswer({ status: 'error', error: this.#located(outcome.error) });
    return encodeSessionAnswer({ status: 'success', result: outcome.result }, this.#bytesOf(head));
  }

  /** Returns an answer of `unsigned` with a signature. */
  signLate(unsigned: Uint8Array, head: AnswerHead): Uint8Array {
    const content = decodeSessionAnswer(unsigned);
    return this.sign(
      content.status === 'error' ? { kind: 'error', error: content.error } : { kind: 'result', result: content.result },
      head,
    );
  }

  /** Returns the schema by which bytes of the result are sent as bytes. Hubs on the route need not read `wire:bytes`: they only forward. */
  #bytesOf({ returns, entryHub }: AnswerHead): JsonSchema | undefined {
    return this.#collaborators.routes.reads(entryHub, 'wire:bytes') ? returns : undefined;
  }

  /** Runs `work` and signs its result or error. `returns` gives the schema of the result. */
  async answer(
    opened: OpenedRequest<RequestHead>,
    work: () => Json | Promise<Json>,
    returns?: (result: Json) => JsonSchema | undefined,
  ): Promise<Uint8Array> {
    const startMs = this.#collaborators.clock.monotonic();
    try {
      const result = await work();
      return this.sign({ kind: 'result', result }, this.headOf(opened, startMs, returns?.(result)));
    } catch (thrown) {
      const error = toAtmoError(thrown);
      // An unexpected error is thrown again, so that the peer link logs its stack.
      if (error.code === 'INTERNAL_ERROR' && !(thrown instanceof AtmoError)) throw thrown;
      return this.sign({ kind: 'error', error: error.toBody() }, this.headOf(opened, startMs));
    }
  }

  /** Adds this hub's id to an error that requires an approval, because people approve the call on this hub. */
  #located(error: ErrorBody): ErrorBody {
    const { code, message, details, retryable } = error;
    const where = code === 'APPROVAL_REQUIRED' ? { node_id: this.#collaborators.self.hubId } : {};
    return { code, message, details: { ...where, ...details }, retryable };
  }
}
