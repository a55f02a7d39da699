import type { FileTime } from './slowest.ts';

/** How many checks ended how. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What one step of the checks came to; `notes` are said at the end, such as what was skipped and why. */
export interface Outcome {
  readonly tally: Tally;
  readonly notes: readonly string[];
  /** Of each file of tests that ran in it. */
  readonly times?: readonly FileTime[];
}

/** Exit status of scripts/in-netns, the gate and the proof of GPIO for what this machine cannot run. The checks count it as skipped. */
export const NOT_POSSIBLE = 77;

export const PASSED: Outcome = { tally: { passed: 1, failed: 0, skipped: 0 }, notes: [] };

/** One failed check. */
export function failure(note: string): Outcome {
  return { tally: { passed: 0, failed: 1, skipped: 0 }, notes: [`failed: ${note}`] };
}

/** One check that this machine cannot run. */
export function skip(note: string): Outcome {
  return { tally: { passed: 0, failed: 0, skipped: 1 }, notes: [`skipped: ${note}`] };
}

export function sum(tallies: readonly Tally[]): Tally {
  const add = (a: Tally, b: Tally): Tally => ({
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
  });
  return tallies.reduce(add, { passed: 0, failed: 0, skipped: 0 });
}

/** The closing line that machines read. */
export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
