import type { ApprovalStatement } from '../../codec/approval-payload.ts';
import type { ApprovalRequest, ApprovalView, PlannedCall } from '../../core/auth/approvals.ts';
import { type Effect, type Principal, principalKey } from '../../core/auth/principal.ts';
import { type Clock, isoTime, type TrustedTime } from '../../core/clock.ts';
import type { DeviceFacts } from '../../core/devices/device-names.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

/** An approval of a request by one person. */
export interface GivenApproval {
  readonly person: string;
  readonly keyId: string;
  readonly atMs: number;
  /** COSE_Sign1 in base64url, stored as evidence. */
  readonly signature: string;
}

/** A request as it is stored. It stays `open` until it is used, denied or expired; `given` shows whether it is approved. */
export interface ApprovalRecord {
  readonly id: string;
  readonly state: 'open' | 'used' | 'denied' | 'expired';
  readonly requester: { readonly kind: Principal['kind']; readonly id: string; readonly keys: readonly string[] };
  readonly tool: string;
  readonly title: string;
  readonly params: JsonObject;
  readonly callHash: string;
  readonly effects: readonly Pick<Effect, 'target' | 'permission' | 'risk'>[];
  /** The program or the steps that the call runs; absent if it runs neither. */
  readonly runs?: PlannedCall;
  readonly needed: number;
  readonly given: readonly GivenApproval[];
  readonly deniedBy?: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly hub: string;
  readonly traceId: string;
  /** Newest enrolment of an approver when the request was made: later keys do not count. */
  readonly newestEnrolment: number;
}

type Circumstances = Pick<ApprovalRecord, 'id' | 'createdMs' | 'expiresMs' | 'hub' | 'newestEnrolment'>;

/** Returns the record of a new request. */
export function recordOf(request: ApprovalRequest, circumstances: Circumstances): ApprovalRecord {
  const { principal, toolId, title, params, callHash, effects, plan, personsNeeded, traceId } = request;
  return {
    ...circumstances,
    state: 'open',
    requester: { kind: principal.kind, id: principal.id, keys: principal.token?.keys ?? [] },
    tool: toolId,
    title,
    params,
    callHash,
    effects: effects.map(({ target, permission, risk }) => ({ target, permission, risk })),
    ...((plan.program ?? plan.steps) && { runs: plan }),
    needed: Math.max(1, personsNeeded),
    given: [],
    traceId,
  };
}

/** Returns the requester, as `principalKey`. */
export function requesterKey({ requester }: ApprovalRecord): string {
  return principalKey({ kind: requester.kind, id: requester.id, permissions: [] });
}

/**
 * Returns whether the request is for this call. The effects must match too: the same arguments may have other effects later (a group that
 * got a member), and people approved only the effects that they saw.
 */
export function matchesRequest(record: ApprovalRecord, request: ApprovalRequest): boolean {
  const isSameCall = record.tool === request.toolId && record.callHash === request.callHash;
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
  /** The approvals that count now. */
  readonly given: readonly GivenApproval[];
  readonly devices: Pick<DeviceFacts, 'namedDevice'>;
}

/** Returns the request as people see it. */
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
    hub: record.hub,
    call_hash: record.callHash,
    trace_id: record.traceId,
  };
}

/** Returns each device once, with its present name and area: the targets begin with the ids of devices. */
function devicesOf({ effects, runs }: ApprovalRecord, devices: ViewParts['devices']): ApprovalView['devices'] {
  const targets = [...effects.map(({ target }) => target), ...(runs ? targetsOf(runs) : [])];
  const ids = [...new Set(targets.map((target) => target.split('/', 1)[0] ?? ''))];
  return ids.flatMap((id) => devices.namedDevice(id) ?? []);
}

function targetsOf({ targets, steps = [] }: PlannedCall): readonly string[] {
  return [...targets, ...steps.flatMap(targetsOf)];
}

/** Returns a stored record; undefined if it is incomplete. Only this program writes records. */
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
/** A closed request stays readable for this long; the audit log keeps its history. */
const KEPT_CLOSED_MS = 3_600_000;
const CLOCK_SKEW_MS = 60_000;
const MAX_RECORDS = 1_000;

interface RepositoryServices {
  readonly store: KeyValueStore;
  readonly time: Pick<TrustedTime, 'now'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** The requests of a hub, stored before a change is emitted, with the end of each. */
export class ApprovalRepository {
  readonly #ports: RepositoryServices;
  readonly #records = new Map<string, ApprovalRecord>();
  /** Monotonic times at which requests expire: a changed wall clock cannot move them. */
  readonly #deadlinesMs = new Map<string, number>();

  constructor(ports: RepositoryServices) {
    this.#ports = ports;
  }

  /** Loads the requests of an earlier process. */
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

  /** Throws STORAGE_FAILED, and then nothing has changed. */
  save(record: ApprovalRecord): void {
    if (!this.#records.has(record.id)) this.#makeRoom();
    const ttlMs = Math.max(0, record.expiresMs - this.#ports.time.now()) + KEPT_CLOSED_MS;
    this.#ports.store.set(SPACE, record.id, record as unknown as Json, { ttlMs });
    this.#remember(record);
  }

  /** Returns milliseconds until the request is too old; 0 or less when it is. */
  remainingMs(record: ApprovalRecord): number {
    const nowMs = this.#ports.time.now();
    // A clock far before the creation of the request was turned back by an unknown time.
    if (nowMs < record.createdMs - CLOCK_SKEW_MS) return 0;
    const deadlineMs = this.#deadlinesMs.get(record.id) ?? 0;
    return Math.min(record.expiresMs - nowMs, deadlineMs - this.#ports.clock.monotonic());
  }

  #remember(record: ApprovalRecord): void {
    this.#records.set(record.id, record);
    if (this.#deadlinesMs.has(record.id)) return;
    const leftMs = Math.min(record.expiresMs - this.#ports.time.now(), record.expiresMs - record.createdMs);
    this.#deadlinesMs.set(record.id, this.#ports.clock.monotonic() + leftMs);
  }

  /**
   * Deletes records that closed long ago, and the oldest closed records above the limit. A denial stays until it expires, so that the agent
   * can read it.
   */
  #makeRoom(): void {
    const final = this.all().filter((record) => record.state === 'used' || this.remainingMs(record) <= 0);
    const old = final.filter((record) => this.remainingMs(record) <= -KEPT_CLOSED_MS);
    const surplus = final.slice(0, Math.max(0, this.#records.size - MAX_RECORDS + 1));
    for (const { id } of new Set([...old, ...surplus])) {
      this.#ports.store.delete(SPACE, id);
      this.#records.delete(id);
      this.#deadlinesMs.delete(id);
    }
  }
}
