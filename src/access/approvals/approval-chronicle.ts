import type { EventBus } from '../../core/events.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { AuditSink } from '../../core/storage/audit-sink.ts';
import { keepNote } from '../../core/storage/kept-note.ts';
import { isoTime } from '../../core/time/iso-time.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';
import type { ApprovalRecord, GivenApproval } from './approval-record.ts';

/** Whom the chronicle tells. */
export interface ChronicleCollaborators {
  readonly audit: AuditSink;
  readonly events: EventBus;
  readonly logger: Logger;
  readonly time: Pick<TrustedTime, 'now'>;
}

/** Tells the journal and the listeners what becomes of requests. What the call was about stands in the journal's rows of the call. */
export class ApprovalChronicle {
  readonly #collaborators: ChronicleCollaborators;

  constructor(collaborators: ChronicleCollaborators) {
    this.#collaborators = collaborators;
  }

  async requested(record: ApprovalRecord): Promise<void> {
    await this.#note('approval.requested', record, { needed: record.needed, expires_at: isoTime(record.expiresMs) });
    this.#tell('approval.requested', record, { title: record.title, needed: record.needed });
  }

  /** The signature is kept with it, so that it can be shown later who agreed to what. */
  async given(record: ApprovalRecord, { person, keyId, signature }: GivenApproval): Promise<void> {
    const facts = { person, key_id: keyId, given: record.given.length, needed: record.needed };
    await this.#note('approval.given', record, { ...facts, signature });
    const state = record.given.length < record.needed ? 'pending' : 'approved';
    this.#tell('approval.decided', record, { decision: 'approve', state, ...facts });
  }

  async denied(record: ApprovalRecord, { person, keyId, signature }: GivenApproval): Promise<void> {
    await this.#note('approval.denied', record, { person, key_id: keyId, signature });
    this.#tell('approval.decided', record, { decision: 'deny', state: 'denied', person, key_id: keyId });
  }

  used(record: ApprovalRecord): Promise<void> {
    return this.#note('approval.used', record, { approved_by: record.given.map(({ person }) => person) });
  }

  returned(record: ApprovalRecord): Promise<void> {
    return this.#note('approval.returned', record, {});
  }

  async expired(record: ApprovalRecord): Promise<void> {
    await this.#note('approval.expired', record, { given: record.given.length, needed: record.needed });
    this.#tell('approval.decided', record, { state: 'expired' });
  }

  #note(event: string, record: ApprovalRecord, data: JsonObject): Promise<void> {
    const atMs = this.#collaborators.time.now();
    const person = typeof data.person === 'string' ? data.person : record.requester.id;
    const facts = { approval_id: record.id, agent_id: record.requester.id, tool: record.tool, call_hash: record.callHash };
    const { traceId } = record;
    return keepNote(this.#collaborators, { event, atMs, principalId: person, traceId, data: { ...facts, ...data } });
  }

  #tell(type: 'approval.requested' | 'approval.decided', record: ApprovalRecord, data: JsonObject): void {
    const facts = { approval_id: record.id, agent_id: record.requester.id, tool: record.tool };
    this.#collaborators.events.emit(type, record.id, { ...facts, expires_at: isoTime(record.expiresMs), ...data });
  }
}
