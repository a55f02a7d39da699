import type { EventBus } from '../../core/events.ts';
import type { Logger } from '../../core/logger.ts';
import type { AuditSink } from '../../core/storage/audit-sink.ts';
import { keepNote } from '../../core/storage/kept-note.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';

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
  return parts.events.listen(({ type, subject, data }) => {
    if (type !== 'mesh.changed' || !WITHOUT_A_CALL.has(data.change)) return;
    void keepNote(parts, { event: `mesh.${String(data.change)}`, atMs: parts.time.now(), data: { mesh_id: subject, ...data } });
  });
}
