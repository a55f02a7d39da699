import type { JobStore } from '../../calls/jobs/job-store.ts';
import type { CallPipeline } from '../../calls/pipeline.ts';
import type { CallStatusQuery, JobQuery, MeshQuery } from '../../codec/messages/query.ts';
import type { Authenticator, Principal } from '../../core/auth/principal.ts';
import type { TokenAuthority } from '../../core/auth/tokens.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import { CallLedger, CallServer, type LedgerRecord, ledgerEntry } from './call-server.ts';
import type { DropSink, IncomingRequest, PeerLinks } from './peer-link.ts';
import { type OpenedRequest, RequestGuard } from './request-guard.ts';
import { RequestRelay } from './request-relay.ts';
import { type CallRoutes, type MemberKeys, RoutedRequests, type SigningHub } from './routed-requests.ts';
import { AnswerSigner } from './signed-answers.ts';
import { SubscriptionServer } from './subscription-server.ts';

interface RpcEndpointCollaborators {
  readonly self: SigningHub;
  /** Epoch of this start of the hub, as its announcements say. */
  readonly epoch: () => number;
  readonly links: PeerLinks;
  readonly routes: CallRoutes;
  readonly members: MemberKeys;
  /** Turns the tokens of requests into principals. */
  readonly authority: Pick<TokenAuthority, 'principalOf'>;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  readonly pipeline: Pick<CallPipeline, 'call' | 'callAsync'>;
  readonly jobs: Pick<JobStore, 'get' | 'cancel'>;
  readonly registry: Pick<ToolRegistry, 'get'>;
  readonly events: Pick<EventBus, 'listen'>;
  /** What a principal may hear of this hub's events. */
  readonly mayHear: (principal: Principal) => (event: HubEvent) => boolean;
  readonly clock: Clock;
  /** The best that the hub knows of the time. */
  readonly time: Pick<Clock, 'now'>;
  readonly drops: DropSink;
}

/** What this hub does for callers of other hubs, and hands on for those that are not its neighbours. */
export class RpcEndpoint {
  readonly #calls: CallServer;
  readonly #queries: QueryServer;

  constructor(collaborators: RpcEndpointCollaborators, options: { readonly relays: boolean }) {
    const { self, authority, clock } = collaborators;
    const requests = new RoutedRequests(collaborators);
    const guard = new RequestGuard({
      epoch: collaborators.epoch,
      members: collaborators.members,
      clock: collaborators.clock,
      time: collaborators.time,
      links: collaborators.links,
      drops: collaborators.drops,
      self: self.hubId,
      tokens: authority,
    });
    const relay = new RequestRelay(
      { clock: collaborators.clock, drops: collaborators.drops, self: self.hubId, requests },
      { isEnabled: options.relays },
    );
    const ledger = new CallLedger(clock);
    const signer = new AnswerSigner(collaborators);
    const subscriptions = new SubscriptionServer({
      self: collaborators.self,
      events: collaborators.events,
      mayHear: collaborators.mayHear,
      validity: collaborators.validity,
      clock: collaborators.clock,
      time: collaborators.time,
      guard,
      signer,
    });
    this.#calls = new CallServer({
      self: collaborators.self,
      links: collaborators.links,
      pipeline: collaborators.pipeline,
      registry: collaborators.registry,
      clock: collaborators.clock,
      drops: collaborators.drops,
      guard,
      relay,
      ledger,
      signer,
    });
    this.#queries = new QueryServer({
      self: collaborators.self,
      links: collaborators.links,
      jobs: collaborators.jobs,
      registry: collaborators.registry,
      clock: collaborators.clock,
      epoch: collaborators.epoch,
      drops: collaborators.drops,
      guard,
      relay,
      ledger,
      signer,
      subscriptions,
    });
  }

  /** From now on requests are taken; once. */
  listen(): void {
    this.#calls.listen();
    this.#queries.listen();
  }
}

/** Answers a question of one kind. */
export type QueryHandler = (opened: OpenedRequest<MeshQuery>, request: IncomingRequest) => Promise<Uint8Array>;

interface QueryServerCollaborators {
  readonly self: SigningHub;
  readonly links: PeerLinks;
  readonly guard: RequestGuard;
  readonly relay: RequestRelay;
  readonly ledger: CallLedger;
  readonly signer: AnswerSigner;
  readonly jobs: Pick<JobStore, 'get' | 'cancel'>;
  readonly registry: Pick<ToolRegistry, 'get'>;
  readonly subscriptions: { readonly serve: QueryHandler };
  readonly clock: Clock;
  /** Epoch of this start of the hub. */
  readonly epoch: () => number;
  readonly drops: DropSink;
}

/** Answers what other hubs ask in the name of their callers: what became of a call, how a job stands, what happens here. */
class QueryServer {
  readonly #collaborators: QueryServerCollaborators;
  readonly #handlers: Readonly<Record<MeshQuery['kind'], QueryHandler>>;

  constructor(collaborators: QueryServerCollaborators) {
    this.#collaborators = collaborators;
    this.#handlers = {
      call_status: (opened, request) => this.#callStatus(opened as OpenedRequest<CallStatusQuery>, request),
      job_status: (opened) => this.#job(opened as OpenedRequest<JobQuery>),
      job_cancel: (opened) => this.#job(opened as OpenedRequest<JobQuery>),
      subscribe: collaborators.subscriptions.serve,
    };
  }

  /** From now on questions are answered. */
  listen(): void {
    for (const kind of ['call_status', 'job_status', 'job_cancel', 'subscribe'] as const) {
      this.#collaborators.links.handle(kind, (request) => this.#answer(kind, request));
    }
  }

  async #answer(kind: MeshQuery['kind'], request: IncomingRequest): Promise<Uint8Array> {
    const { self, guard, relay, ledger, drops } = this.#collaborators;
    const opened = guard.openQuery(request);
    const { executingHub, entryHub, id } = opened.statement;
    if (opened.statement.kind !== kind)
      throw new AtmoError('VALIDATION_ERROR', `The request is not a ${kind} but a ${opened.statement.kind}`);
    if (executingHub !== self.hubId) return relay.relay(request, kind, opened);
    if (ledger.find(entryHub, id)) {
      drops.count('call.replayed');
      throw new AtmoError('CONFLICT', `The request ${id} of ${entryHub} was here before; sign a new one`);
    }
    ledger.spend(ledgerEntry(opened));
    return this.#handlers[kind](opened, request);
  }

  /** A call that was never here is never taken on from now on: its entry hub may give it to another hub. */
  async #callStatus(opened: OpenedRequest<CallStatusQuery>, request: IncomingRequest): Promise<Uint8Array> {
    const { ledger, signer, epoch } = this.#collaborators;
    const { entryHub, requestId } = opened.statement;
    const record = ledger.find(entryHub, requestId);
    if (!record) ledger.spend({ ...ledgerEntry(opened), id: requestId });
    if (!record || record.state === 'spent') return signer.answer(opened, () => ({ state: 'unknown', epoch: epoch() }));
    const isOver = record.state === 'running' ? await this.#isOver(record, opened, request) : true;
    if (!isOver) return signer.answer(opened, () => ({ state: 'running', epoch: epoch() }));
    if (record.kept) return record.kept;
    const state = ledger.find(entryHub, requestId)?.state === 'spent' ? 'unknown' : 'forgotten';
    return signer.answer(opened, () => ({ state, epoch: epoch() }));
  }

  /** Waits for the end of a call as long as its entry hub does. */
  #isOver(record: LedgerRecord, { untilMs }: OpenedRequest<CallStatusQuery>, { signal }: IncomingRequest): Promise<boolean> {
    const { clock } = this.#collaborators;
    return new Promise((resolve) => {
      const stop = clock.after(Math.max(0, untilMs - clock.monotonic()), () => resolve(false));
      const end = (isOver: boolean) => {
        stop();
        resolve(isOver);
      };
      signal.addEventListener('abort', () => end(false), { once: true });
      record.answer.then(
        () => end(true),
        () => end(true),
      );
    });
  }

  #job(opened: OpenedRequest<JobQuery>): Promise<Uint8Array> {
    const { guard, jobs, signer } = this.#collaborators;
    const { kind, jobId } = opened.statement;
    const view = () => {
      const principal = guard.principalOf(opened);
      return kind === 'job_cancel' ? jobs.cancel(jobId, principal) : jobs.get(jobId, principal);
    };
    return signer.answer(
      opened,
      () => view() as unknown as JsonObject,
      (job) => this.#jobSchema(job),
    );
  }

  /** What a job answers has the schema of its tool. */
  #jobSchema(job: Json): JsonSchema | undefined {
    const tool = isJsonObject(job) && typeof job.tool === 'string' ? this.#collaborators.registry.get(job.tool) : undefined;
    return tool && { properties: { result: tool.definition.returns } };
  }
}
