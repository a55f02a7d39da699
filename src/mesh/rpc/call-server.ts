import type { CallAnswer, CallRequest, ToolCaller } from '../../calls/request-and-answer.ts';
import { type ToolInvoke, toolChunkCodec } from '../../codec/messages/call.ts';
import { foreignAgentId, type Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CallChunk } from '../../tools/definition/notifications.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { DropSink, IncomingRequest, PeerLinks } from './peer-link.ts';
import { type OpenedRequest, type RequestGuard, type RequestHead, type SignedRequest, TIME_WINDOW_MS } from './request-guard.ts';
import type { RequestRelay } from './request-relay.ts';
import type { SigningHub } from './routed-requests.ts';
import { type AnswerHead, type AnswerSigner, type Outcome, PartSigner } from './signed-answers.ts';

const MAX_WAITING_CHUNKS = 64;

interface CallServerCollaborators {
  readonly self: SigningHub;
  readonly links: PeerLinks;
  readonly guard: RequestGuard;
  readonly relay: RequestRelay;
  readonly ledger: CallLedger;
  readonly signer: AnswerSigner;
  readonly pipeline: Pick<ToolCaller, 'call' | 'callAsync'>;
  readonly registry: Pick<ToolRegistry, 'get'>;
  readonly clock: Clock;
  readonly drops: DropSink;
}

type OpenedCall = OpenedRequest<ToolInvoke>;

/** Runs each call from another hub only once, in the same pipeline as local calls. Signs the outcome. */
export class CallServer {
  readonly #collaborators: CallServerCollaborators;

  constructor(collaborators: CallServerCollaborators) {
    this.#collaborators = collaborators;
  }

  listen(): void {
    const { links } = this.#collaborators;
    links.handle('invoke', (request) => this.#invoke(request));
    links.handle('session_call', (request) => this.#sessionCall(request));
  }

  /** Runs a call of a direct neighbour that the neighbour did not sign. */
  async #sessionCall(request: IncomingRequest): Promise<Uint8Array> {
    const { guard, ledger, drops } = this.#collaborators;
    const opened = guard.openSessionCall(request);
    const { entryHub, id } = opened.statement;
    if (ledger.find(entryHub, id)) {
      drops.count('call.replayed');
      throw new AtmoError('CONFLICT', `The request ${id} of ${entryHub} has arrived before; ask for its status instead`);
    }
    return this.#runOnce(opened, request);
  }

  async #invoke(request: IncomingRequest): Promise<Uint8Array> {
    const { self, guard, relay, ledger } = this.#collaborators;
    const opened = guard.openInvoke(request);
    const { entryHub, id, executingHub } = opened.statement;
    if (executingHub !== self.hubId) return relay.relay(request, 'invoke', opened);
    const known = ledger.find(entryHub, id);
    if (known) return this.#join(known, opened, request);
    return this.#runOnce(opened, request);
  }

  async #runOnce(opened: OpenedCall, request: IncomingRequest): Promise<Uint8Array> {
    const record = this.#collaborators.ledger.open(ledgerEntry(opened));
    try {
      return await this.#run(opened, record, request);
    } catch (error) {
      record.settle(undefined);
      throw error;
    }
  }

  /** If the request is a copy that came over another route, returns the answer of the running call. Refuses any other reuse of the id. */
  async #join(record: LedgerRecord, { fingerprint, statement }: SignedRequest<ToolInvoke>, request: IncomingRequest): Promise<Uint8Array> {
    if (record.running && record.fingerprint === fingerprint) {
      void record.running.dispatched.promise.then(() => request.accept('detached'));
      return record.running.answer.promise;
    }
    this.#collaborators.drops.count('call.replayed');
    if (record.state === 'spent') throw new AtmoError('NODE_UNAVAILABLE', `The request ${statement.id} was given up before it arrived`);
    throw new AtmoError('CONFLICT', `The request ${statement.id} of ${statement.entryHub} has arrived before; ask for its status instead`);
  }

  async #run(opened: OpenedCall, record: LedgerRecord, request: IncomingRequest): Promise<Uint8Array> {
    const { signer, clock, registry } = this.#collaborators;
    const { tool, mode } = opened.statement;
    const startMs = clock.monotonic();
    const outcome = await this.#outcome(opened, record, request);
    // Nothing ran and no caller waits. `#invoke` catches the error and then records in the ledger that the request never ran.
    if (!outcome.isDispatched && request.signal.aborted) throw new AtmoError('CANCELLED', 'The call was given up before it ran');
    // The accept frame shows the caller that the call has run. Without it, the error would look like a refusal.
    if (outcome.isDispatched && outcome.kind === 'error') request.accept('detached');
    const head = signer.headOf(opened, startMs, mode === 'sync' ? registry.get(tool)?.definition.returns : undefined);
    const isSigned = opened.fingerprint !== undefined;
    const bytes = isSigned ? signer.sign(outcome, head) : signer.unsigned(outcome, head);
    record.settle({ bytes, ...(!isSigned && { toSign: head }) });
    return bytes;
  }

  async #outcome(
    opened: OpenedCall,
    record: LedgerRecord,
    request: IncomingRequest,
  ): Promise<Outcome & { readonly isDispatched: boolean }> {
    let isDispatched = false;
    const onDispatch = () => {
      isDispatched = true;
      record.dispatch();
      request.accept('detached', 'soon');
    };
    try {
      const call = this.#callRequest(opened, this.#principalOf(opened));
      const onChunk = this.#chunkSender(opened, request);
      const outcome = await this.#callPipeline(opened, { ...call, signal: request.signal, onDispatch, onChunk });
      // A job is accepted as soon as it exists.
      if (opened.statement.mode !== 'sync' && outcome.kind === 'result') onDispatch();
      return { ...outcome, isDispatched };
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      return { kind: 'error', error: error.toBody(), isDispatched };
    }
  }

  /** Returns a function that signs and sends the chunks of a running call. If the caller is slow, drops chunks, but never the answer. */
  #chunkSender({ statement }: OpenedCall, request: IncomingRequest): (chunk: CallChunk) => void {
    const parts = new PartSigner(this.#collaborators.self, statement.id);
    let waiting = 0;
    return (chunk) => {
      if (waiting >= MAX_WAITING_CHUNKS) return;
      waiting++;
      // A failed send is ignored: the caller may have disconnected, and the answer contains the outcome.
      const sent = request.part(parts.sign(toolChunkCodec.encode({ chunk: { ...chunk } }))).catch(() => undefined);
      void sent.then(() => waiting--);
    };
  }

  #principalOf(opened: OpenedCall): Principal {
    const { guard, drops, self } = this.#collaborators;
    const principal = guard.principalOf(opened);
    const { context, entryHub } = opened.statement;
    // A hub omits its own id from the names of its agents. The id is added before the names are compared.
    const agentId = foreignAgentId(context.agentId, entryHub);
    if (agentId === foreignAgentId(principal.id, self.hubId)) return principal;
    drops.count('call.other_agent');
    throw new AtmoError('PERMISSION_DENIED', `The call names the agent ${agentId}, its token the agent ${principal.id}`);
  }

  #callRequest({ statement, fingerprint, untilMs }: OpenedCall, principal: Principal): CallRequest {
    const { self, clock } = this.#collaborators;
    const { id, tool, version, params, context, idempotencyKey } = statement;
    const timeoutMs = Math.min(statement.timeoutMs, untilMs - clock.monotonic());
    if (timeoutMs <= 0) throw new AtmoError('TIMEOUT', 'The time for the call was over when it arrived; it has no effect');
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
      ...(fingerprint === undefined && { isUnsigned: true }),
    };
  }

  async #callPipeline({ statement }: OpenedCall, call: CallRequest): Promise<Outcome> {
    const { pipeline } = this.#collaborators;
    if (statement.mode !== 'sync') {
      const started = await pipeline.callAsync({ ...call, ...(statement.mode === 'waiting_job' && { waitsForApproval: true }) });
      if (started.kind === 'job') return { kind: 'result', result: started.job as unknown as JsonObject };
      return outcomeOf(started.answer);
    }
    return outcomeOf(await pipeline.call(call));
  }
}

function outcomeOf(answer: CallAnswer): Outcome {
  return answer.status === 'success' ? { kind: 'result', result: answer.result } : { kind: 'error', error: answer.error };
}

/**
 * Returns the ledger entry of a request. The ledger keeps the entry at least until a copy of the request is too old to be accepted, whatever a
 * hub on the way says about the time that is left, and not longer than the signed time limit of the call demands.
 */
export function ledgerEntry({ statement, fingerprint, arrivedMs, untilMs }: OpenedRequest<RequestHead | ToolInvoke>) {
  const { entryHub, id } = statement;
  const longestMs = arrivedMs + ('timeoutMs' in statement ? statement.timeoutMs : 0);
  return { entryHub, id, fingerprint, untilMs: Math.max(arrivedMs, Math.min(untilMs, longestMs)) + TIME_WINDOW_MS };
}

/** Milliseconds for which the ledger keeps a request after `untilMs`, so that the entry hub can query the outcome. */
const KEPT_MS = 60_000;
const SWEEP_MS = 10_000;
const MAX_REQUESTS_PER_HUB = 16_384;
const MAX_REQUESTS = 65_536;
/** Maximum size of all stored answers together, in bytes. */
const MAX_ANSWER_BYTES = 16_777_216;

/** A request in the ledger. The entry hub chooses the id, so an id is unique only within its entry hub. */
interface LedgerEntry {
  readonly entryHub: HubId;
  readonly id: string;
  /** Hash of the request's signed bytes; undefined for a call that nobody signed. */
  readonly fingerprint: string | undefined;
  /** Time after which a copy of the request is too old to be accepted, by the monotonic clock. */
  readonly untilMs: number;
}

/** An answer of a call. It is data and no function, which would hold the request and the result in memory. */
interface LedgerAnswer {
  /** The answer as it was sent. */
  readonly bytes: Uint8Array;
  /** If the answer was sent without a signature: its head. The entry hub may query the outcome over another hub, and then needs a signature. */
  readonly toSign?: AnswerHead;
}

interface RunningRequest {
  /** Resolves when the request is accepted. Never resolves if the request is refused. */
  readonly dispatched: PromiseWithResolvers<void>;
  /** Resolves with the encoded answer. Rejects if the request ended without an answer. */
  readonly answer: PromiseWithResolvers<Uint8Array>;
}

/** A request and its outcome. */
export interface LedgerRecord extends LedgerEntry {
  /** State of a request; `spent` means that it never ran and never will. */
  state: 'running' | 'finished' | 'spent';
  /** Absent after the end: a resolved promise would hold the answer. */
  running?: RunningRequest | undefined;
  dispatch(): void;
  /** Ends the request. If `answer` is undefined, marks the request as one that never ran. */
  settle(answer: LedgerAnswer | undefined): void;
  /** The answer, stored for queries by the entry hub. Absent while the request runs, if it never ran, or after deletion to save memory. */
  kept?: LedgerAnswer | undefined;
}

/** Records every request, so that no request runs twice and the entry hub can query the outcome. */
export class CallLedger {
  readonly #clock: Clock;
  readonly #records = new Map<string, LedgerRecord>();
  readonly #counts = new Map<HubId, number>();
  /** Records with stored answers, oldest first. */
  readonly #answered = new Set<LedgerRecord>();
  #keptBytes = 0;
  #sweptMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(entryHub: HubId, id: string): LedgerRecord | undefined {
    return this.#records.get(`${entryHub} ${id}`);
  }

  /** Records a new request. Throws RESOURCE_EXCEEDED if this entry hub, or all entry hubs together, have too many requests. */
  open(entry: LedgerEntry): LedgerRecord {
    this.#sweep();
    const count = this.#counts.get(entry.entryHub) ?? 0;
    if (count >= MAX_REQUESTS_PER_HUB || this.#records.size >= MAX_REQUESTS) {
      throw new AtmoError('RESOURCE_EXCEEDED', `${entry.entryHub} has made ${count} requests in a minute; wait a while`);
    }
    const record = this.#newRecord(entry);
    this.#counts.set(entry.entryHub, count + 1);
    this.#records.set(`${entry.entryHub} ${entry.id}`, record);
    return record;
  }

  /** Records that a request with this id must not run if it arrives later. Throws like `open`. */
  spend(entry: LedgerEntry): void {
    this.open(entry).settle(undefined);
  }

  #newRecord(entry: LedgerEntry): LedgerRecord {
    const record: LedgerRecord = {
      ...entry,
      state: 'running',
      running: { dispatched: Promise.withResolvers(), answer: Promise.withResolvers() },
      dispatch: () => record.running?.dispatched.resolve(),
      settle: (given) => {
        const { answer } = record.running ?? {};
        record.running = undefined;
        record.state = given ? 'finished' : 'spent';
        if (given) this.#keep(record, given);
        if (given) answer?.resolve(given.bytes);
        else answer?.reject(new AtmoError('NODE_UNAVAILABLE', 'The request ended before it ran'));
      },
    };
    record.running?.answer.promise.catch(() => {});
    return record;
  }

  #keep(record: LedgerRecord, answer: LedgerAnswer): void {
    record.kept = answer;
    this.#keptBytes += answer.bytes.length;
    this.#answered.add(record);
    for (const oldest of this.#answered) {
      if (this.#keptBytes <= MAX_ANSWER_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(record: LedgerRecord): void {
    this.#keptBytes -= record.kept?.bytes.length ?? 0;
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
