import type { AuditSink } from '../../core/audit-sink.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import type { Logger } from '../../core/logger.ts';
import type { TrustedTime } from '../../core/trusted-time.ts';

interface NoteCollaborators {
  readonly events: EventBus;
  readonly audit: AuditSink;
  readonly time: TrustedTime;
  readonly logger: Logger;
}

/** What may happen without a call on this hub: a guest redeems an invite, another hub revokes a member, a certificate is renewed. */
const WITHOUT_A_CALL: ReadonlySet<unknown> = new Set(['joined', 'revoked', 'renewed']);

/** Writes changes of the membership into the journal as notes; the answer stops it. */
export function keepMembershipNotes(parts: NoteCollaborators): () => void {
  return parts.events.listen((event) => {
    if (event.type === 'mesh.changed' && WITHOUT_A_CALL.has(event.data.change)) void write(parts, event);
  });
}

/** It has happened already: a journal that cannot be written changes nothing of it. */
async function write({ audit, time, logger }: NoteCollaborators, { subject, data }: HubEvent): Promise<void> {
  const event = `mesh.${String(data.change)}`;
  try {
    await audit.record({ kind: 'note', event, atMs: time.now(), data: { mesh_id: subject, ...data } });
  } catch (thrown) {
    logger.error('audit.note_failed', { note: event, problem: toAtmoError(thrown).message });
  }
}
