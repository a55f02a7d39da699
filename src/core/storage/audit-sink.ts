import type { Effect, Principal } from '../auth/principal.ts';
import type { DeviceState } from '../devices/device-model.ts';
import { type ErrorCode, toAtmoError } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Logger } from '../logger.ts';
import type { RunContext } from './audit-log.ts';

interface AuditBase {
  readonly requestId: string;
  readonly traceId: string;
  readonly principal: Principal;
  readonly toolId: string;
  /** Id of the other hub that runs or ran the call; absent if this hub runs it. */
  readonly nodeId?: string;
  /** Time of the entry, milliseconds since 1970. */
  readonly atMs: number;
}

/** Audit row that is written before a call runs. */
export interface AuditIntent extends AuditBase {
  readonly kind: 'intent';
  /** SHA-256 (hex) over the tool's id and the canonical arguments. Each secret is first replaced by its seal (a keyed hash). */
  readonly argumentsHash: string;
  /** Parameters with masked secrets; absent if the tool's declaration forbids logging them or they are too long. */
  readonly params?: JsonObject;
  readonly effects: readonly Effect[];
  /** Raw values that the effects may change, as they were before the call; absent if the call changes no device. Undo needs them. */
  readonly before?: DeviceState;
  /** Why the call was permitted: the people who approved it, and the rule that decided. */
  readonly decision: { readonly approvedBy?: readonly string[]; readonly approvalId?: string; readonly rule?: string };
  readonly run: RunContext;
  /** True for a dangerous call: it must not run before the row is on the disk. */
  readonly mustSync: boolean;
}

/** Audit row that is written when a call has ended. `outcome`: the tool was started. `refusal`: the call was refused before that. */
export interface AuditOutcome extends AuditBase {
  readonly kind: 'outcome' | 'refusal';
  readonly error?: ErrorCode;
  readonly message?: string;
  /** BLAKE3 hash (hex) over the result or error in canonical JSON (RFC 8785). */
  readonly responseHash?: string;
  /** Result with masked secrets; absent if the tool's declaration forbids logging it or it is too long. */
  readonly result?: Json;
  /** The values of the intent's `before`, as the devices reported them when the call had ended. */
  readonly after?: DeviceState;
  readonly durationMs: number;
}

/** Audit row about an event of access control other than a call, such as a refused token, a new approval or a changed clock. */
export interface AuditNote {
  readonly kind: 'note';
  /** Name of the event, such as `token.refused`, `approval.given` or `rules.loaded`. */
  readonly event: string;
  readonly atMs: number;
  /** Id of the principal who acted or was affected, if known. */
  readonly principalId?: string;
  readonly traceId?: string;
  /** Data of the event. They never contain secrets, tokens or keys. */
  readonly data: JsonObject;
}

/** Port: writes the audit log. */
export interface AuditSink {
  /**
   * Writes a row. Resolves when the row survives a crash of the process or, with `mustSync`, also a power cut. Rejects with STORAGE_FAILED
   * or SHUTTING_DOWN. A dangerous call must not run if its intent was not written.
   */
  record(entry: AuditIntent | AuditOutcome | AuditNote): Promise<void>;
}

/** Writes a row about an event that has already happened. If the write fails, only logs the failure. */
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
