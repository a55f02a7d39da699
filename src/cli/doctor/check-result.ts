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
