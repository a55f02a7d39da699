import type { Effect } from '../auth/authorizer.ts';
import type { Principal } from '../auth/principal.ts';
import { type ErrorCode, toAtmoError } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Logger } from '../logger.ts';
import type { RunContext } from './audit-log.ts';

interface AuditBase {
  readonly requestId: string;
  readonly traceId: string;
  readonly principal: Principal;
  readonly toolId: string;
  /** The other hub that runs or ran the call; absent when it is this one. */
  readonly nodeId?: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Written before a call runs. */
export interface AuditIntent extends AuditBase {
  readonly kind: 'intent';
  /** SHA-256, hex, over tool and canonical arguments; secrets count sealed. */
  readonly argumentsHash: string;
  /** With secrets masked; absent where the tool's declaration forbids it. */
  readonly params?: JsonObject;
  readonly effects: readonly Effect[];
  /** Why it was allowed: names of the approvers, the rule that decided. */
  readonly decision: { readonly approvedBy?: readonly string[]; readonly approvalId?: string; readonly rule?: string };
  readonly run: RunContext;
  /** Dangerous calls wait until the row is on the disk. */
  readonly mustSync: boolean;
}

/** Written after a call ran (ToolResponse), or when it was refused (ToolDenied). */
export interface AuditOutcome extends AuditBase {
  readonly kind: 'outcome' | 'refusal';
  readonly error?: ErrorCode;
  /** What went wrong, as the caller was told it. */
  readonly message?: string;
  /** BLAKE3, hex, of the RFC 8785 form of result or error. */
  readonly responseHash?: string;
  /** With secrets masked; absent where the tool's declaration forbids it or it is too long. */
  readonly result?: Json;
  readonly durationMs: number;
}

/** Something about access that was no call of a tool: a refused token, a new approval, a changed clock. */
export interface AuditNote {
  readonly kind: 'note';
  /** Such as `token.refused`, `approval.given`, `rules.loaded`. */
  readonly event: string;
  readonly atMs: number;
  /** Who it was about or who did it, where that is known. */
  readonly principalId?: string;
  readonly traceId?: string;
  /** Never secrets, tokens, keys. */
  readonly data: JsonObject;
}

/** Port: the journal of calls. */
export interface AuditSink {
  /**
   * Resolves when no end of the process can take the row back, for `mustSync` no power cut. STORAGE_FAILED, SHUTTING_DOWN: a failed
   * dangerous intent stops the call.
   */
  record(entry: AuditIntent | AuditOutcome | AuditNote): Promise<void>;
}

interface NoteServices {
  readonly audit: AuditSink;
  readonly logger: Logger;
}

/** Writes a note about what has happened already: a journal that cannot be written changes nothing of it, and is told in the log. */
export async function recordNote({ audit, logger }: NoteServices, note: Omit<AuditNote, 'kind'>): Promise<void> {
  try {
    await audit.record({ kind: 'note', ...note });
  } catch (thrown) {
    const { event, traceId } = note;
    const trace = traceId === undefined ? {} : { trace_id: traceId };
    logger.error('audit.note_failed', { note: event, problem: toAtmoError(thrown).message, ...trace });
  }
}
