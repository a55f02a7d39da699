/**
 * What is wrong with the hub itself, one line for each subject: `/healthz`, `atmo doctor` and the page show it. Everyone may read
 * it, so a line names files and what to do, and never devices, people or secrets.
 */
export class HubProblems {
  readonly #lines = new Map<string, string>();

  /** Replaces what was said of the subject before. */
  raise(subject: string, line: string): void {
    this.#lines.set(subject, line);
  }

  clear(subject: string): void {
    this.#lines.delete(subject);
  }

  list(): readonly string[] {
    return [...this.#lines.values()];
  }
}
