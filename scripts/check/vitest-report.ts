import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { failure, type Outcome, sum } from './tally.ts';

const ROOT = new URL('../..', import.meta.url).pathname;

/** The part of vitest's JSON report that counts. */
export interface VitestReport {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Since 1970. */
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

const REASON_LENGTH = 400;

/** The outcome of one vitest run from its JSON report; a file that did not load and a run without tests are failures. */
export function outcomeOf(title: string, report: VitestReport): Outcome {
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  if (tests.length === 0) return failure(`${title}: no test ran`);
  const count = (...statuses: string[]) => tests.filter((test) => statuses.includes(test.status)).length;
  const passed = count('passed');
  const failed = count('failed');
  const skippedNotes = tests
    .filter((test) => test.status !== 'passed' && test.status !== 'failed')
    .map((test) => `skipped: ${test.fullName.trim()}`);
  const failedNotes = tests
    .filter((test) => test.status === 'failed')
    .map(({ fullName, failureMessages }) => `failed: ${title}: ${fullName.trim()}: ${reason(failureMessages?.at(-1))}`);
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const brokenFiles = broken.map((file) => failure(`${file.name} did not run to its end`));
  // Errors outside of any test, such as an unhandled rejection, fail the run without failing a test.
  const stray = !report.success && failed === 0 && broken.length === 0 ? [failure(`${title}: an error outside of the tests`)] : [];
  const extra = [...brokenFiles, ...stray];
  return {
    tally: sum([{ passed, failed, skipped: skippedNotes.length }, ...extra.map((outcome) => outcome.tally)]),
    notes: [...skippedNotes, ...failedNotes, ...extra.flatMap((outcome) => outcome.notes)],
    times: report.testResults.map((file) => ({ file: relative(ROOT, file.name), seconds: (file.endTime - file.startTime) / 1000 })),
  };
}

/** The outcome of each file of a run. A file that the report lacks has failed; so has every file after an error outside of the tests. */
export function outcomesOf(files: readonly string[], report: VitestReport): readonly Outcome[] {
  const hasStrayError = !report.success && report.testResults.every(({ status }) => status !== 'failed');
  return files.map((file) => {
    const testResults = report.testResults.filter(({ name }) => relative(ROOT, name) === file);
    const success = !hasStrayError && testResults.every(({ status }) => status !== 'failed');
    return outcomeOf(file, { success, testResults });
  });
}

/** Enough to see what went wrong where only the end of the output is kept. */
function reason(message = 'no message'): string {
  const plain = stripVTControlCharacters(message).split(/\n\s+at /, 1)[0] ?? '';
  return plain.replace(/\s+/g, ' ').slice(0, REASON_LENGTH);
}
