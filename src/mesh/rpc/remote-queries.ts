import { randomUUID } from 'node:crypto';
import type { RemoteJobCaller, RemoteJobs } from '../../calls/jobs/job-directory.ts';
import { parseJobView } from '../../calls/jobs/job-store.ts';
import type { JobView } from '../../calls/request-and-answer.ts';
import { type MeshQuery, meshQueryCodec } from '../../codec/messages/call.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import type { DropSink, RequestOptions } from './peer-link.ts';
import {
  atNewestEpoch,
  type CallerTokens,
  type CallRoutes,
  type MemberKeys,
  type RoutedRequests,
  type SigningHub,
} from './routed-requests.ts';
import { errorOfBody, PartReader, type ReadPart, type SignedAnswers } from './signed-answers.ts';

/** Maximum number of hops of a query after the first hop; no home needs more. */
export const QUERY_HOPS = 7;

type Head = 'id' | 'entryHub' | 'executingHub' | 'executorEpoch' | 'timeMs' | 'token';
type WithoutHead<Query> = Query extends MeshQuery ? Omit<Query, Head> : never;
/** The fields of a query, except the head fields that all queries have. */
type QueryBody = WithoutHead<MeshQuery>;

interface RemoteQuery {
  readonly target: HubId;
  readonly body: QueryBody;
  readonly principal: Principal;
  /** Milliseconds for which the caller waits for the answer. */
  readonly remainingMs: number;
}

/** Abort signal of a query, and listeners for events before its answer. */
interface QueryOptions extends Pick<RequestOptions, 'signal' | 'onAccept'> {
  readonly onPart?: (part: ReadPart) => void;
}

/** Services that every request from this hub to another hub needs. */
export interface ClientContext {
  readonly self: SigningHub;
  readonly requests: RoutedRequests;
  readonly answers: SignedAnswers;
  readonly routes: CallRoutes;
  readonly tokens: CallerTokens;
  readonly members: MemberKeys;
  readonly drops: DropSink;
  readonly clock: Clock;
  /** Corrected time of day. The machine's own clock may not be set yet. */
  readonly time: Pick<Clock, 'now'>;
}

/** Sends queries to other hubs in the name of a caller. A query asks for the state of a job or for events, for example. */
export class MeshQueries {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** Returns the signed result. Rejects like `RoutedRequests.send`, with the target's error, or with NODE_UNAVAILABLE (no signature). */
  async send(query: RemoteQuery, options: QueryOptions): Promise<Json> {
    return atNewestEpoch(this.#context.routes, query.target, (epoch) => this.#send(query, epoch, options));
  }

  async #send(unsigned: RemoteQuery, epoch: number, { onPart, ...options }: QueryOptions): Promise<Json> {
    const { self, requests, answers, clock } = this.#context;
    const { target, body, remainingMs } = unsigned;
    const untilMs = clock.monotonic() + remainingMs;
    const query = this.#query(unsigned, epoch);
    const signed = meshQueryCodec.sign(query, self.privateKey);
    const parts = new PartReader(this.#context, { executor: target, requestId: query.id });
    const readPart = (bytes: Uint8Array) => {
      const part = parts.read(bytes);
      if (part) onPart?.(part);
    };
    const bytes = await requests.send(
      { kind: body.kind, target, signed, untilMs, hopsLeft: QUERY_HOPS, visited: [self.hubId] },
      { ...options, onPart: readPart },
    );
    const answer = answers.open(bytes, { executor: target, requestIds: [query.id] });
    if (!answer) throw new AtmoError('NODE_UNAVAILABLE', `The answer was not signed by ${target}`);
    if (answer.status === 'error') throw errorOfBody(answer.error, target);
    return answer.result;
  }

  #query({ target, body, principal }: RemoteQuery, executorEpoch: number): MeshQuery {
    const { self, tokens, time } = this.#context;
    return {
      ...body,
      id: randomUUID(),
      entryHub: self.hubId,
      executingHub: target,
      executorEpoch,
      timeMs: time.now(),
      token: tokens.textFor(principal, target),
    };
  }
}

/** Longest wait for the state of a job, in milliseconds. */
const PATIENCE_MS = 10_000;

interface JobQuery {
  readonly kind: 'job_status' | 'job_cancel';
  readonly hubId: string;
  readonly jobId: string;
}

/** Reads and cancels jobs on other hubs, in the name of the principal that started them. */
export class MeshJobs implements RemoteJobs {
  readonly #queries: MeshQueries;
  readonly #clock: Clock;

  constructor(queries: MeshQueries, clock: Clock) {
    this.#queries = queries;
    this.#clock = clock;
  }

  status(hubId: string, jobId: string, caller: RemoteJobCaller): Promise<JobView> {
    return this.#query({ kind: 'job_status', hubId, jobId }, caller);
  }

  cancel(hubId: string, jobId: string, caller: RemoteJobCaller): Promise<JobView> {
    return this.#query({ kind: 'job_cancel', hubId, jobId }, caller);
  }

  async #query({ kind, hubId, jobId }: JobQuery, { principal, signal: cancelled }: RemoteJobCaller): Promise<JobView> {
    const patience = new AbortController();
    const stop = this.#clock.after(PATIENCE_MS, () => patience.abort());
    const signal = AbortSignal.any([patience.signal, cancelled]);
    const query = { target: hubId as HubId, body: { kind, jobId }, principal, remainingMs: PATIENCE_MS };
    try {
      const view = parseJobView(await this.#queries.send(query, { signal }));
      if (view?.job_id === jobId) return view;
      throw new AtmoError('INTERNAL_ERROR', `The answer of ${hubId} is not a job`);
    } catch (error) {
      if (!patience.signal.aborted) throw error;
      throw new AtmoError('NODE_UNAVAILABLE', `${hubId} did not answer within ${PATIENCE_MS / 1000} s with the state of the job`);
    } finally {
      stop();
    }
  }
}
