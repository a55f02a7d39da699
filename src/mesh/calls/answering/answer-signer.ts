import { randomUUID } from 'node:crypto';
import { AtmoError, type ErrorBody, toAtmoError } from '../../../core/errors.ts';
import type { Json, JsonSchema } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { signToolResponse } from '../../../wire/messages/call-response.ts';
import type { CallRoutes, SigningHub } from '../call-ports.ts';
import type { OpenedRequest, RequestHead } from './request-guard.ts';

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
