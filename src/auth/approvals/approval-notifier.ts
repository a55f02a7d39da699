import type { ApprovalDecision } from '../../core/auth/approvals.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { JsonObject } from '../../core/json.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import type { ApprovalRecord, GivenAnswer } from './approval-record.ts';

/** The audit log, event bus and logger that receive changes of approvals. */
export interface NotifierServices extends Pick<HubContext, 'logger' | 'events' | 'audit'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/** An answer that this version of the hub received. */
export type NewAnswer = GivenAnswer & { readonly answer: ApprovalDecision };

/** Writes changes of requests to the audit log and emits events, both without the call's parameters. The call's audit rows have them. */
export class ApprovalNotifier {
  readonly #collaborators: NotifierServices;

  constructor(collaborators: NotifierServices) {
    this.#collaborators = collaborators;
  }

  async requested(record: ApprovalRecord): Promise<void> {
    await this.#note('approval.requested', record, { needed: record.needed, expires_at: isoTime(record.expiresMs) });
    this.waits(record);
  }

  /** Emits that a request waits for people: a new one, or one whose approvals are not enough any more. */
  waits(record: ApprovalRecord): void {
    this.#emit('approval.requested', record, { title: record.title, needed: record.needed });
  }

  /** Records a new approval with its signature, as evidence of the person's consent. */
  async given(record: ApprovalRecord, { person, keyId, signature, answer }: NewAnswer): Promise<void> {
    const facts = { person, key_id: keyId, given: record.given.length, needed: record.needed };
    await this.#note('approval.given', record, { ...facts, answer, signature });
    const state = record.given.length < record.needed ? 'pending' : 'approved';
    this.#emit('approval.decided', record, { decision: answer, state, ...facts });
  }

  async denied(record: ApprovalRecord, { person, keyId, signature, answer }: NewAnswer): Promise<void> {
    await this.#note('approval.denied', record, { person, key_id: keyId, answer, signature });
    this.#emit('approval.decided', record, { decision: answer, state: 'denied', person, key_id: keyId });
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

  async withdrawn(record: ApprovalRecord): Promise<void> {
    await this.#note('approval.withdrawn', record, { ...(record.jobId !== undefined && { job_id: record.jobId }) });
    this.#emit('approval.decided', record, { state: 'withdrawn' });
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
