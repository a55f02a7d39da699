import { randomBytes } from 'node:crypto';
import {
  type ApprovalQueue,
  type ApprovalRequest,
  type ApprovalService,
  type ApprovalState,
  type ApprovalStatus,
  type ApprovalView,
  type ApprovalWaitChoices,
  approvalSummary,
  type DeviceRefusal,
  isApproving,
  type OwnedApproval,
  plannedStepLines,
  type SignedDecision,
} from '../../core/auth/approvals.ts';
import { type Effect, type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { DeviceFacts } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import { kindsOf } from './approval-kinds.ts';
import { ApprovalNotifier, type NewAnswer, type NotifierServices } from './approval-notifier.ts';
import {
  type ApprovalRecord,
  ApprovalRepository,
  answersTo,
  type GivenAnswer,
  isOwnRequest,
  matchesRequest,
  recordOf,
  requesterKey,
  statementOf,
  viewOf,
  whyOwn,
} from './approval-record.ts';
import { waitMsFor } from './approval-waits.ts';
import { type ApproverRegistry, type EnrolledKey, type SignedBy, signerOf } from './approver-registry.ts';
import { countedAnswers, type StandingAnswerStore } from './standing-answer-store.ts';

/** Time in which an approved call can be made, in milliseconds. For a lock, valve or garage door it ends with the request. */
const USE_MS = 10 * 60_000;
const MAX_OPEN = 100;
const MAX_OPEN_OF_ONE = 10;
/** Maximum number of used approvals that `giveBack` can reopen. It is far above the number of calls that run at once. */
const MAX_GIVEN_BACK = 1_000;
/** Minimum delay of the timer in milliseconds, and the delay after the disk refused what the timer wrote. */
const MIN_TIMER_MS = 1_000;
const CLOSE_AGAIN_MS = 30_000;

interface ApprovalServices extends NotifierServices, Pick<HubContext, 'clock' | 'store'> {
  readonly approvers: Pick<ApproverRegistry, 'decidingKeysOf' | 'mayDecide' | 'list' | 'lastSerial' | 'noteUse' | 'onRemoved'>;
  readonly devices: Pick<DeviceFacts, 'namedDevice' | 'typesOf'>;
  readonly standing: StandingAnswerStore;
  readonly waits: Pick<ApprovalWaitChoices, 'current'>;
}

interface ApprovalOptions {
  readonly hubId: string;
}

/**
 * The queue of calls that wait for approval. Each call has one request, which collects signatures until enough persons have approved. A
 * request is valid for a limited time and one use, also across restarts. A decision is checked and stored without `await`, so decisions
 * cannot overlap.
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
  #unsubscribe: () => void = () => {};
  /** Whether the disk refused the last time that an expired request should be closed. */
  #isCloseRefused = false;

  constructor(collaborators: ApprovalServices, { hubId }: ApprovalOptions) {
    this.#hubId = hubId;
    this.#collaborators = collaborators;
    this.#records = new ApprovalRepository(collaborators);
    this.#notifier = new ApprovalNotifier(collaborators);
  }

  async start(): Promise<void> {
    this.#records.load();
    this.#collaborators.standing.load(this.#records.all());
    this.#closeOld();
    this.#unsubscribe = this.#collaborators.approvers.onRemoved((key) => this.#noteWaiting(key));
  }

  async check(request: ApprovalRequest): Promise<ApprovalStatus> {
    const found = this.#find(request);
    if (found && found.verdict.state !== 'pending') {
      // Nothing was awaited since the verdict, so no other call can have used the approval.
      if (found.verdict.state === 'approved') await this.#notifier.used(this.#use(found.record));
      return found.verdict;
    }
    const { standing } = this.#collaborators;
    const allowed = standing.find(request);
    if (!allowed) return this.#pending(request, found);
    await standing.noteUse(request, allowed);
    return allowed;
  }

  async peek(request: ApprovalRequest): Promise<ApprovalStatus> {
    const found = this.#find(request);
    if (found && found.verdict.state !== 'pending') return found.verdict;
    return this.#collaborators.standing.find(request) ?? this.#pending(request, found);
  }

  refusalOf(principal: Principal, effects: readonly Effect[]): DeviceRefusal | undefined {
    return this.#collaborators.standing.refusalOf(principal, effects);
  }

  withdraw(approvalId: string): void {
    const record = this.#records.get(approvalId);
    if (record?.jobId === undefined || record.state !== 'open') return;
    const withdrawn: ApprovalRecord = { ...record, state: 'withdrawn' };
    try {
      this.#records.save(withdrawn);
    } catch {
      // An approval of this request runs nothing, because its job has ended.
      this.#collaborators.logger.warn('approval.not_withdrawn', { approval_id: approvalId });
      return;
    }
    void this.#notifier.withdrawn(withdrawn);
  }

  stillApprovedBy(approvalId: string, { token }: Principal): readonly string[] {
    const { approvers, standing } = this.#collaborators;
    const record = this.#records.get(approvalId);
    const given = record?.state === 'used' && !this.#isDue(record) ? this.#counted(record, token?.keys) : [];
    const persons = [...given.map(({ person }) => person), ...standing.allowedBy(approvalId, token?.keys)];
    return persons.filter((person) => approvers.mayDecide(person));
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
    if (!this.#isApproved(returned)) this.#notifier.waits(returned);
    this.#startTimer();
  }

  list(state?: ApprovalState): readonly OwnedApproval[] {
    this.#closeOld();
    const approvers = this.#collaborators.approvers.list();
    // A view takes long to make, and of the requests of an hour most are closed.
    const mayBeIn = (record: ApprovalRecord) =>
      state === undefined || (record.state === 'open' ? state === 'pending' || state === 'approved' : record.state === state);
    return this.#records
      .all()
      .map((record) => this.#byClock(record))
      .filter(mayBeIn)
      .map((record) => this.#owned(record, approvers))
      .filter(({ view }) => state === undefined || view.state === state)
      .reverse();
  }

  get(approvalId: string): OwnedApproval | undefined {
    this.#closeOld();
    const record = this.#records.get(approvalId);
    return record && this.#owned(this.#byClock(record));
  }

  async decide(decision: SignedDecision): Promise<ApprovalView> {
    this.#closeOld();
    const record = this.#openRecord(decision.approvalId);
    const { key, signCount } = decidingKey(record, decision, this.#collaborators.approvers.decidingKeysOf(decision.person));
    const { person, keyId } = key;
    const { decision: answer, signature } = decision;
    this.#requireOffered(record, answer);
    this.#collaborators.approvers.noteUse(key, signCount);
    const given: NewAnswer = { person, keyId, answer, atMs: this.#collaborators.time.now(), signature };
    const isApproval = isApproving(answer);
    const decided = isApproval ? this.#approve(record, given) : this.#deny(record, given);
    const { view } = this.#owned(decided);
    await this.#collaborators.standing.keep(decided, given);
    await (isApproval ? this.#notifier.given(decided, given) : this.#notifier.denied(decided, given));
    return view;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer();
    this.#unsubscribe();
  }

  /** Emits which approved requests wait again, since a key that approved them was removed. */
  #noteWaiting(removed: EnrolledKey): void {
    const before = [...this.#collaborators.approvers.list(), removed];
    const approved = this.#live().filter((record) => record.state === 'open' && this.#isApproved(record, before));
    for (const record of approved) if (!this.#isApproved(record)) this.#notifier.waits(record);
  }

  #isApproved(record: ApprovalRecord, keys = this.#collaborators.approvers.list()): boolean {
    return countedAnswers(record, keys, []).length >= record.needed;
  }

  #find(request: ApprovalRequest): FoundRequest | undefined {
    this.#closeOld();
    const matching = this.#live().filter((record) => matchesRequest(record, request));
    // A call can match two requests: one that `giveBack` reopened, and one made in the meantime. If either is denied, the call is denied.
    const denied = matching.find(({ state }) => state === 'denied');
    const own = matching.filter(({ jobId }) => jobId === request.job?.id);
    // A new job may use the approval of the same call without a job. The reverse does not hold: nobody but the job may use its approval.
    const others = request.job && !request.job.hasAsked ? matching.filter(({ jobId }) => jobId === undefined) : [];
    const candidates = [...(denied ? [denied] : []), ...own, ...others].map((record) => {
      const current = this.#atLeast(record, request.personsNeeded);
      return { record: current, verdict: this.#verdict(current, request.principal) };
    });
    return candidates.find(({ record, verdict }) => verdict.state !== 'pending' || own.some(({ id }) => id === record.id));
  }

  /** Returns that the call waits. Stores a request for it first if it has none, before anything is awaited. */
  async #pending(request: ApprovalRequest, found: FoundRequest | undefined): Promise<ApprovalStatus> {
    if (found) return found.verdict;
    if (request.job?.hasAsked) throw changedSinceAsked(request);
    const record = this.#create(request);
    const verdict = this.#verdict(record, request.principal);
    await this.#notifier.requested(record);
    return verdict;
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
    const kinds = kindsOf(request, this.#collaborators.devices);
    const record = recordOf(request, {
      id: request.job?.approvalId ?? randomBytes(16).toString('hex'),
      kinds,
      createdMs,
      expiresMs: createdMs + waitMsFor(kinds, this.#collaborators.waits.current()),
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
    const { use: _, ...rest } = record;
    const stricter: ApprovalRecord = { ...rest, needed };
    this.#records.save(stricter);
    if (this.#isApproved(record) && !this.#isApproved(stricter)) this.#notifier.waits(stricter);
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
      waitsForS: view.waits_for_s,
      needed: record.needed,
      given: given.length,
      summary: approvalSummary(view),
      willDo: plannedStepLines(view),
    };
  }

  /** `approvers` saves reading them for each of several records. */
  #owned(record: ApprovalRecord, approvers = this.#collaborators.approvers.list()): OwnedApproval {
    const { devices } = this.#collaborators;
    return { principalKey: requesterKey(record), view: viewOf(record, { given: countedAnswers(record, approvers, []), devices }) };
  }

  #use(record: ApprovalRecord): ApprovalRecord {
    const used: ApprovalRecord = { ...record, state: 'used' };
    this.#records.save(used);
    // An approval for an hour is not given back: the call may be repeated anyway, and calls that it let through have the same id.
    if (record.given.some(({ answer }) => answer === 'approve_for_hour')) return used;
    this.#usedHere.add(record.id);
    if (this.#usedHere.size > MAX_GIVEN_BACK) for (const id of [...this.#usedHere].slice(0, -MAX_GIVEN_BACK)) this.#usedHere.delete(id);
    return used;
  }

  /** Returns the approvals whose keys are still enrolled and are not among the requester's `ownKeys`. */
  #counted(record: ApprovalRecord, ownKeys: readonly string[] = []): readonly GivenAnswer[] {
    return countedAnswers(record, this.#collaborators.approvers.list(), ownKeys);
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
      withdrawn: 'was withdrawn, because the job that waited for it has ended or somebody removed its hour; a new call makes a new request',
    };
    throw new AtmoError('CONFLICT', `Request ${id} ${ends[reason]}`, { state: reason });
  }

  /** Throws PERMISSION_DENIED if the hub does not accept this answer to this request, and RESOURCE_EXCEEDED if it cannot be stored. */
  #requireOffered(record: ApprovalRecord, answer: SignedDecision['decision']): void {
    const offered = answersTo(record, this.#collaborators.devices);
    if (offered.includes(answer)) {
      if (answer === 'approve_for_hour' || answer === 'refuse') this.#collaborators.standing.makeRoom();
      return;
    }
    refuseDecision(`Request ${record.id} cannot be answered with ${answer}; it takes ${offered.join(', ')}`);
  }

  #approve(record: ApprovalRecord, word: NewAnswer): ApprovalRecord {
    if (this.#records.decisionRemainingMs(record) <= 0) {
      throw new AtmoError('CONFLICT', `Request ${record.id} has expired; a new call makes a new request`, { state: 'expired' });
    }
    const given = this.#counted(record);
    if (given.some(({ person }) => person === word.person)) {
      throw new AtmoError('CONFLICT', `${word.person} has approved ${record.id} already and counts once; another person has to`);
    }
    const approved: ApprovalRecord = { ...record, given: [...given, word] };
    const isEnough = approved.given.length >= record.needed;
    this.#records.save(isEnough ? { ...approved, use: this.#useOf(record, word.atMs) } : approved);
    this.#startTimer();
    return this.#records.get(record.id) ?? approved;
  }

  /** Returns the time in which the call can be made that is approved now. */
  #useOf({ kinds = ['guarded'], expiresMs }: ApprovalRecord, nowMs: number): NonNullable<ApprovalRecord['use']> {
    return { fromMs: nowMs, endsMs: kinds.includes('guarded') ? expiresMs : nowMs + USE_MS };
  }

  #deny(record: ApprovalRecord, word: NewAnswer): ApprovalRecord {
    const denied: ApprovalRecord = { ...record, state: 'denied', deniedBy: word.person, denial: word };
    this.#records.save(denied);
    return denied;
  }

  #isDue(record: ApprovalRecord): boolean {
    return record.hub !== this.#hubId || this.#records.remainingMs(record) <= 0 || this.#collaborators.standing.isHourRemoved(record.id);
  }

  /** Returns the record with the state that it has by now. The stored state is older if the disk has refused to close the request. */
  #byClock(record: ApprovalRecord): ApprovalRecord {
    if (record.state !== 'open' || !this.#isDue(record)) return record;
    return { ...record, state: this.#collaborators.standing.isHourRemoved(record.id) ? 'withdrawn' : 'expired' };
  }

  /** Closes expired requests permanently, so that a clock that is set back does not reopen them, and those whose hour was removed. */
  #closeOld(): void {
    const old = this.#records.all().filter((record) => record.state === 'open' && this.#isDue(record));
    const wasRefused = this.#isCloseRefused;
    this.#isCloseRefused = false;
    try {
      for (const closed of old.map((record) => this.#byClock(record))) {
        this.#records.save(closed);
        void (closed.state === 'withdrawn' ? this.#notifier.withdrawn(closed) : this.#notifier.expired(closed));
      }
    } catch {
      // The request has ended anyway. The next use of the queue, or the timer, tries again to close it.
      if (!wasRefused) this.#collaborators.logger.warn('approval.not_closed');
      this.#isCloseRefused = true;
    }
    this.#startTimer();
  }

  #startTimer(): void {
    this.#cancelTimer();
    const open = this.#records.all().filter((record) => record.state === 'open');
    if (open.length === 0) return;
    const nextMs = Math.min(...open.map((record) => this.#records.remainingMs(record)));
    this.#cancelTimer = this.#collaborators.clock.after(Math.max(this.#isCloseRefused ? CLOSE_AGAIN_MS : MIN_TIMER_MS, nextMs), () =>
      this.#closeOld(),
    );
  }
}

/** A request of a call, and what it means for the call. */
interface FoundRequest {
  readonly record: ApprovalRecord;
  readonly verdict: ApprovalStatus;
}

function changedSinceAsked({ toolId }: ApprovalRequest): AtmoError {
  return new AtmoError('CONFLICT', `What ${toolId} would do has changed since people were asked; nothing was done, call it again`);
}

/**
 * Returns the person's key that signed the decision. Any enrolled key may deny or refuse. To approve, a key must be older than the request, and
 * nobody except the owner may approve own calls, except with a passkey where one person is enough. Throws PERMISSION_DENIED if the signature is invalid or the person may not
 * decide.
 */
function decidingKey(record: ApprovalRecord, decision: SignedDecision, keys: readonly EnrolledKey[]): SignedBy {
  const { person } = decision;
  if (keys.length === 0) refuseDecision(`${JSON.stringify(person.slice(0, 32))} has no approver key on this hub`);
  const statement = statementOf(record, decision);
  const signed = signerOf(decision.signature, statement, keys);
  if (!signed) return refuseDecision(`The signature is not one by ${person} over this decision about this request on this hub`);
  const { key } = signed;
  if (!isApproving(decision.decision)) return signed;
  if ((isOwnRequest(record, person) && !isOwnPasskeyEnough(record, key)) || record.requester.keys.includes(key.key)) {
    const reason = whyOwn(record, person);
    const others = `another approver has to, or the owner with "sudo atmo approve ${record.id}"`;
    refuseDecision(`${person} cannot approve what ${record.requester.id} asks for, because ${reason}; ${others}`);
  }
  if (key.serial > record.newestEnrolment) {
    refuseDecision(`Key ${key.keyId} of ${person} was enrolled after the request was made; it counts for the next one`);
  }
  return signed;
}

/**
 * Returns whether a person may approve an own call with this key. The key must be a passkey, and the call must come from the person or from an
 * application of the person. A passkey signs only after its device has verified the person, so a stolen login is not enough. Another person has to
 * approve calls of other agents under the person's login, calls that need several persons, calls that are not dangerous and wait because of a
 * rule, administration, and programs.
 */
function isOwnPasskeyEnough(record: ApprovalRecord, { passkey, person }: EnrolledKey): boolean {
  const { requester, needed, effects, kinds = ['administration'] } = record;
  if (passkey === undefined || needed !== 1) return false;
  if (requester.id !== person && requester.isApplication !== true) return false;
  const isDangerous = effects.some(({ risk }) => risk === 'dangerous');
  return isDangerous && !kinds.includes('administration') && !kinds.includes('programs');
}

function refuseDecision(reason: string): never {
  throw new AtmoError('PERMISSION_DENIED', reason);
}
