import { type MeshQuery, type Subscribe, subscribedEventCodec } from '../../codec/messages/call.ts';
import { type Authenticator, type Principal, TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import type { JsonObject } from '../../core/json.ts';
import { ConcurrencyLimit } from '../rate-limit.ts';
import type { IncomingRequest } from './peer-link.ts';
import type { OpenedRequest, RequestGuard } from './request-guard.ts';
import type { SigningHub } from './routed-requests.ts';
import { type AnswerSigner, PartSigner } from './signed-answers.ts';

const MAX_PER_HUB = 16;

interface SubscriptionCollaborators {
  readonly self: SigningHub;
  readonly guard: RequestGuard;
  readonly signer: AnswerSigner;
  readonly events: Pick<EventBus, 'listen'>;
  /** Returns a filter that accepts only events that the principal may receive. */
  readonly visibleEvents: (principal: Principal) => (event: HubEvent) => boolean;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  readonly clock: Clock;
  readonly time: Pick<Clock, 'now'>;
}

/** Sends events to callers at other hubs. A caller gets only events that it may receive, until it cancels or its token expires. */
export class SubscriptionServer {
  readonly #collaborators: SubscriptionCollaborators;
  readonly #subscriptions = new ConcurrencyLimit(MAX_PER_HUB);

  constructor(collaborators: SubscriptionCollaborators) {
    this.#collaborators = collaborators;
  }

  readonly serve = (opened: OpenedRequest<MeshQuery>, request: IncomingRequest): Promise<Uint8Array> =>
    this.#collaborators.signer.answer(opened, async () => {
      const { statement } = opened;
      if (statement.kind !== 'subscribe') throw new AtmoError('VALIDATION_ERROR', 'The request is not a subscription');
      const principal = this.#collaborators.guard.principalOf(opened);
      using slot = this.#subscriptions.enter(statement.entryHub);
      if (!slot) {
        throw new AtmoError('RESOURCE_EXCEEDED', `Callers of ${statement.entryHub} have ${MAX_PER_HUB} subscriptions; end one`);
      }
      return await this.#sendEvents(statement, principal, request);
    });

  async #sendEvents(statement: Subscribe, principal: Principal, request: IncomingRequest): Promise<JsonObject> {
    const { self, events, visibleEvents, validity } = this.#collaborators;
    const parts = new PartSigner(self, statement.id);
    const queue = new EventQueue();
    const tokenEnded = new AtmoError('TOKEN_EXPIRED', `The token of ${principal.id} is not valid any more; its subscription has ended`);
    const isSelected = eventFilter(statement);
    const isVisible = visibleEvents(principal);
    const stops = [
      events.listen((event) => {
        if (!isSelected(event)) return;
        if (!validity.isStillValid(principal)) queue.end(tokenEnded);
        else if (isVisible(event)) queue.add(event);
      }),
      onceAborted(request.signal, () => queue.end()),
      this.#atTokenEnd(principal, () => queue.end(tokenEnded)),
    ];
    try {
      request.accept('attached');
      for await (const event of queue)
        await request.part(parts.sign(subscribedEventCodec.encode({ event: event as unknown as JsonObject })));
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

/** Maximum number of events that wait for a slow subscriber. */
const MAX_WAITING = 256;

/** Queues events for one subscriber. If too many events wait, the queue ends with an error, so that no event is lost unnoticed. */
class EventQueue implements AsyncIterable<HubEvent> {
  readonly #waiting: HubEvent[] = [];
  #wake = () => {};
  #end: { readonly error?: AtmoError } | undefined;

  add(event: HubEvent): void {
    if (this.#end) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.end(new AtmoError('RESOURCE_EXCEEDED', `The subscriber is ${MAX_WAITING} events behind; subscribe again`));
      return;
    }
    this.#waiting.push(event);
    this.#wake();
  }

  /** Ends the queue. Its reader still gets the waiting events, and then the error if there is one. */
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
