import type { Effect, Principal } from '../auth/principal.ts';
import { type ErrorCode, toAtmoError } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Logger } from '../logger.ts';
import type { RunContext } from './audit-log.ts';

interface AuditBase {
  readonly requestId: string;
  readonly traceId: string;
  readonly principal: Principal;
  readonly toolId: string;
  /** The other hub that runs or ran the call; absent for this hub. */
  readonly nodeId?: string;
  /** Time of the entry, milliseconds since 1970. */
  readonly atMs: number;
}

/** Row that is written before a call runs. */
export interface AuditIntent extends AuditBase {
  readonly kind: 'intent';
  /** SHA-256 (hex) of the tool and its canonical arguments, in which secrets are replaced by seals. */
  readonly argumentsHash: string;
  /** Parameters with masked secrets; absent if the tool's declaration forbids it. */
  readonly params?: JsonObject;
  readonly effects: readonly Effect[];
  /** Reasons why the call was permitted: the approvers, and the deciding rule. */
  readonly decision: { readonly approvedBy?: readonly string[]; readonly approvalId?: string; readonly rule?: string };
  readonly run: RunContext;
  /** True for a dangerous call, which waits until the row is on the disk. */
  readonly mustSync: boolean;
}

/** Row that is written after a call has run (ToolResponse) or was refused (ToolDenied). */
export interface AuditOutcome extends AuditBase {
  readonly kind: 'outcome' | 'refusal';
  readonly error?: ErrorCode;
  readonly message?: string;
  /** BLAKE3 (hex) of the RFC 8785 form of the result or error. */
  readonly responseHash?: string;
  /** Result with masked secrets; absent if the tool's declaration forbids it or the result is too long. */
  readonly result?: Json;
  readonly durationMs: number;
}

/** Row about an event of access control that is no call: a refused token, a new approval, a changed clock. */
export interface AuditNote {
  readonly kind: 'note';
  /** Name of the event, such as `token.refused`, `approval.given` or `rules.loaded`. */
  readonly event: string;
  readonly atMs: number;
  /** The principal who acted or is affected, if known. */
  readonly principalId?: string;
  readonly traceId?: string;
  /** Data of the event; never secrets, tokens or keys. */
  readonly data: JsonObject;
}

/** Port: writes the audit log. */
export interface AuditSink {
  /**
   * Resolves when the row is safe from a crash of the process; with `mustSync`, also from a power cut. Rejects with STORAGE_FAILED or
   * SHUTTING_DOWN. A dangerous call does not run if its intent cannot be written.
   */
  record(entry: AuditIntent | AuditOutcome | AuditNote): Promise<void>;
}

/** Writes a row about an event that has already happened; a failed write is only logged. */
export async function recordNote(
  { audit, logger }: { readonly audit: AuditSink; readonly logger: Logger },
  note: Omit<AuditNote, 'kind'>,
): Promise<void> {
  try {
    await audit.record({ kind: 'note', ...note });
  } catch (thrown) {
    const { event, traceId } = note;
    const trace = traceId === undefined ? {} : { trace_id: traceId };
    logger.error('audit.note_failed', { note: event, problem: toAtmoError(thrown).message, ...trace });
  }
}
