import type { JobStore } from '../../calls/jobs/job-store.ts';
import type { ToolCaller } from '../../calls/request-and-answer.ts';
import type { CallStatusQuery, JobQuery, MeshQuery } from '../../codec/messages/call.ts';
import type { Authenticator, Principal, TokenAuthority } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import { CallLedger, CallServer, type LedgerRecord, ledgerEntry } from './call-server.ts';
import type { DropSink, IncomingRequest, PeerLinks } from './peer-link.ts';
import { type OpenedRequest, RequestGuard } from './request-guard.ts';
import { RequestRelay } from './request-relay.ts';
import { type CallRoutes, type MemberKeys, RoutedRequests, type SigningHub, type SiteRoutes } from './routed-requests.ts';
import { AnswerSigner } from './signed-answers.ts';
import { SubscriptionServer } from './subscription-server.ts';

interface RpcEndpointCollaborators {
  readonly self: SigningHub;
  /** Returns the epoch of this hub's current start. The hub's announcements have the same epoch. */
  readonly epoch: () => number;
  readonly links: PeerLinks;
  readonly routes: CallRoutes;
  /** Routes to hubs of other sites; undefined if this hub has no site. */
  readonly sites?: SiteRoutes | undefined;
  readonly members: MemberKeys;
  /** Turns the tokens of requests into principals. */
  readonly authority: Pick<TokenAuthority, 'principalOf'>;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  readonly pipeline: Pick<ToolCaller, 'call' | 'callAsync'>;
  readonly jobs: Pick<JobStore, 'get' | 'cancel'>;
  readonly registry: Pick<ToolRegistry, 'get'>;
  readonly events: Pick<EventBus, 'listen'>;
  /** Returns a filter that accepts only events that the principal may receive. */
  readonly visibleEvents: (principal: Principal) => (event: HubEvent) => boolean;
  readonly clock: Clock;
  /** Corrected time of day. The machine's own clock may not be set yet. */
  readonly time: Pick<Clock, 'now'>;
  readonly drops: DropSink;
}

type QueryHandler = (opened: OpenedRequest<MeshQuery>, request: IncomingRequest) => Promise<Uint8Array>;

/** Serves callers at other hubs: runs calls, answers queries, sends events, and forwards requests for other hubs. */
export class RpcEndpoint {
  readonly #collaborators: RpcEndpointCollaborators;
  readonly #guard: RequestGuard;
  readonly #relay: RequestRelay;
  readonly #ledger: CallLedger;
  readonly #signer: AnswerSigner;
  readonly #calls: CallServer;
  readonly #handlers: Readonly<Record<MeshQuery['kind'], QueryHandler>>;

  constructor(collaborators: RpcEndpointCollaborators, options: { readonly relays: boolean }) {
    const { self, links, clock, time, drops } = collaborators;
    this.#collaborators = collaborators;
    const { epoch, members, authority: tokens } = collaborators;
    const guard = new RequestGuard({ self: self.hubId, epoch, members, tokens, clock, time, links, drops });
    const requests = new RoutedRequests(collaborators);
    const relay = new RequestRelay({ self: self.hubId, requests, drops }, { isEnabled: options.relays });
    const ledger = new CallLedger(clock);
    const signer = new AnswerSigner(collaborators);
    const { events, visibleEvents, validity, pipeline, registry } = collaborators;
    const subscriptions = new SubscriptionServer({ self, guard, signer, events, visibleEvents, validity, clock, time });
    this.#calls = new CallServer({ self, links, guard, relay, ledger, signer, pipeline, registry, clock, drops });
    this.#guard = guard;
    this.#relay = relay;
    this.#ledger = ledger;
    this.#signer = signer;
    this.#handlers = {
      call_status: (opened, request) => this.#callStatus(opened as OpenedRequest<CallStatusQuery>, request),
      job_status: (opened) => this.#job(opened as OpenedRequest<JobQuery>),
      job_cancel: (opened) => this.#job(opened as OpenedRequest<JobQuery>),
      subscribe: subscriptions.serve,
    };
  }

  /** Starts to accept requests; must be called only once. */
  listen(): void {
    this.#calls.listen();
    for (const kind of ['call_status', 'job_status', 'job_cancel', 'subscribe'] as const) {
      this.#collaborators.links.handle(kind, (request) => this.#answer(kind, request));
    }
  }

  async #answer(kind: MeshQuery['kind'], request: IncomingRequest): Promise<Uint8Array> {
    const { self, drops } = this.#collaborators;
    const opened = this.#guard.openQuery(request);
    const { executingHub, entryHub, id } = opened.statement;
    if (opened.statement.kind !== kind)
      throw new AtmoError('VALIDATION_ERROR', `The request is not a ${kind} but a ${opened.statement.kind}`);
    if (executingHub !== self.hubId) return this.#relay.relay(request, kind, opened);
    if (this.#ledger.find(entryHub, id)) {
      drops.count('call.replayed');
      throw new AtmoError('CONFLICT', `The request ${id} of ${entryHub} has arrived before; sign a new one`);
    }
    this.#ledger.spend(ledgerEntry(opened));
    return this.#handlers[kind](opened, request);
  }

  /** Answers with the outcome of a call. If the call has not arrived, refuses it from now on, because another hub may run it instead. */
  async #callStatus(opened: OpenedRequest<CallStatusQuery>, request: IncomingRequest): Promise<Uint8Array> {
    const { epoch } = this.#collaborators;
    const ledger = this.#ledger;
    const signer = this.#signer;
    const { entryHub, requestId } = opened.statement;
    const record = ledger.find(entryHub, requestId);
    if (!record) ledger.spend({ ...ledgerEntry(opened), id: requestId });
    if (!record || record.state === 'spent') return signer.answer(opened, () => ({ state: 'unknown', epoch: epoch() }));
    const isOver = record.running ? await this.#isOver(record.running, opened, request) : true;
    if (!isOver) return signer.answer(opened, () => ({ state: 'running', epoch: epoch() }));
    if (record.kept) return record.kept.toSign ? signer.signLate(record.kept.bytes, record.kept.toSign) : record.kept.bytes;
    const state = ledger.find(entryHub, requestId)?.state === 'spent' ? 'unknown' : 'forgotten';
    return signer.answer(opened, () => ({ state, epoch: epoch() }));
  }

  /** Waits for the end of a call, at most as long as the entry hub waits. Resolves with true if the call has ended, otherwise false. */
  #isOver(
    { answer }: NonNullable<LedgerRecord['running']>,
    { untilMs }: OpenedRequest<CallStatusQuery>,
    { signal }: IncomingRequest,
  ): Promise<boolean> {
    const { clock } = this.#collaborators;
    return new Promise((resolve) => {
      const stop = clock.after(Math.max(0, untilMs - clock.monotonic()), () => resolve(false));
      const end = (isOver: boolean) => {
        stop();
        resolve(isOver);
      };
      signal.addEventListener('abort', () => end(false), { once: true });
      answer.promise.then(
        () => end(true),
        () => end(true),
      );
    });
  }

  #job(opened: OpenedRequest<JobQuery>): Promise<Uint8Array> {
    const { jobs } = this.#collaborators;
    const { kind, jobId } = opened.statement;
    const view = () => {
      const principal = this.#guard.principalOf(opened);
      return kind === 'job_cancel' ? jobs.cancel(jobId, principal) : jobs.get(jobId, principal);
    };
    return this.#signer.answer(
      opened,
      () => view() as unknown as JsonObject,
      (job) => this.#jobSchema(job),
    );
  }

  /** Returns the schema of a job view. Its field `result` has the result schema of the job's tool. */
  #jobSchema(job: Json): JsonSchema | undefined {
    const tool = isJsonObject(job) && typeof job.tool === 'string' ? this.#collaborators.registry.get(job.tool) : undefined;
    return tool && { properties: { result: tool.definition.returns } };
  }
}
