import { type ApprovalRequest, type ApprovalStatus, callText, type DeviceRefusal } from '../../core/auth/approvals.ts';
import { type Effect, isSelfOrDescendant, type Principal } from '../../core/auth/principal.ts';
import type { StandingAnswers, StandingAnswerView } from '../../core/auth/standing-answers.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { deviceText, readsIn } from '../../core/devices/action-descriptions.ts';
import type { DeviceFacts } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import { changedDevices, deviceIdOf } from './approval-kinds.ts';
import type { NewAnswer } from './approval-notifier.ts';
import { type ApprovalRecord, devicesOf, type GivenAnswer, isOwnRequest, matchesRequest, type Requester } from './approval-record.ts';
import type { ApproverRegistry, EnrolledKey } from './approver-registry.ts';
import { Lifetimes } from './lifetimes.ts';

const SPACE = 'approvals.standing';
const HOUR_MS = 3_600_000;
/** Time for which an answer that has ended is stored, in milliseconds. It is longer than the store keeps the request. */
const KEPT_ENDED_MS = 50 * HOUR_MS;
const MAX_ANSWERS = 200;

/** An answer as stored: the answered call, the person's signed answer, and what the signature covers. */
interface StandingRecord extends Pick<ApprovalRecord, 'tool' | 'title' | 'params' | 'callHash' | 'effects' | 'hub' | 'newestEnrolment'> {
  /** Id of the request, and of the answer. */
  readonly id: string;
  readonly answer: StandingAnswerView['answer'];
  readonly requester: Requester;
  /** Devices that are refused to the agent; empty for an allowed call. */
  readonly devices: readonly string[];
  /** The signed answer, kept as evidence. Its statement has `expiresMs` of the request. */
  readonly given: readonly [GivenAnswer];
  readonly expiresMs: number;
  /** End of the hour; absent for a refusal. */
  readonly untilMs?: number;
  readonly removedBy?: string;
}

type Allowance = Extract<ApprovalStatus, { state: 'approved' }>;

interface StandingServices extends Pick<HubContext, 'clock' | 'store' | 'audit' | 'events' | 'logger'> {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly approvers: Pick<ApproverRegistry, 'list'>;
  readonly devices: Pick<DeviceFacts, 'namedDevice'>;
}

/**
 * Stores the answers of people that hold on: the same call again for an hour, and refused devices. An allowed call is the same only if the
 * agent, its token, the arguments and all definitions are the same. Answers of another hub never count.
 */
export class StandingAnswerStore implements StandingAnswers {
  readonly #services: StandingServices;
  readonly #hubId: string;
  readonly #records = new Map<string, StandingRecord>();
  readonly #lifetimes: Lifetimes;

  constructor(services: StandingServices, { hubId }: { readonly hubId: string }) {
    this.#services = services;
    this.#hubId = hubId;
    this.#lifetimes = new Lifetimes(services);
  }

  /**
   * Loads the answers. Also stores those whose request was decided by a process that ended before it stored the answer. An answer that was
   * removed stays removed, since the store keeps it longer than its request.
   */
  load(requests: readonly ApprovalRecord[]): void {
    for (const { value } of this.#services.store.entries(SPACE)) {
      const record = readRecord(value);
      if (record) this.#remember(record);
    }
    for (const request of requests) {
      const answers = [...request.given, ...(request.denial ? [request.denial] : [])];
      for (const given of answers) {
        const record = recordOf(request, given, this.#services.devices);
        if (record && !this.#records.has(request.id)) this.#save(record);
      }
    }
  }

  /** Returns whether the request was approved for an hour and somebody removed that. Nothing may run by its approval any more. */
  isHourRemoved(approvalId: string): boolean {
    const record = this.#records.get(approvalId);
    return record?.answer === 'approve_for_hour' && record.removedBy !== undefined;
  }

  /** Forgets the answers that have ended, except hours that were removed and would still run. Throws RESOURCE_EXCEEDED if too many hold. Called before a decision is stored. */
  makeRoom(): void {
    const active = new Set(this.#active());
    for (const [id, record] of this.#records) {
      const wouldHold = this.isHourRemoved(id) && this.#lifetimes.remainingMs(id) > 0;
      if (!active.has(record) && !wouldHold) this.#records.delete(id);
    }
    if (active.size < MAX_ANSWERS) return;
    throw new AtmoError('RESOURCE_EXCEEDED', `${MAX_ANSWERS} answers hold already; remove some with "atmo approvals remove ID"`);
  }

  /** Stores an answer that holds on, before the person is told that it counts. Does nothing for any other answer. */
  async keep(request: ApprovalRecord, given: NewAnswer): Promise<void> {
    const record = recordOf(request, given, this.#services.devices);
    if (!record) return;
    this.#save(record);
    await this.#note('approval.standing', record, given.person, { answer: record.answer, devices: [...record.devices] });
  }

  /** Returns the approval of a call that a person allowed for an hour; undefined if there is none. */
  find(request: ApprovalRequest): Allowance | undefined {
    const record = this.#allowing(request);
    return record && { state: 'approved', approvalId: record.id, by: [record.given[0].person] };
  }

  /** Returns the person who allowed a call for an hour that is not over; nobody if it is, or if the person's key no longer counts. */
  allowedBy(approvalId: string, ownKeys: readonly string[] = []): readonly string[] {
    const allowing = this.#active().filter(({ id, answer }) => id === approvalId && answer === 'approve_for_hour');
    return allowing.filter((record) => this.#isCounted(record, ownKeys)).map(({ given: [{ person }] }) => person);
  }

  /** Records in the audit log that a call ran because a person allowed it for an hour. */
  async noteUse({ principal, traceId }: ApprovalRequest, { approvalId, by }: Allowance): Promise<void> {
    const record = this.#records.get(approvalId);
    if (record) await this.#note('approval.standing_used', record, principal.id, { approved_by: [...by], trace_id: traceId });
  }

  refusalOf(principal: Principal, effects: readonly Effect[]): DeviceRefusal | undefined {
    // Other answers name no devices.
    const refusals = this.#active().filter((record) => isRefused(record, principal));
    if (refusals.length === 0) return undefined;
    const changed = changedTargets(effects);
    for (const { id, given, devices } of refusals) {
      const device = devices.find((one) => changed.has(one));
      if (device !== undefined) return { id, by: given[0].person, device };
    }
    return undefined;
  }

  list(): readonly StandingAnswerView[] {
    return this.#active()
      .filter((record) => record.answer === 'refuse' || this.#isCounted(record))
      .map((record) => this.#view(record))
      .reverse();
  }

  async remove(approvalId: string, by: Principal): Promise<StandingAnswerView> {
    const record = this.#active().find(({ id }) => id === approvalId);
    if (!record) {
      throw new AtmoError(
        'NOT_FOUND',
        `No answer ${JSON.stringify(approvalId.slice(0, 64))} holds now; "atmo approvals standing" lists them`,
      );
    }
    if (record.answer === 'refuse' && isRefused(record, by)) {
      throw new AtmoError('PERMISSION_DENIED', `${by.id} cannot lift the refusal of its own devices; a person has to remove it`);
    }
    const view = this.#view(record);
    this.#save({ ...record, removedBy: by.id });
    await this.#note('approval.standing_removed', record, by.id, { answer: record.answer });
    this.#services.events.emit('approval.removed', record.id, { approval_id: record.id, agent_id: record.requester.id, tool: record.tool });
    return view;
  }

  #allowing(request: ApprovalRequest): StandingRecord | undefined {
    const { principal, personsNeeded } = request;
    if (personsNeeded > 1) return undefined;
    return this.#active().find(
      (record) =>
        record.answer === 'approve_for_hour' &&
        matchesRequest(record, request) &&
        record.requester.tokenId === principal.token?.id &&
        this.#isCounted(record, principal.token?.keys),
    );
  }

  /** Returns whether the key that gave the answer is still enrolled and is none of the requester's own keys. */
  #isCounted(record: StandingRecord, ownKeys: readonly string[] = []): boolean {
    return countedAnswers({ ...record, needed: 1 }, this.#services.approvers.list(), ownKeys).length > 0;
  }

  /** Returns the answers that were not removed and have not ended, the oldest first. */
  #active(): readonly StandingRecord[] {
    return [...this.#records.values()].filter((record) => {
      if (record.hub !== this.#hubId || record.removedBy !== undefined) return false;
      return record.untilMs === undefined || this.#lifetimes.remainingMs(record.id) > 0;
    });
  }

  #save(record: StandingRecord): void {
    const endMs = record.removedBy === undefined ? record.untilMs : this.#services.time.now();
    const ttl = endMs === undefined ? {} : { ttlMs: Math.max(0, endMs - this.#services.time.now()) + KEPT_ENDED_MS };
    this.#services.store.set(SPACE, record.id, record as unknown as Json, ttl);
    this.#remember(record);
  }

  #remember(record: StandingRecord): void {
    this.#records.set(record.id, record);
    if (record.untilMs === undefined) return;
    this.#lifetimes.watch(record.id, { fromMs: record.given[0].atMs, endsMs: record.untilMs });
  }

  #view(record: StandingRecord): StandingAnswerView {
    const { id, answer, requester, given, untilMs, tool, title, params } = record;
    const names = this.#services.devices;
    const devices =
      answer === 'refuse'
        ? record.devices.map((device) => names.namedDevice(device) ?? { id: device, name: device })
        : devicesOf(record, names);
    const [{ person, keyId, atMs }] = given;
    const facts = { agent_id: requester.id, person, key_id: keyId, since: isoTime(atMs) };
    const until = untilMs === undefined ? {} : { until: isoTime(untilMs) };
    const summary =
      answer === 'refuse'
        ? `${requester.id} may not use ${devices.map((device) => deviceText(device.id, devices)).join(', ')}`
        : `${requester.id} may do this again: ${callText({ effects: record.effects, devices, tool, title, params })}`;
    return { approval_id: id, answer, ...facts, ...until, tool, title, params, devices, summary };
  }

  #note(event: string, { id, requester, tool, callHash }: StandingRecord, principalId: string, data: JsonObject): Promise<void> {
    const facts = { approval_id: id, agent_id: requester.id, tool, call_hash: callHash };
    return recordNote(this.#services, { event, atMs: this.#services.time.now(), principalId, data: { ...facts, ...data } });
  }
}

/**
 * Returns the answers whose keys are still enrolled, are older than the request, and are not among the requester's `ownKeys`. Where several
 * persons must approve, the requester is none of them.
 */
export function countedAnswers(
  record: Pick<ApprovalRecord, 'given' | 'newestEnrolment' | 'needed' | 'requester'>,
  keys: readonly EnrolledKey[],
  ownKeys: readonly string[],
): readonly GivenAnswer[] {
  const { given, newestEnrolment, needed } = record;
  const isValid = ({ serial, key }: EnrolledKey) => serial <= newestEnrolment && !ownKeys.includes(key);
  const valid = new Set(keys.filter(isValid).map(({ keyId }) => keyId));
  return given.filter(({ keyId, person }) => valid.has(keyId) && (needed === 1 || !isOwnRequest(record, person)));
}

/** Returns the record of an answer that holds on; undefined for any other answer. */
function recordOf(request: ApprovalRecord, given: GivenAnswer, devices: StandingServices['devices']): StandingRecord | undefined {
  const { id, requester, tool, title, params, callHash, effects, hub, newestEnrolment, expiresMs } = request;
  const { answer } = given;
  if (answer !== 'approve_for_hour' && answer !== 'refuse') return undefined;
  const isRefusal = answer === 'refuse';
  return {
    id,
    answer,
    requester,
    tool,
    title,
    params,
    callHash,
    effects,
    hub,
    newestEnrolment,
    expiresMs,
    given: [given],
    devices: isRefusal ? changedDevices(effects, devices) : [],
    ...(!isRefusal && { untilMs: given.atMs + HOUR_MS }),
  };
}

/** Returns whether a refusal holds for the principal: the agent itself, or an agent that it made. */
function isRefused({ requester }: StandingRecord, { kind, id }: Principal): boolean {
  return kind === requester.kind && isSelfOrDescendant(id, requester.id);
}

/** Returns the ids of the devices, or the first segments of other targets, that effects change. */
function changedTargets(effects: readonly Effect[]): ReadonlySet<string> {
  const reads = readsIn(effects);
  const changing = effects.filter(({ target }) => !reads.has(target));
  return new Set(changing.flatMap(({ target, device }) => [deviceIdOf(target), ...(device === undefined ? [] : [device])]));
}

function readRecord(value: Json): StandingRecord | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.requester)) return undefined;
  const texts = [value.id, value.answer, value.tool, value.callHash, value.hub];
  const lists = [value.given, value.devices, value.effects];
  const isWhole = texts.every((text) => typeof text === 'string') && lists.every(Array.isArray);
  return isWhole ? (value as unknown as StandingRecord) : undefined;
}
