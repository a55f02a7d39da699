import { AtmoError } from '../../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { JobStore } from '../../../tools/calls/jobs/job-store.ts';
import type { ToolRegistry } from '../../../tools/tool-registry.ts';
import type { CallStatusQuery, JobQuery, MeshQuery } from '../../../wire/messages/call-queries.ts';
import type { DropSink } from '../../link/drop-sink.ts';
import type { IncomingRequest, PeerLinks } from '../../link/peer-link.ts';
import type { SigningHub } from '../call-ports.ts';
import type { AnswerSigner } from './answer-signer.ts';
import type { CallLedger, LedgerRecord } from './call-ledger.ts';
import { ledgerEntry } from './call-server.ts';
import type { OpenedRequest, RequestGuard } from './request-guard.ts';
import type { RequestRelay } from './request-relay.ts';

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
export class QueryServer {
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
    if (executingHub !== self.hubId) return relay.handOn(request, kind, opened);
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
