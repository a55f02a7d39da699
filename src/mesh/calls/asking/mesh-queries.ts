import { randomUUID } from 'node:crypto';
import type { Principal } from '../../../core/access/principal.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Json } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { type MeshQuery, signMeshQuery } from '../../../wire/messages/call-queries.ts';
import type { DropSink } from '../../link/drop-sink.ts';
import type { RequestOptions } from '../../link/peer-link.ts';
import type { CallRoutes, MemberKeys, MeshTokens, SigningHub } from '../call-ports.ts';
import type { MeshRequests } from '../mesh-requests.ts';
import { errorOfBody, type SignedAnswers } from '../signed-answers.ts';
import { PartReader, type ReadPart } from '../signed-parts.ts';
import { atNewestEpoch } from '../stale-epoch.ts';

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
  readonly requests: MeshRequests;
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
