import { type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { CheckResult } from './check-result.ts';

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
