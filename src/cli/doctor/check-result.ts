import { type ErrorCode, toAtmoError } from '../../core/errors.ts';

/** The outcome of a check. `advice` names the remedy unless the check is ok. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice?: string;
}

/** One check of the doctor, by its name, with its outcome. */
export interface CheckResult extends Finding {
  readonly check: string;
}

/** Makes the result of a named check. */
export function named(check: string, finding: Finding): CheckResult {
  return { check, ...finding };
}

/** Makes the finding that all is well. */
export function ok(found: string): Finding {
  return { state: 'ok', found };
}

/** Makes a finding that needs attention. */
export function warning(found: string, advice: string): Finding {
  return { state: 'warning', found, advice };
}

/** Makes a finding that something does not work. */
export function failed(found: string, advice: string): Finding {
  return { state: 'failed', found, advice };
}

/** Checks under one heading. */
export interface CheckSection {
  readonly title: string;
  readonly checks: readonly CheckResult[];
}

/** The errors of a hub for a token without the permission. */
const NOT_PERMITTED: ReadonlySet<ErrorCode> = new Set(['TOOL_NOT_FOUND', 'PERMISSION_DENIED']);

/** Runs a check; an error of the check is a finding too. */
export async function guardedCheck(check: string, run: () => Promise<Finding>): Promise<CheckResult> {
  try {
    return named(check, await run());
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    if (NOT_PERMITTED.has(code)) return named(check, warning('this token may not ask', "ask with the owner's token"));
    return named(check, failed(`${code}: ${message}`, 'see the checks above'));
  }
}

/** The ports that the hub listens on: TCP, on this machine. */
export interface HubPorts {
  /** Absent where the hub is on another machine. */
  readonly http?: number;
  readonly mesh: number;
  /** False where the hub is in no mesh, and so does not listen on its port; absent where that is unknown. */
  readonly isInMesh?: boolean;
  readonly isHubThere: boolean;
}
