import { randomBytes } from 'node:crypto';
import { isSignedStatement } from '../../codec/approval-statement.ts';
import { publicKeyOf } from '../../codec/public-key.ts';
import {
  type ApprovalQueue,
  type ApprovalRequest,
  type ApprovalService,
  type ApprovalStatus,
  type ApprovalView,
  approvalSummary,
  type OwnedApproval,
  plannedStepLines,
  type SignedDecision,
} from '../../core/auth/approvals.ts';
import { isSelfOrDescendant, type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { DeviceFacts } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import {
  type ApprovalRecord,
  ApprovalRepository,
  type GivenApproval,
  matchesRequest,
  recordOf,
  requesterKey,
  statementOf,
  viewOf,
} from './approval-record.ts';
import type { ApproverRegistry, EnrolledKey } from './approver-registry.ts';

const LIFETIME_MS = 10 * 60_000;
const MAX_OPEN = 100;
const MAX_OPEN_OF_ONE = 10;
/** Maximum number of used approvals that `giveBack` can reopen. It is far above the number of calls that run at once. */
const MAX_GIVEN_BACK = 1_000;
/** Minimum delay of the timer in milliseconds. Without it, the timer would fire continuously while the disk is full. */
const MIN_TIMER_MS = 1_000;

interface ApprovalServices extends NotifierServices, Pick<HubContext, 'clock' | 'store'> {
  readonly approvers: Pick<ApproverRegistry, 'keysOf' | 'list' | 'lastSerial'>;
  readonly devices: Pick<DeviceFacts, 'namedDevice'>;
}

/**
 * The queue of calls that wait for approval. Each call has one request, which collects signatures until enough persons have approved. A
 * request is valid for ten minutes and one use, also across restarts. A decision is checked and stored without `await`, so decisions cannot
 * overlap.
 */
export class ApprovalStore implements ApprovalQueue, ApprovalService, Service {
  readonly #hubId: string;
  readonly #collaborators: ApprovalServices;
  readonly #records: ApprovalRepository;
  readonly #notifier: ApprovalNotifier;
  /**
   * Ids of requests whose approvals this process used. `giveBack` reopens only these requests. An approval that an earlier process used
   * stays used, because its call may have taken effect.
   */
  readonly #usedHere = new Set<string>();
  #cancelTimer: () => void = () => {};

  constructor(collaborators: ApprovalServices, { hubId }: { readonly hubId: string }) {
    this.#hubId = hubId;
    this.#collaborators = collaborators;
    this.#records = new ApprovalRepository(collaborators);
    this.#notifier = new ApprovalNotifier(collaborators);
  }

  async start(): Promise<void> {
    this.#records.load();
    this.#closeOld();
  }

  async check(request: ApprovalRequest): Promise<ApprovalStatus> {
    const { record, verdict, isNew } = this.#findOrCreate(request);
    if (isNew) await this.#notifier.requested(record);
    // Nothing was awaited since the verdict, so no other call can have used the approval.
    else if (verdict.state === 'approved') await this.#notifier.used(this.#use(record));
    return verdict;
  }

  async peek(request: ApprovalRequest): Promise<ApprovalStatus> {
    const { record, verdict, isNew } = this.#findOrCreate(request);
    if (isNew) await this.#notifier.requested(record);
    return verdict;
  }

  giveBack(approvalId: string): void {
    const record = this.#records.get(approvalId);
    if (!record || !this.#usedHere.delete(approvalId) || this.#isDue(record)) return;
    const returned: ApprovalRecord = { ...record, state: 'open' };
    try {
      this.#records.save(returned);
    } catch {
      // The approval stays used, so that no other call can use it. The caller still gets the error of the call.
      this.#collaborators.logger.warn('approval.not_returned', { approval_id: approvalId });
      return;
    }
    void this.#notifier.returned(returned);
    this.#startTimer();
  }

  list(): readonly OwnedApproval[] {
    this.#closeOld();
    return this.#records
      .all()
      .map((record) => this.#owned(record))
      .reverse();
  }

  get(approvalId: string): OwnedApproval | undefined {
    this.#closeOld();
    const record = this.#records.get(approvalId);
    return record && this.#owned(record);
  }

  async decide(decision: SignedDecision): Promise<ApprovalView> {
    this.#closeOld();
    const record = this.#openRecord(decision.approvalId);
    const { person, keyId } = decidingKey(record, decision, this.#collaborators.approvers.keysOf(decision.person));
    const word: GivenApproval = { person, keyId, atMs: this.#collaborators.time.now(), signature: decision.signature };
    const decided = decision.decision === 'deny' ? this.#deny(record, word) : this.#approve(record, word);
    const { view } = this.#owned(decided);
    await (decision.decision === 'deny' ? this.#notifier.denied(decided, word) : this.#notifier.given(decided, word));
    return view;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer();
  }

  #findOrCreate(request: ApprovalRequest): { readonly record: ApprovalRecord; readonly verdict: ApprovalStatus; readonly isNew: boolean } {
    this.#closeOld();
    const found = this.#matching(request);
    const record = found ? this.#atLeast(found, request.personsNeeded) : this.#create(request);
    return { record, verdict: this.#verdict(record, request.principal), isNew: !found };
  }

  #matching(request: ApprovalRequest): ApprovalRecord | undefined {
    const matching = this.#live().filter((record) => matchesRequest(record, request));
    // A call can match two requests: one that `giveBack` reopened, and one made in the meantime. If either is denied, the call is denied.
    return matching.find(({ state }) => state === 'denied') ?? matching[0];
  }

  /**
   * Returns the requests that are neither expired nor used. A denied request counts, since its call is refused until the request expires.
   */
  #live(): readonly ApprovalRecord[] {
    return this.#records.all().filter((record) => (record.state === 'open' || record.state === 'denied') && !this.#isDue(record));
  }

  #create(request: ApprovalRequest): ApprovalRecord {
    this.#requireCapacity(request.principal);
    const createdMs = this.#collaborators.time.now();
    const record = recordOf(request, {
      id: randomBytes(16).toString('hex'),
      createdMs,
      expiresMs: createdMs + LIFETIME_MS,
      hub: this.#hubId,
      newestEnrolment: this.#collaborators.approvers.lastSerial,
    });
    this.#records.save(record);
    this.#startTimer();
    return record;
  }

  /** Throws RESOURCE_EXCEEDED if too many requests are open or denied. An agent and its descendants share one limit. */
  #requireCapacity(principal: Principal): void {
    const live = this.#live();
    const family = rootAgentOf(principalKey(principal));
    const own = live.filter((record) => rootAgentOf(requesterKey(record)) === family).length;
    if (own < MAX_OPEN_OF_ONE && (principal.kind === 'owner' || live.length < MAX_OPEN)) return;
    throw new AtmoError(
      'RESOURCE_EXCEEDED',
      `Too many dangerous calls wait for people already (${own} of ${principal.id}, ${live.length} in all); wait until they are decided or have expired`,
      { retry_after_ms: Math.max(0, Math.min(...live.map((record) => this.#records.remainingMs(record)))) },
    );
  }

  /** Returns the record. If the owner's rules now require more persons than the record, first stores the new number in the record. */
  #atLeast(record: ApprovalRecord, needed: number): ApprovalRecord {
    if (record.needed >= needed) return record;
    const stricter = { ...record, needed };
    this.#records.save(stricter);
    return stricter;
  }

  #verdict(record: ApprovalRecord, principal: Principal): ApprovalStatus {
    const approvalId = record.id;
    if (record.state === 'denied') return { state: 'denied', approvalId, by: record.deniedBy ?? '', expiresAt: isoTime(record.expiresMs) };
    const { view } = this.#owned(record);
    const given = this.#counted(record, principal.token?.keys);
    if (given.length >= record.needed) return { state: 'approved', approvalId, by: given.map(({ person }) => person) };
    return {
      state: 'pending',
      approvalId,
      expiresAt: isoTime(record.expiresMs),
      needed: record.needed,
      given: given.length,
      summary: approvalSummary(view),
      willDo: plannedStepLines(view),
    };
  }

  #owned(record: ApprovalRecord): OwnedApproval {
    const { devices } = this.#collaborators;
    return { principalKey: requesterKey(record), view: viewOf(record, { given: this.#counted(record), devices }) };
  }

  #use(record: ApprovalRecord): ApprovalRecord {
    const used: ApprovalRecord = { ...record, state: 'used' };
    this.#records.save(used);
    this.#usedHere.add(record.id);
    if (this.#usedHere.size > MAX_GIVEN_BACK) for (const id of [...this.#usedHere].slice(0, -MAX_GIVEN_BACK)) this.#usedHere.delete(id);
    return used;
  }

  /** Returns the approvals whose keys are still enrolled and are not among the requester's `ownKeys`. */
  #counted(record: ApprovalRecord, ownKeys: readonly string[] = []): readonly GivenApproval[] {
    return countedIn(record, this.#collaborators.approvers.list(), ownKeys);
  }

  #openRecord(id: string): ApprovalRecord {
    const record = this.#records.get(id);
    if (!record) {
      throw new AtmoError('NOT_FOUND', `No request ${JSON.stringify(id.slice(0, 64))} waits for approval; "atmo approvals" lists them`);
    }
    if (record.state === 'open' && !this.#isDue(record)) return record;
    const reason = record.state === 'open' ? 'expired' : record.state;
    const ends = {
      expired: 'has expired; a new call makes a new request',
      used: 'has been used; a new call makes a new request',
      denied: `was denied by ${record.deniedBy}; the same call is refused until ${isoTime(record.expiresMs)}, and makes a new request after that`,
    };
    throw new AtmoError('CONFLICT', `Request ${id} ${ends[reason]}`, { state: reason });
  }

  #approve(record: ApprovalRecord, word: GivenApproval): ApprovalRecord {
    const given = this.#counted(record);
    if (given.some(({ person }) => person === word.person)) {
      throw new AtmoError('CONFLICT', `${word.person} has approved ${record.id} already and counts once; another person has to`);
    }
    const approved: ApprovalRecord = { ...record, given: [...given, word] };
    this.#records.save(approved);
    return approved;
  }

  #deny(record: ApprovalRecord, { person }: GivenApproval): ApprovalRecord {
    const denied: ApprovalRecord = { ...record, state: 'denied', deniedBy: person };
    this.#records.save(denied);
    return denied;
  }

  #isDue(record: ApprovalRecord): boolean {
    return record.hub !== this.#hubId || this.#records.remainingMs(record) <= 0;
  }

  /** Closes expired requests permanently, so that a clock that is set back does not reopen them. */
  #closeOld(): void {
    const old = this.#records.all().filter((record) => record.state === 'open' && this.#isDue(record));
    try {
      for (const record of old) {
        const expired: ApprovalRecord = { ...record, state: 'expired' };
        this.#records.save(expired);
        void this.#notifier.expired(expired);
      }
    } catch {
      // The request has expired anyway. The next use of the queue tries again to close it.
      this.#collaborators.logger.warn('approval.not_closed');
    }
    this.#startTimer();
  }

  #startTimer(): void {
    this.#cancelTimer();
    const open = this.#records.all().filter((record) => record.state === 'open');
    if (open.length === 0) return;
    const nextMs = Math.min(...open.map((record) => this.#records.remainingMs(record)));
    this.#cancelTimer = this.#collaborators.clock.after(Math.max(MIN_TIMER_MS, nextMs), () => this.#closeOld());
  }
}

function countedIn(record: ApprovalRecord, keys: readonly EnrolledKey[], ownKeys: readonly string[]): readonly GivenApproval[] {
  const isValid = ({ serial, key }: EnrolledKey) => serial <= record.newestEnrolment && !ownKeys.includes(key);
  const valid = new Set(keys.filter(isValid).map(({ keyId }) => keyId));
  return record.given.filter(({ keyId }) => valid.has(keyId));
}

/**
 * Returns the person's key that signed the decision. Any enrolled key may deny. To approve, a key must be older than the request, and
 * nobody except the owner may approve own calls. Throws PERMISSION_DENIED if the signature is invalid or the person may not decide.
 */
function decidingKey(record: ApprovalRecord, decision: SignedDecision, keys: readonly EnrolledKey[]): EnrolledKey {
  const { person } = decision;
  if (keys.length === 0) refuseDecision(`${JSON.stringify(person.slice(0, 32))} has no approver key on this hub`);
  const statement = statementOf(record, decision);
  const key = keys.find((candidate) => isSignedStatement(decision.signature, statement, publicKeyOf(candidate.key)));
  if (!key) return refuseDecision(`The signature is not one by ${person} over this decision about this request on this hub`);
  if (decision.decision === 'deny') return key;
  if (isOwnRequest(record, person) || record.requester.keys.includes(key.key)) {
    const reason = record.requester.id.startsWith(`${person}/`) ? `it acts under ${person}'s login` : 'who asks never approves';
    const others = `another approver has to, or the owner with "sudo atmo approve ${record.id}"`;
    refuseDecision(`${person} cannot approve what ${record.requester.id} asks for, because ${reason}; ${others}`);
  }
  if (key.serial > record.newestEnrolment) {
    refuseDecision(`Key ${key.keyId} of ${person} was enrolled after the request was made; it counts for the next one`);
  }
  return key;
}

/** Returns whether the requester or one of its ancestors has the person's name. Returns false for calls of the owner. */
function isOwnRequest({ requester }: ApprovalRecord, person: string): boolean {
  if (requester.kind === 'owner' && person === 'owner') return false;
  return isSelfOrDescendant(requester.id, person);
}

function refuseDecision(reason: string): never {
  throw new AtmoError('PERMISSION_DENIED', reason);
}

/** The audit log, event bus and logger that receive changes of approvals. */
interface NotifierServices extends Pick<HubContext, 'logger' | 'events' | 'audit'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/** Writes changes of requests to the audit log and emits events, both without the call's parameters. The call's audit rows have them. */
class ApprovalNotifier {
  readonly #collaborators: NotifierServices;

  constructor(collaborators: NotifierServices) {
    this.#collaborators = collaborators;
  }

  async requested(record: ApprovalRecord): Promise<void> {
    await this.#note('approval.requested', record, { needed: record.needed, expires_at: isoTime(record.expiresMs) });
    this.#emit('approval.requested', record, { title: record.title, needed: record.needed });
  }

  /** Records a new approval with its signature, as evidence of the person's consent. */
  async given(record: ApprovalRecord, { person, keyId, signature }: GivenApproval): Promise<void> {
    const facts = { person, key_id: keyId, given: record.given.length, needed: record.needed };
    await this.#note('approval.given', record, { ...facts, signature });
    const state = record.given.length < record.needed ? 'pending' : 'approved';
    this.#emit('approval.decided', record, { decision: 'approve', state, ...facts });
  }

  async denied(record: ApprovalRecord, { person, keyId, signature }: GivenApproval): Promise<void> {
    await this.#note('approval.denied', record, { person, key_id: keyId, signature });
    this.#emit('approval.decided', record, { decision: 'deny', state: 'denied', person, key_id: keyId });
  }

  used(record: ApprovalRecord): Promise<void> {
    return this.#note('approval.used', record, { approved_by: record.given.map(({ person }) => person) });
  }

  returned(record: ApprovalRecord): Promise<void> {
    return this.#note('approval.returned', record, {});
  }

  async expired(record: ApprovalRecord): Promise<void> {
    await this.#note('approval.expired', record, { given: record.given.length, needed: record.needed });
    this.#emit('approval.decided', record, { state: 'expired' });
  }

  #note(event: string, record: ApprovalRecord, data: JsonObject): Promise<void> {
    const atMs = this.#collaborators.time.now();
    const person = typeof data.person === 'string' ? data.person : record.requester.id;
    const facts = { approval_id: record.id, agent_id: record.requester.id, tool: record.tool, call_hash: record.callHash };
    const { traceId } = record;
    return recordNote(this.#collaborators, { event, atMs, principalId: person, traceId, data: { ...facts, ...data } });
  }

  #emit(type: 'approval.requested' | 'approval.decided', record: ApprovalRecord, data: JsonObject): void {
    const facts = { approval_id: record.id, agent_id: record.requester.id, tool: record.tool };
    this.#collaborators.events.emit(type, record.id, { ...facts, expires_at: isoTime(record.expiresMs), ...data });
  }
}
