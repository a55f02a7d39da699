import { randomUUID } from 'node:crypto';
import { AtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { pause } from '../../../core/time/pause.ts';
import type { ForwardedCall } from '../../../tools/calls/call-collaborators.ts';
import { signMeshQuery } from '../../../wire/messages/call-queries.ts';
import type { ToolResponse } from '../../../wire/messages/call-response.ts';
import type { SigningHub } from '../call-ports.ts';
import type { MeshRequests } from '../mesh-requests.ts';
import { errorOfBody, type SignedAnswers } from '../signed-answers.ts';
import { staleEpoch } from '../stale-epoch.ts';
import type { CallProgress } from './call-progress.ts';
import { QUERY_HOPS } from './mesh-queries.ts';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
/** A call that may be repeated is given up early: another hub may be able to run it. */
const HARMLESS_PATIENCE_MS = 2_000;

interface LostCallCollaborators {
  readonly self: SigningHub;
  readonly requests: MeshRequests;
  readonly answers: SignedAnswers;
  readonly clock: Clock;
  readonly time: Pick<Clock, 'now'>;
}

/** A call of which nobody knows how it ended. */
export interface LostCallFacts {
  readonly target: HubId;
  readonly call: ForwardedCall;
  readonly progress: CallProgress;
  /** The request by which it was given to the other hub. */
  readonly sent: { readonly id: string; readonly epoch: number; readonly token: string };
}

/** A call of which the connection broke: its executing hub is asked what became of it until it says so or time is up. */
export class LostCall {
  readonly #collaborators: LostCallCollaborators;
  readonly #facts: LostCallFacts;
  readonly #giveUpMs: number;
  /** Of the process that is there now. */
  #epoch: number;

  constructor(collaborators: LostCallCollaborators, facts: LostCallFacts) {
    this.#collaborators = collaborators;
    this.#facts = facts;
    this.#epoch = facts.sent.epoch;
    const { call, progress } = facts;
    const patienceMs = progress.isActing ? Number.POSITIVE_INFINITY : HARMLESS_PATIENCE_MS;
    this.#giveUpMs = Math.min(call.deadlineMs, collaborators.clock.now() + patienceMs);
  }

  /**
   * How it ended. NODE_UNAVAILABLE when it never ran, or may run again without harm; OUTCOME_UNKNOWN, for what acts, when
   * nobody can tell any more.
   */
  async answer(): Promise<ToolResponse> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)) {
      if (this.#isTimeUp) throw this.#inDoubt();
      const answer = await this.#ask();
      if (answer && answer.requestId === this.#facts.sent.id) return answer;
      const error = answer && this.#judge(answer);
      if (error) throw error;
      await this.#pause(pauseMs);
    }
  }

  get #isTimeUp(): boolean {
    return this.#facts.call.signal.aborted || this.#collaborators.clock.now() >= this.#giveUpMs;
  }

  /** Undefined when no answer came, by whatever way. */
  async #ask(): Promise<ToolResponse | undefined> {
    const { self, requests, answers, clock, time } = this.#collaborators;
    const { target, call, sent } = this.#facts;
    const { id, token } = sent;
    const queryId = randomUUID();
    const head = { id: queryId, entryHub: self.hubId, executingHub: target, executorEpoch: this.#epoch, timeMs: time.now(), token };
    const signed = signMeshQuery({ kind: 'call_status', ...head, requestId: id }, self.privateKey);
    const remainingMs = this.#giveUpMs - clock.now();
    try {
      const bytes = await requests.send(
        { kind: 'call_status', target, signed, remainingMs, hopsLeft: QUERY_HOPS, visited: [self.hubId] },
        { signal: call.signal },
      );
      return answers.open(bytes, { executor: target, requestIds: [queryId, id] });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#epoch = staleEpoch(error) ?? this.#epoch;
      return undefined;
    }
  }

  /** Undefined while it runs. */
  #judge(answer: ToolResponse): AtmoError | undefined {
    if (answer.status === 'error') return this.#facts.progress.isActing ? undefined : errorOfBody(answer.error, this.#facts.target);
    const told: JsonObject = isJsonObject(answer.result) ? answer.result : {};
    if (told.state === 'running') return undefined;
    // Only the process that was asked then can know that it never ran.
    if (told.state === 'unknown' && told.epoch === this.#facts.sent.epoch) return neverRan(this.#facts.target);
    return this.#inDoubt();
  }

  #inDoubt(): AtmoError {
    const { call, progress, target } = this.#facts;
    if (progress.isActing || call.signal.aborted) return progress.unknownOutcome();
    return new AtmoError('NODE_UNAVAILABLE', `${target} was lost while it ran the call, which may be made again without harm`);
  }

  #pause(ms: number): Promise<void> {
    const { clock } = this.#collaborators;
    const leftMs = Math.max(1, this.#giveUpMs - clock.now());
    return pause(clock, Math.min(ms, leftMs), this.#facts.call.signal);
  }
}

function neverRan(target: HubId): AtmoError {
  return new AtmoError('NODE_UNAVAILABLE', `The connection to ${target} was lost before it took the call on`);
}
