import { encodeSubscribedEvent, type MeshQuery, type Subscribe } from '../../codec/messages/query.ts';
import { type Authenticator, type Principal, TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { IncomingRequest } from './peer-link.ts';
import type { OpenedRequest, RequestGuard } from './request-guard.ts';
import type { SigningHub } from './routed-requests.ts';
import { type AnswerSigner, PartSigner } from './signed-answers.ts';

/** Subscriptions of the callers of one hub. */
const MAX_PER_HUB = 16;

interface SubscriptionCollaborators {
  readonly self: SigningHub;
  readonly guard: RequestGuard;
  readonly signer: AnswerSigner;
  readonly events: Pick<EventBus, 'listen'>;
  /** What a principal may hear of this hub's events. */
  readonly mayHear: (principal: Principal) => (event: HubEvent) => boolean;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  readonly clock: Clock;
  readonly time: Pick<Clock, 'now'>;
}

/** Tells callers of other hubs what happens here, as far as they may hear it, until they have enough or their token ends. */
export class SubscriptionServer {
  readonly #collaborators: SubscriptionCollaborators;
  readonly #counts = new Map<HubId, number>();

  constructor(collaborators: SubscriptionCollaborators) {
    this.#collaborators = collaborators;
  }

  readonly serve = (opened: OpenedRequest<MeshQuery>, request: IncomingRequest): Promise<Uint8Array> =>
    this.#collaborators.signer.answer(opened, async () => {
      const { statement } = opened;
      if (statement.kind !== 'subscribe') throw new AtmoError('VALIDATION_ERROR', 'The request is not a subscription');
      const principal = this.#collaborators.guard.principalOf(opened);
      const count = this.#counts.get(statement.entryHub) ?? 0;
      if (count >= MAX_PER_HUB) {
        throw new AtmoError('RESOURCE_EXCEEDED', `Callers of ${statement.entryHub} have ${count} subscriptions; end one`);
      }
      this.#counts.set(statement.entryHub, count + 1);
      try {
        return await this.#tell(statement, principal, request);
      } finally {
        this.#leave(statement.entryHub);
      }
    });

  async #tell(statement: Subscribe, principal: Principal, request: IncomingRequest): Promise<JsonObject> {
    const { self, events, mayHear, validity } = this.#collaborators;
    const parts = new PartSigner(self, statement.id);
    const queue = new EventQueue();
    const tokenEnded = new AtmoError('TOKEN_EXPIRED', `The token of ${principal.id} has ended, and with it the subscription`);
    const isWanted = eventFilter(statement);
    const isHearable = mayHear(principal);
    const stops = [
      events.listen((event) => {
        if (!isWanted(event)) return;
        if (!validity.isStillValid(principal)) queue.end(tokenEnded);
        else if (isHearable(event)) queue.add(event);
      }),
      onceAborted(request.signal, () => queue.end()),
      this.#atTokenEnd(principal, () => queue.end(tokenEnded)),
    ];
    try {
      request.accept('attached');
      for await (const event of queue) await request.part(parts.sign(encodeSubscribedEvent(event as unknown as JsonObject)));
      return {};
    } finally {
      for (const stop of stops) stop();
    }
  }

  #atTokenEnd({ token }: Principal, end: () => void): () => void {
    const { clock, time } = this.#collaborators;
    if (!token) return () => {};
    return clock.after(Math.max(0, token.expiresAtMs + TOKEN_SKEW_MS - time.now()), end);
  }

  #leave(hub: HubId): void {
    const left = (this.#counts.get(hub) ?? 1) - 1;
    if (left > 0) this.#counts.set(hub, left);
    else this.#counts.delete(hub);
  }
}

function eventFilter({ types, subjects }: Subscribe): (event: HubEvent) => boolean {
  const wanted = new Set<string>(types);
  const about = subjects && new Set(subjects);
  return ({ type, subject }) => wanted.has(type) && (about?.has(subject) ?? true);
}

function onceAborted(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Events that wait for a slow listener. */
const MAX_WAITING = 256;

/** Events on their way to one listener, in order. One that is too slow loses the subscription, not single events unnoticed. */
class EventQueue implements AsyncIterable<HubEvent> {
  readonly #waiting: HubEvent[] = [];
  #wake = () => {};
  #end: { readonly error?: AtmoError } | undefined;

  add(event: HubEvent): void {
    if (this.#end) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.end(new AtmoError('RESOURCE_EXCEEDED', `The listener is ${MAX_WAITING} events behind; subscribe again`));
      return;
    }
    this.#waiting.push(event);
    this.#wake();
  }

  /** No more events; whoever reads them gets the error after those that wait, where there is one. */
  end(error?: AtmoError): void {
    this.#end ??= error ? { error } : {};
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<HubEvent> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) yield event;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
