import type { ApprovalRequest } from '../../core/access/approval-queue.ts';
import type { ApprovalView, PlannedCall } from '../../core/access/approvals.ts';
import type { Effect } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';
import { principalKey } from '../../core/access/principal.ts';
import type { DeviceFacts } from '../../core/devices/device-facts.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { isoTime } from '../../core/time/iso-time.ts';
import type { ApprovalStatement } from '../../wire/approval-payload.ts';

/** One person's approval of a request. */
export interface GivenApproval {
  readonly person: string;
  readonly keyId: string;
  readonly atMs: number;
  /** Kept as evidence: COSE_Sign1, base64url. */
  readonly signature: string;
}

/** A request as it is stored. It is `open` until it was used, denied or too old; whether it is approved follows from `given`. */
export interface ApprovalRecord {
  readonly id: string;
  readonly state: 'open' | 'used' | 'denied' | 'expired';
  readonly requester: { readonly kind: Principal['kind']; readonly id: string; readonly keys: readonly string[] };
  readonly tool: string;
  readonly title: string;
  readonly params: JsonObject;
  readonly callHash: string;
  readonly effects: readonly Pick<Effect, 'target' | 'permission' | 'risk'>[];
  /** The program or the steps that it is for; absent where it has neither. */
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

/** The record of a new request. */
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

/** Whose request it is, as `principalKey`. */
export function requesterKey({ requester }: ApprovalRecord): string {
  return principalKey({ kind: requester.kind, id: requester.id, permissions: [] });
}

/**
 * True when the request is for this very call. What a call touches may change between two tries with the same
 * arguments (a group that got a member): people approved only what they were shown.
 */
export function isFor(record: ApprovalRecord, request: ApprovalRequest): boolean {
  const isSameCall = record.tool === request.toolId && record.callHash === request.callHash;
  return isSameCall && requesterKey(record) === principalKey(request.principal) && reach(record.effects) === reach(request.effects);
}

function reach(effects: ApprovalRecord['effects']): string {
  const lines = effects.map(({ risk, permission, target }) => JSON.stringify([risk, permission, target]));
  return [...new Set(lines)].sort().join('\n');
}

/** What a person would sign to decide about the request. */
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

/** The request as people see it. */
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

/** Each device once, by the name and in the room that it has now: the ids of devices begin the targets. */
function devicesOf({ effects, runs }: ApprovalRecord, devices: ViewParts['devices']): ApprovalView['devices'] {
  const targets = [...effects.map(({ target }) => target), ...(runs ? targetsOf(runs) : [])];
  const ids = [...new Set(targets.map((target) => target.split('/', 1)[0] ?? ''))];
  return ids.flatMap((id) => devices.namedDevice(id) ?? []);
}

function targetsOf({ targets, steps = [] }: PlannedCall): readonly string[] {
  return [...targets, ...steps.flatMap(targetsOf)];
}

/** A record as the store gave it back; undefined when it is not whole. Only this program writes there. */
export function readRecord(value: Json): ApprovalRecord | undefined {
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
