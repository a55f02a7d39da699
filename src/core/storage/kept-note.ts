import { toAtmoError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { AuditNote, AuditSink } from './audit-sink.ts';

interface NoteKeepers {
  readonly audit: AuditSink;
  readonly logger: Logger;
}

/** Writes a note about what has happened already: a journal that cannot be written changes nothing of it, and is told in the log. */
export async function keepNote({ audit, logger }: NoteKeepers, note: Omit<AuditNote, 'kind'>): Promise<void> {
  try {
    await audit.record({ kind: 'note', ...note });
  } catch (thrown) {
    const { event, traceId } = note;
    const trace = traceId === undefined ? {} : { trace_id: traceId };
    logger.error('audit.note_failed', { note: event, problem: toAtmoError(thrown).message, ...trace });
  }
}
