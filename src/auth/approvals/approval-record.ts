import type { ApprovalStatement } from '../../codec/approval-payload.ts';
import type { ApprovalDecision, ApprovalKind, ApprovalRequest, ApprovalView, PlannedCall } from '../../core/auth/approvals.ts';
import { type Effect, isSelfOrDescendant, type Principal, principalKey } from '../../core/auth/principal.ts';
import { type Clock, isoTime, type TrustedTime } from '../../core/clock.ts';
import type { DeviceFacts } from '../../core/devices/device-names.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { changedDevices, offeredAnswers } from './approval-kinds.ts';
import { Lifetimes, type Period } from './lifetimes.ts';

/** One person's signed answer to a request. */
export interface GivenAnswer {
  readonly person: string;
  readonly keyId: string;
  /** Absent in records of earlier versions, where it was `approve`. */
  readonly answer?: ApprovalDecision;
  readonly atMs: number;
  /** The person's signature (COSE_Sign1 in base64url), stored as evidence. */
  readonly signature: string;
}

/** The principal that made a request. */
export interface Requester {
  readonly kind: Principal['kind'];
  readonly id: string;
  readonly keys: readonly string[];
  /** Absent for the owner and the hub itself, and in records of earlier versions. */
  readonly tokenId?: string;
  /** For an automation: ids of those who edited or accepted its definition. Absent if the definition is that of its maker alone. */
  readonly authors?: readonly string[];
  /** True for an application to which a person gave access by OAuth, and not for what comes from its token. */
  readonly isApplication?: true;
}

/** An approval request as stored. Its state is `open` until it is used, denied, expired or withdrawn. `given` lists the approvals. */
export interface ApprovalRecord {
  readonly id: string;
  readonly state: 'open' | 'used' | 'denied' | 'expired' | 'withdrawn';
  readonly requester: Requester;
  readonly tool: string;
  readonly title: string;
  readonly params: JsonObject;
  readonly callHash: string;
  readonly effects: readonly Pick<Effect, 'target' | 'permission' | 'risk'>[];
  /** What the call touches. Absent in records of earlier versions. */
  readonly kinds?: readonly ApprovalKind[];
  /** The program or the steps that the call runs; absent if the call has no program and no steps. */
  readonly runs?: PlannedCall;
  readonly needed: number;
  readonly given: readonly GivenAnswer[];
  readonly deniedBy?: string;
  /** The answer that denied the request. Absent in records of earlier versions. */
  readonly denial?: GivenAnswer;
  /** The job that runs when the request is approved. */
  readonly jobId?: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  /** The time in which the approved call can be made; absent while the request is not approved. */
  readonly use?: Period;
  readonly hub: string;
  readonly traceId: string;
  /** Serial number of the newest enrolled key when the request was made. Later keys do not count for this request. */
  readonly newestEnrolment: number;
}

type Circumstances = Pick<ApprovalRecord, 'id' | 'kinds' | 'createdMs' | 'expiresMs' | 'hub' | 'newestEnrolment'>;

/** Returns the stored record of a new approval request. */
export function recordOf(request: ApprovalRequest, circumstances: Circumstances): ApprovalRecord {
  const { principal, toolId, title, params, callHash, effects, plan, personsNeeded, traceId, job } = request;
  return {
    ...circumstances,
    state: 'open',
    requester: requesterOf(principal),
    tool: toolId,
    title,
    params,
    callHash,
    effects: effects.map(({ target, permission, risk }) => ({ target, permission, risk })),
    ...((plan.program ?? plan.steps) && { runs: plan }),
    needed: Math.max(1, personsNeeded),
    given: [],
    ...(job && { jobId: job.id }),
    traceId,
  };
}

function requesterOf({ kind, id, token, authors = [] }: Principal): Requester {
  return {
    kind,
    id,
    keys: token?.keys ?? [],
    ...(authors.length > 0 && { authors }),
    ...(token && { tokenId: token.id }),
    ...(token?.grant !== undefined && { isApplication: true }),
  };
}

/**
 * Returns whether the requester, or somebody who wrote what it calls, has the person's name or comes from the person. Returns false for calls of
 * the owner, who also approves what the owner wrote.
 */
export function isOwnRequest({ requester }: Pick<ApprovalRecord, 'requester'>, person: string): boolean {
  if (requester.kind === 'owner' && person === 'owner') return false;
  return isSelfOrDescendant(requester.id, person) || isWrittenBy({ requester }, person);
}

/** Returns whether the person, or what acts under the person's login, wrote what an automation calls. */
function isWrittenBy({ requester: { authors = [] } }: Pick<ApprovalRecord, 'requester'>, person: string): boolean {
  return person !== 'owner' && authors.some((author) => isSelfOrDescendant(author, person));
}

/** Returns why a request is the person's own, as words for people. */
export function whyOwn({ requester }: Pick<ApprovalRecord, 'requester'>, person: string): string {
  if (requester.id.startsWith(`${person}/`)) return `it acts under ${person}'s login`;
  return isWrittenBy({ requester }, person) ? `${person} wrote what it does` : 'who asks never approves';
}

/** Returns the `principalKey` of the requester. */
export function requesterKey({ requester }: Pick<ApprovalRecord, 'requester'>): string {
  return principalKey(requester);
}

/**
 * Returns whether the stored approval request is for the requested call. Their effects must match too, because the same arguments can have
 * other effects later, for example if a group gets a new member.
 */
export function matchesRequest(
  record: Pick<ApprovalRecord, 'tool' | 'callHash' | 'effects' | 'requester'>,
  request: ApprovalRequest,
): boolean {
  const hasSameAuthors = String(record.requester.authors ?? []) === String(request.principal.authors ?? []);
  const isSameCall = hasSameAuthors && record.tool === request.toolId && record.callHash === request.callHash;
  return isSameCall && requesterKey(record) === principalKey(request.principal) && reach(record.effects) === reach(request.effects);
}

function reach(effects: ApprovalRecord['effects']): string {
  const lines = effects.map(({ risk, permission, target }) => JSON.stringify([risk, permission, target]));
  return [...new Set(lines)].sort().join('\n');
}

/** Returns the statement that a person signs to decide about the request. */
export function statementOf(
  record: ApprovalRecord,
  { decision, person }: Pick<ApprovalStatement, 'decision' | 'person'>,
): ApprovalStatement {
  return {
    approval_id: record.id,
    decision,
    tool: record.tool,
    call_hash: record.callHash,
    hub: record.hub,
    expires_at: isoTime(record.expiresMs),
    person,
  };
}

interface ViewParts {
  /** Approvals that were given with keys that are still enrolled. */
  readonly given: readonly GivenAnswer[];
  readonly devices: Pick<DeviceFacts, 'namedDevice'>;
}

/** Returns the approval request as the API shows it to people. */
export function viewOf(record: ApprovalRecord, { given, devices }: ViewParts): ApprovalView {
  const open = given.length >= record.needed ? 'approved' : 'pending';
  return {
    approval_id: record.id,
    state: record.state === 'open' ? open : record.state,
    agent_id: record.requester.id,
    tool: record.tool,
    title: record.title,
    params: record.params,
    effects: record.effects,
    devices: devicesOf(record, devices),
    ...(record.runs && { runs: record.runs }),
    needed: record.needed,
    given: given.length,
    approved_by: given.map(({ person, keyId, atMs }) => ({ person, key_id: keyId, at: isoTime(atMs) })),
    ...(record.deniedBy !== undefined && { denied_by: record.deniedBy }),
    created_at: isoTime(record.createdMs),
    expires_at: isoTime(record.expiresMs),
    waits_for_s: Math.round((record.expiresMs - record.createdMs) / 1_000),
    ...(record.use && { usable_until: isoTime(record.use.endsMs) }),
    answers: answersTo(record, devices),
    runs_when_approved: record.jobId !== undefined,
    ...(record.jobId !== undefined && { job_id: record.jobId }),
    hub: record.hub,
    call_hash: record.callHash,
    trace_id: record.traceId,
  };
}

/** Returns the answers that the hub accepts for a request. A record of an earlier version has no kinds, so only its call can be decided. */
export function answersTo(record: ApprovalRecord, devices: ViewParts['devices']): readonly ApprovalDecision[] {
  const { kinds = ['guarded'], needed, effects, requester } = record;
  return offeredAnswers({ kinds, needed, devices: changedDevices(effects, devices), isOwners: requester.kind === 'owner' });
}

/** Returns each affected device once, with its current name and area. The first segment of a target is the id of its device. */
export function devicesOf(
  { effects, runs }: Pick<ApprovalRecord, 'effects' | 'runs'>,
  devices: ViewParts['devices'],
): ApprovalView['devices'] {
  const targets = [...effects.map(({ target }) => target), ...(runs ? targetsOf(runs) : [])];
  const ids = [...new Set(targets.map((target) => target.split('/', 1)[0] ?? ''))];
  return ids.flatMap((id) => devices.namedDevice(id) ?? []);
}

function targetsOf({ targets, steps = [] }: PlannedCall): readonly string[] {
  return [...targets, ...steps.flatMap(targetsOf)];
}

/** Parses a stored approval record; returns undefined if the record is incomplete. */
function readRecord(value: Json): ApprovalRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const texts = [value.id, value.state, value.tool, value.callHash, value.hub];
  const numbers = [value.createdMs, value.expiresMs, value.needed, value.newestEnrolment];
  const isWhole =
    texts.every((text) => typeof text === 'string') &&
    numbers.every(Number.isFinite) &&
    Array.isArray(value.given) &&
    Array.isArray(value.effects) &&
    isJsonObject(value.requester);
  return isWhole ? (value as unknown as ApprovalRecord) : undefined;
}

const SPACE = 'approvals';
/** Milliseconds for which a request can be read after it expires. After that, only the audit log has it. */
const KEPT_CLOSED_MS = 3_600_000;
const MAX_RECORDS = 1_000;

interface RepositoryServices {
  readonly store: KeyValueStore;
  readonly time: Pick<TrustedTime, 'now'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Stores the approval requests of a hub, and computes when they expire. */
export class ApprovalRepository {
  readonly #ports: RepositoryServices;
  readonly #records = new Map<string, ApprovalRecord>();
  readonly #lifetimes: Lifetimes;

  constructor(ports: RepositoryServices) {
    this.#ports = ports;
    this.#lifetimes = new Lifetimes(ports);
  }

  /** Loads the approval requests of earlier processes. */
  load(): void {
    const stored = this.#ports.store.entries(SPACE).flatMap(({ value }) => readRecord(value) ?? []);
    for (const record of stored.sort((a, b) => a.createdMs - b.createdMs)) this.#remember(record);
  }

  get(id: string): ApprovalRecord | undefined {
    return this.#records.get(id);
  }

  /** Returns all records, the oldest first. */
  all(): readonly ApprovalRecord[] {
    return [...this.#records.values()];
  }

  /** Stores a record. If the write fails, throws STORAGE_FAILED and changes nothing. */
  save(record: ApprovalRecord): void {
    if (!this.#records.has(record.id)) this.#makeRoom();
    const ttlMs = Math.max(0, endMs(record) - this.#ports.time.now()) + KEPT_CLOSED_MS;
    this.#ports.store.set(SPACE, record.id, record as unknown as Json, { ttlMs });
    this.#remember(record);
  }

  /** Returns the milliseconds until the request, or the approved call, expires; 0 or less if it has expired. */
  remainingMs({ id, use }: ApprovalRecord): number {
    return this.#lifetimes.remainingMs(use ? useKey(id) : id);
  }

  /** Returns the milliseconds for which people can still decide; 0 or less if the time is over. */
  decisionRemainingMs({ id }: ApprovalRecord): number {
    return this.#lifetimes.remainingMs(id);
  }

  #remember(record: ApprovalRecord): void {
    const { id, createdMs, expiresMs, use } = record;
    this.#records.set(id, record);
    this.#lifetimes.watch(id, { fromMs: createdMs, endsMs: expiresMs });
    if (use) this.#lifetimes.watch(useKey(id), use);
  }

  /**
   * Deletes requests that expired at least an hour ago. If there are too many records, also deletes the oldest used or expired requests. A
   * denied request is kept until it expires, so that the agent can read the denial.
   */
  #makeRoom(): void {
    const final = this.all().filter((record) => record.state === 'used' || record.state === 'withdrawn' || this.remainingMs(record) <= 0);
    const old = final.filter((record) => this.remainingMs(record) <= -KEPT_CLOSED_MS);
    const surplus = final.slice(0, Math.max(0, this.#records.size - MAX_RECORDS + 1));
    for (const { id } of new Set([...old, ...surplus])) {
      this.#ports.store.delete(SPACE, id);
      this.#records.delete(id);
      this.#lifetimes.forget(id);
      this.#lifetimes.forget(useKey(id));
    }
  }
}

function useKey(id: string): string {
  return `${id} use`;
}

/** Returns the time at which nothing about the request can happen any more. */
function endMs({ expiresMs, use }: ApprovalRecord): number {
  return Math.max(expiresMs, use?.endsMs ?? 0);
}
