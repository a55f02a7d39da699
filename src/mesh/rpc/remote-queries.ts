import { randomUUID } from 'node:crypto';
import type { RemoteJobCaller, RemoteJobs } from '../../calls/jobs/job-directory.ts';
import { type JobView, parseJobView } from '../../calls/jobs/job-store.ts';
import { type MeshQuery, signMeshQuery } from '../../codec/messages/query.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import { visibleJson, visibleLine, visibleText } from '../../core/untrusted-text.ts';
import type { DropSink, RequestOptions } from './peer-link.ts';
import {
  atNewestEpoch,
  type CallRoutes,
  type MemberKeys,
  type MeshTokens,
  type RoutedRequests,
  type SigningHub,
} from './routed-requests.ts';
import { errorOfBody, PartReader, type ReadPart, type SignedAnswers } from './signed-answers.ts';

/** Hops beyond the first that a question may take: no house is wider. */
export const QUERY_HOPS = 7;

type Head = 'id' | 'entryHub' | 'executingHub' | 'executorEpoch' | 'timeMs' | 'token';
type WithoutHead<Query> = Query extends MeshQuery ? Omit<Query, Head> : never;
/** A question without what is the same in all of them. */
export type QueryBody = WithoutHead<MeshQuery>;

/** A question, who asks it, and for how long an answer is of use. */
export interface Question {
  readonly target: HubId;
  readonly body: QueryBody;
  readonly principal: Principal;
  readonly remainingMs: number;
}

/** How long to wait, and what is heard before the answer. */
interface QueryOptions extends Pick<RequestOptions, 'signal' | 'onAccept'> {
  readonly onPart?: (part: ReadPart) => void;
}

interface QueryCollaborators {
  readonly self: SigningHub;
  readonly requests: RoutedRequests;
  readonly answers: SignedAnswers;
  readonly routes: CallRoutes;
  readonly tokens: MeshTokens;
  readonly members: MemberKeys;
  readonly drops: DropSink;
  readonly time: Pick<Clock, 'now'>;
}

/** Asks other hubs in the name of a caller: about its jobs, for events. */
export class MeshQueries {
  readonly #collaborators: QueryCollaborators;

  constructor(collaborators: QueryCollaborators) {
    this.#collaborators = collaborators;
  }

  /** The signed result. Throws the other hub's own error, or as `MeshRequests.send`. */
  async ask(question: Question, options: QueryOptions): Promise<Json> {
    return atNewestEpoch(this.#collaborators.routes, question.target, (epoch) => this.#ask(question, epoch, options));
  }

  async #ask(question: Question, epoch: number, { onPart, ...options }: QueryOptions): Promise<Json> {
    const { self, requests, answers } = this.#collaborators;
    const { target, body, remainingMs } = question;
    const query = this.#query(question, epoch);
    const signed = signMeshQuery(query, self.privateKey);
    const parts = new PartReader(this.#collaborators, { executor: target, requestId: query.id });
    const hear = (bytes: Uint8Array) => {
      const part = parts.read(bytes);
      if (part) onPart?.(part);
    };
    const bytes = await requests.send(
      { kind: body.kind, target, signed, remainingMs, hopsLeft: QUERY_HOPS, visited: [self.hubId] },
      { ...options, onPart: hear },
    );
    const answer = answers.open(bytes, { executor: target, requestIds: [query.id] });
    if (!answer) throw new AtmoError('NODE_UNAVAILABLE', `The answer that came was not signed by ${target}`);
    if (answer.status === 'error') throw errorOfBody(answer.error, target);
    return answer.result;
  }

  #query({ target, body, principal }: Question, executorEpoch: number): MeshQuery {
    const { self, tokens, time } = this.#collaborators;
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

/** How long a hub may take to say how a job stands. */
const PATIENCE_MS = 10_000;
const MAX_TOOL_LENGTH = 256;

/** Jobs that run on other hubs, asked for over the mesh in the name of whoever started them. */
export class MeshJobs implements RemoteJobs {
  readonly #queries: MeshQueries;
  readonly #clock: Clock;

  constructor({ queries, clock }: { readonly queries: MeshQueries; readonly clock: Clock }) {
    this.#queries = queries;
    this.#clock = clock;
  }

  status(hubId: string, jobId: string, asker: RemoteJobCaller): Promise<JobView> {
    return this.#ask('job_status', { hubId, jobId, asker });
  }

  cancel(hubId: string, jobId: string, asker: RemoteJobCaller): Promise<JobView> {
    return this.#ask('job_cancel', { hubId, jobId, asker });
  }

  async #ask(kind: 'job_status' | 'job_cancel', { hubId, jobId, asker }: JobQuestion): Promise<JobView> {
    const patience = new AbortController();
    const stop = this.#clock.after(PATIENCE_MS, () => patience.abort());
    const signal = AbortSignal.any([patience.signal, asker.signal]);
    const question = { target: hubId as HubId, body: { kind, jobId }, principal: asker.principal, remainingMs: PATIENCE_MS };
    try {
      const view = parseJobView(await this.#queries.ask(question, { signal }));
      if (view) return readable(view);
      throw new AtmoError('INTERNAL_ERROR', `${hubId} answered something that is not a job`);
    } catch (error) {
      if (!patience.signal.aborted) throw error;
      throw new AtmoError('NODE_UNAVAILABLE', `${hubId} did not say within ${PATIENCE_MS / 1000} s how the job stands`);
    } finally {
      stop();
    }
  }
}

/** What the other hub says about the job is text of another hub; what the job found is data, and stays as it is. */
function readable({ tool, progress, error, ...view }: JobView): JobView {
  return {
    ...view,
    tool: visibleLine(tool, MAX_TOOL_LENGTH),
    ...(progress && { progress: { ...progress, ...(progress.note !== undefined && { note: visibleText(String(progress.note)) }) } }),
    ...(error && { error: visibleJson({ ...error }) as unknown as ErrorBody }),
  };
}

interface JobQuestion {
  readonly hubId: string;
  readonly jobId: string;
  readonly asker: RemoteJobCaller;
}
