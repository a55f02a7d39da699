/** What came of reading the configuration again: keys of the file, with dots. */
export interface ConfigReload {
  /** They changed, and hold from now on. */
  readonly applied: readonly string[];
  /** They differ from what the hub runs with, and hold after its next start. */
  readonly needsRestart: readonly string[];
}
