import { type ErrorCode, toAtmoError } from '../../core/errors.ts';

/** One finding of the doctor. `advice` says what to do unless the check is ok. */
export interface CheckResult {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice?: string;
}

/** What was looked at together. */
export interface CheckSection {
  readonly title: string;
  readonly checks: readonly CheckResult[];
}

/** What a hub answers to a token that may not ask. */
const NOT_FOR_US: ReadonlySet<ErrorCode> = new Set(['TOOL_NOT_FOUND', 'PERMISSION_DENIED']);

/** A check whose failure to run is a finding too. */
export async function guardedCheck(check: string, run: () => Promise<Omit<CheckResult, 'check'>>): Promise<CheckResult> {
  try {
    return { check, ...(await run()) };
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    if (NOT_FOR_US.has(code)) return { check, state: 'warning', found: 'this token may not ask', advice: "ask with the owner's token" };
    return { check, state: 'failed', found: `${code}: ${message}`, advice: 'see the checks above' };
  }
}

/** The ports that the hub listens on: TCP, on this machine. */
export interface HubPorts {
  /** Absent where the hub is on another machine. */
  readonly http?: number;
  readonly mesh: number;
  /** False where the hub is in no mesh, and so listens on no port for it; absent where nobody can say. */
  readonly isInMesh?: boolean;
  readonly isHubThere: boolean;
}
