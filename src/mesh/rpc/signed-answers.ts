import { randomUUID } from 'node:crypto';
import { openToolResponse, signToolResponse, type ToolResponse } from '../../codec/messages/call.ts';
import { openPart, type ResponsePart, signPart } from '../../codec/messages/query.ts';
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

/** What an answer has to be about. */
export interface ExpectedAnswer {
  readonly executor: HubId;
  /** Ids of requests that it may answer. */
  readonly requestIds: readonly string[];
}

/** Opens answers of other hubs: only what the executing hub itself has signed is believed. */
export class SignedAnswers {
  readonly #members: MemberKeys;
  readonly #drops: DropSink;

  constructor({ members, drops }: { readonly members: MemberKeys; readonly drops: DropSink }) {
    this.#members = members;
    this.#drops = drops;
  }

  /** Undefined for an answer that the executing hub did not sign for this request; it is counted. */
  open(bytes: Uint8Array, { executor, requestIds }: ExpectedAnswer): ToolResponse | undefined {
    try {
      return openToolResponse(bytes, ({ requestId, execution }) => {
        if (execution.nodeId === executor && requestIds.includes(requestId)) return this.#members.keyOf(executor)?.publicKey;
        throw new AtmoError('VALIDATION_ERROR', `The answer is not one of ${executor} to this request`);
      });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#drops.count('call.forged_answer');
      return undefined;
    }
  }
}

/** The error that `executor` answered: its text is shown to people and models, and it speaks for no hub but itself. */
export function errorOfBody({ code, message, details }: ErrorBody, executor: HubId): AtmoError {
  const told = JSON.stringify(details).length > MAX_DETAILS_LENGTH ? {} : (visibleJson(details) as JsonObject);
  return new AtmoError(code, visibleText(message, MAX_MESSAGE_LENGTH), { ...told, ...('node_id' in told && { node_id: executor }) });
}

/** Signs what this hub tells before its answer to one request: hubs that carry it can neither change it nor keep it back unnoticed. */
export class PartSigner {
  readonly #self: SigningHub;
  readonly #requestId: string;
  #sequence = 0;

  constructor(self: SigningHub, requestId: string) {
    this.#self = self;
    this.#requestId = requestId;
  }

  /** The next part as it travels. VALIDATION_ERROR for more than fits into one. */
  sign(content: Uint8Array): Uint8Array {
    const { hubId: executingHub, privateKey } = this.#self;
    const part = { requestId: this.#requestId, executingHub, sequence: this.#sequence, content };
    const signed = signPart(part, privateKey);
    this.#sequence++;
    return signed;
  }
}

/** Whose parts are expected, and of the answer to which request. */
interface ExpectedParts {
  readonly executor: HubId;
  readonly requestId: string;
}

/** A part that the executing hub has told. */
export interface ReadPart {
  readonly content: Uint8Array;
  /** Some were told before it that did not come. */
  readonly isAfterGap: boolean;
}

/** Opens the parts of an answer: only what the executing hub itself has signed is believed, and each once. */
export class PartReader {
  readonly #parts: { readonly members: MemberKeys; readonly drops: DropSink };
  readonly #expected: ExpectedParts;
  #next = 0;

  constructor(parts: { readonly members: MemberKeys; readonly drops: DropSink }, expected: ExpectedParts) {
    this.#parts = parts;
    this.#expected = expected;
  }

  /** Undefined for what is not one of the parts, or was here before; it is counted. */
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
      return openPart(bytes, (part) => {
        const isExpected = part.executingHub === executor && part.requestId === requestId && part.sequence >= this.#next;
        if (isExpected) return this.#parts.members.keyOf(executor)?.publicKey;
        throw new AtmoError('VALIDATION_ERROR', `The part is not the next one of ${executor} to this request`);
      });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.drops.count('call.forged_part');
      return undefined;
    }
  }
}

/** How a request ended. */
export type Outcome = Result | { readonly kind: 'error'; readonly error: ErrorBody };

interface Result {
  readonly kind: 'result';
  readonly result: Json;
  /** Its schema: what of it is bytes travels as such. */
  readonly returns?: JsonSchema | undefined;
}

interface SignerCollaborators {
  readonly self: SigningHub;
  readonly routes: Pick<CallRoutes, 'reads'>;
  readonly clock: Clock;
  readonly time: Pick<Clock, 'now'>;
}

interface Answered {
  readonly opened: OpenedRequest<RequestHead>;
  /** When it came, by the monotonic clock. */
  readonly startMs: number;
}

/** Says under this hub's signature how a request ended here: hubs that carry the answer cannot change it. */
export class AnswerSigner {
  readonly #collaborators: SignerCollaborators;

  constructor(collaborators: SignerCollaborators) {
    this.#collaborators = collaborators;
  }

  /** The answer as it travels. */
  sign(outcome: Outcome, { opened, startMs }: Answered): Uint8Array {
    const { self, routes, clock, time } = this.#collaborators;
    const { statement, forwarded } = opened;
    const head = {
      id: randomUUID(),
      requestId: statement.id,
      execution: {
        nodeId: self.hubId,
        durationUs: Math.max(0, Math.round((clock.monotonic() - startMs) * 1000)),
        hops: forwarded.visited.length,
      },
      timeMs: time.now(),
    };
    if (outcome.kind === 'error') return signToolResponse({ ...head, status: 'error', error: this.#told(outcome.error) }, self.privateKey);
    // Only the entry hub reads the answer: others on the way carry it as it is.
    const returns = routes.reads(statement.entryHub, 'wire:bytes') ? outcome.returns : undefined;
    return signToolResponse({ ...head, status: 'success', result: outcome.result }, self.privateKey, returns);
  }

  /** Runs `work` and signs what it answers or throws; `returns` is the schema of an answer. */
  async answer(
    opened: OpenedRequest<RequestHead>,
    work: () => Json | Promise<Json>,
    returns?: (result: Json) => JsonSchema | undefined,
  ): Promise<Uint8Array> {
    const startMs = this.#collaborators.clock.monotonic();
    try {
      const result = await work();
      return this.sign({ kind: 'result', result, returns: returns?.(result) }, { opened, startMs });
    } catch (thrown) {
      const error = toAtmoError(thrown);
      // Its stack belongs into the log, which the link writes.
      if (error.code === 'INTERNAL_ERROR' && !(thrown instanceof AtmoError)) throw thrown;
      return this.sign({ kind: 'error', error: error.toBody() }, { opened, startMs });
    }
  }

  /** Who is asked to approve is asked on this hub. */
  #told(error: ErrorBody): ErrorBody {
    const { code, message, details, retryable } = error;
    const where = code === 'APPROVAL_REQUIRED' ? { node_id: this.#collaborators.self.hubId } : {};
    return { code, message, details: { ...where, ...details }, retryable };
  }
}
