import type { CallPipeline } from '../../calls/pipeline.ts';
import type { CallRequest } from '../../calls/request-and-answer.ts';
import type { ToolInvoke } from '../../codec/messages/call.ts';
import { encodeToolChunk } from '../../codec/messages/query.ts';
import { foreignAgentId, type Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CallChunk } from '../../tools/definition/notifications.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { DropSink, IncomingRequest, PeerLinks } from './peer-link.ts';
import { type OpenedRequest, type RequestGuard, type RequestHead, TIME_WINDOW_MS } from './request-guard.ts';
import type { RequestRelay } from './request-relay.ts';
import type { SigningHub } from './routed-requests.ts';
import { type AnswerSigner, type Outcome, PartSigner } from './signed-answers.ts';

/** Chunks of one call that wait for its caller. */
const MAX_WAITING_CHUNKS = 64;

interface CallServerCollaborators {
  readonly self: SigningHub;
  readonly links: PeerLinks;
  readonly guard: RequestGuard;
  readonly relay: RequestRelay;
  readonly ledger: CallLedger;
  readonly signer: AnswerSigner;
  readonly pipeline: Pick<CallPipeline, 'call' | 'callAsync'>;
  readonly registry: Pick<ToolRegistry, 'get'>;
  readonly clock: Clock;
  readonly drops: DropSink;
}

type OpenedCall = OpenedRequest<ToolInvoke>;

/** Runs calls of other hubs: each once, after all that a call of its own callers has to pass, and signs how it ended. */
export class CallServer {
  readonly #collaborators: CallServerCollaborators;

  constructor(collaborators: CallServerCollaborators) {
    this.#collaborators = collaborators;
  }

  /** From now on calls are taken. */
  listen(): void {
    this.#collaborators.links.handle('invoke', (request) => this.#invoke(request));
  }

  async #invoke(request: IncomingRequest): Promise<Uint8Array> {
    const { self, guard, relay, ledger } = this.#collaborators;
    const opened = guard.openInvoke(request);
    const { entryHub, id, executingHub } = opened.statement;
    if (executingHub !== self.hubId) return relay.relay(request, 'invoke', opened);
    const known = ledger.find(entryHub, id);
    if (known) return this.#join(known, opened, request);
    const record = ledger.open(ledgerEntry(opened));
    try {
      return await this.#run(opened, record, request);
    } catch (error) {
      record.settle(undefined);
      throw error;
    }
  }

  /** The same request over another way waits for the one that runs; whatever else has its id is a replay. */
  async #join(record: LedgerRecord, { fingerprint, statement }: OpenedCall, request: IncomingRequest): Promise<Uint8Array> {
    if (record.state === 'running' && record.fingerprint === fingerprint) {
      void record.dispatched.then(() => request.accept('detached'));
      return record.answer;
    }
    this.#collaborators.drops.count('call.replayed');
    if (record.state === 'spent') throw new AtmoError('NODE_UNAVAILABLE', `The request ${statement.id} was given up before it came`);
    throw new AtmoError('CONFLICT', `The request ${statement.id} of ${statement.entryHub} was here before; ask for its status instead`);
  }

  async #run(opened: OpenedCall, record: LedgerRecord, request: IncomingRequest): Promise<Uint8Array> {
    const { signer, clock } = this.#collaborators;
    const startMs = clock.monotonic();
    const dispatch = () => {
      record.dispatch();
      request.accept('detached', 'soon');
    };
    const outcome = await this.#outcome(opened, { request, dispatch });
    // Nothing of it ran, and nobody waited any more: to its entry hub it is as if it had never come.
    if (!outcome.isDispatched && request.signal.aborted) throw new AtmoError('CANCELLED', 'The call was given up before it ran');
    // Nobody may take a failure of what ran for a refusal.
    if (outcome.isDispatched && outcome.kind === 'error') request.accept('detached');
    const answer = signer.sign(outcome, { opened, startMs });
    record.settle(answer);
    return answer;
  }

  async #outcome(opened: OpenedCall, { request, dispatch }: Delivery): Promise<Outcome & { readonly isDispatched: boolean }> {
    let isDispatched = false;
    const onDispatch = () => {
      isDispatched = true;
      dispatch();
    };
    try {
      const principal = this.#principalOf(opened);
      const call = this.#callRequest(opened, principal);
      const onChunk = this.#teller(opened, request);
      const outcome = await this.#callPipeline(opened, { ...call, signal: request.signal, onDispatch, onChunk });
      // A job is taken on as soon as it exists.
      if (opened.statement.mode === 'job' && outcome.kind === 'result') onDispatch();
      return { ...outcome, isDispatched };
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      return { kind: 'error', error: error.toBody(), isDispatched };
    }
  }

  /** Passes on what a running call tells, signed. A caller that is too slow for it misses some; the answer has all of it. */
  #teller({ statement }: OpenedCall, request: IncomingRequest): (chunk: CallChunk) => void {
    const parts = new PartSigner(this.#collaborators.self, statement.id);
    let waiting = 0;
    return (chunk) => {
      if (waiting >= MAX_WAITING_CHUNKS) return;
      waiting++;
      // Whoever asked may be gone; how the call ended is told by its answer.
      const told = request.part(parts.sign(encodeToolChunk({ ...chunk }))).catch(() => undefined);
      void told.then(() => waiting--);
    };
  }

  #principalOf(opened: OpenedCall): Principal {
    const { guard, drops, self } = this.#collaborators;
    const principal = guard.principalOf(opened);
    const { context, entryHub } = opened.statement;
    // Each hub calls its own agents by their bare names.
    const agentId = foreignAgentId(context.agentId, entryHub);
    if (agentId === foreignAgentId(principal.id, self.hubId)) return principal;
    drops.count('call.other_agent');
    throw new AtmoError('PERMISSION_DENIED', `The call says that it is of ${agentId}, its token that it is of ${principal.id}`);
  }

  #callRequest({ statement, untilMs }: OpenedCall, principal: Principal): CallRequest {
    const { self, clock } = this.#collaborators;
    const { id, tool, version, params, context, idempotencyKey } = statement;
    const timeoutMs = Math.min(statement.timeoutMs, untilMs - clock.monotonic());
    if (timeoutMs <= 0) throw new AtmoError('TIMEOUT', 'The time for the call was over when it came; nothing of it takes effect');
    return {
      principal,
      tool,
      params,
      requestId: id,
      traceId: context.traceId,
      timeoutMs,
      ...(version !== undefined && { version }),
      ...(context.sessionId !== undefined && { sessionId: context.sessionId }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      routing: { only_nodes: [self.hubId] },
    };
  }

  async #callPipeline({ statement }: OpenedCall, call: CallRequest): Promise<Outcome> {
    const { pipeline, registry } = this.#collaborators;
    if (statement.mode === 'job') {
      const started = await pipeline.callAsync(call);
      if (started.kind === 'job') return { kind: 'result', result: started.job as unknown as JsonObject };
      return outcomeOf(started.answer);
    }
    const outcome = outcomeOf(await pipeline.call(call));
    return outcome.kind === 'error' ? outcome : { ...outcome, returns: registry.get(statement.tool)?.definition.returns };
  }
}

interface Delivery {
  readonly request: IncomingRequest;
  readonly dispatch: () => void;
}

function outcomeOf(answer: Awaited<ReturnType<CallPipeline['call']>>): Outcome {
  return answer.status === 'success' ? { kind: 'result', result: answer.result } : { kind: 'error', error: answer.error };
}

/** What the ledger remembers of a request: longer than it could be taken. */
export function ledgerEntry({ statement: { entryHub, id }, fingerprint, untilMs }: OpenedRequest<RequestHead>) {
  return { entryHub, id, fingerprint, untilMs: untilMs + TIME_WINDOW_MS };
}

/** How long a request is remembered after it could still be taken, so that its entry hub can ask what became of it. */
const KEPT_MS = 60_000;
const SWEEP_MS = 10_000;
const MAX_REQUESTS_PER_HUB = 16_384;
const MAX_REQUESTS = 65_536;
/** Bytes of answers that are kept. */
const MAX_ANSWER_BYTES = 16_777_216;

/** A request as the ledger knows it; ids are made up by the entry hub. */
export interface LedgerEntry {
  readonly entryHub: HubId;
  readonly id: string;
  /** Hash of the signed bytes. */
  readonly fingerprint: string;
  /** Until when it could be taken or runs, by the monotonic clock. */
  readonly untilMs: number;
}

/** What became of a request. */
export interface LedgerRecord extends LedgerEntry {
  /** `spent`: it never ran and never will. */
  state: 'running' | 'finished' | 'spent';
  /** Resolves when it was let through; never for one that was refused. */
  readonly dispatched: Promise<void>;
  dispatch(): void;
  /** The answer as it travels; rejects when it ended without one. */
  readonly answer: Promise<Uint8Array>;
  /** Ends it; without bytes, as one that never ran. */
  settle(answer: Uint8Array | undefined): void;
  /** Kept for the entry hub; absent when it was too long ago or there are too many. */
  kept?: Uint8Array | undefined;
}

/** Every request that this hub was given, once: so that none runs twice, and what became of it can be told. */
export class CallLedger {
  readonly #clock: Clock;
  readonly #records = new Map<string, LedgerRecord>();
  readonly #counts = new Map<HubId, number>();
  /** With kept answers, oldest first. */
  readonly #answered = new Set<LedgerRecord>();
  #keptBytes = 0;
  #sweptMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#records.size;
  }

  find(entryHub: HubId, id: string): LedgerRecord | undefined {
    return this.#records.get(`${entryHub} ${id}`);
  }

  /** Remembers a request that is new. RESOURCE_EXCEEDED when more of them are remembered than there may be. */
  open(entry: LedgerEntry): LedgerRecord {
    this.#sweep();
    const count = this.#counts.get(entry.entryHub) ?? 0;
    if (count >= MAX_REQUESTS_PER_HUB || this.#records.size >= MAX_REQUESTS) {
      throw new AtmoError('RESOURCE_EXCEEDED', `${entry.entryHub} has made ${count} requests in a minute; wait a while`);
    }
    const record = this.#record(entry);
    this.#counts.set(entry.entryHub, count + 1);
    this.#records.set(`${entry.entryHub} ${entry.id}`, record);
    return record;
  }

  /** Remembers that a request of this id must not run when it comes. As `open`. */
  spend(entry: LedgerEntry): void {
    this.open(entry).settle(undefined);
  }

  #record(entry: LedgerEntry): LedgerRecord {
    const dispatch = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Uint8Array>();
    answer.promise.catch(() => {});
    const record: LedgerRecord = {
      ...entry,
      state: 'running',
      dispatched: dispatch.promise,
      dispatch: () => dispatch.resolve(),
      answer: answer.promise,
      settle: (bytes) => {
        record.state = bytes ? 'finished' : 'spent';
        if (bytes) this.#keep(record, bytes);
        if (bytes) answer.resolve(bytes);
        else answer.reject(new AtmoError('NODE_UNAVAILABLE', 'The request ended before it ran'));
      },
    };
    return record;
  }

  #keep(record: LedgerRecord, bytes: Uint8Array): void {
    record.kept = bytes;
    this.#keptBytes += bytes.length;
    this.#answered.add(record);
    for (const oldest of this.#answered) {
      if (this.#keptBytes <= MAX_ANSWER_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(record: LedgerRecord): void {
    this.#keptBytes -= record.kept?.length ?? 0;
    record.kept = undefined;
    this.#answered.delete(record);
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    for (const [key, record] of this.#records) {
      if (record.state === 'running' || nowMs < record.untilMs + KEPT_MS) continue;
      this.#records.delete(key);
      this.#drop(record);
      this.#counts.set(record.entryHub, (this.#counts.get(record.entryHub) ?? 1) - 1);
    }
    for (const [hub, count] of this.#counts) if (count <= 0) this.#counts.delete(hub);
  }
}
