import type { Effect } from './authorizer.ts';
import type { ErrorCode } from './errors.ts';
import type { Principal } from './principal.ts';

interface AuditBase {
  readonly requestId: string;
  readonly traceId: string;
  readonly principal: Principal;
  readonly toolId: string;
  readonly atMs: number;
}

/** Written before a call runs. */
export interface AuditIntent extends AuditBase {
  readonly kind: 'intent';
  readonly argumentsHash: string;
  readonly effects: readonly Effect[];
  /** Dangerous calls wait until the row is on the disk. */
  readonly mustSync: boolean;
}

/** Written after a call ran, or when it was refused. */
export interface AuditOutcome extends AuditBase {
  readonly kind: 'outcome' | 'refusal';
  readonly error?: ErrorCode;
  readonly responseHash?: string;
  readonly durationMs: number;
}

/** Port: the journal of calls. A failed `record` of a dangerous intent stops the call. */
export interface AuditSink {
  record(entry: AuditIntent | AuditOutcome): Promise<void>;
}
