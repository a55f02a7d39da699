/** An invariant that did not hold. `concerns` are texts of the trace that belong to it, such as ids. */
export class BrokenInvariant extends Error {
  readonly invariant: string;
  readonly problem: string;
  readonly concerns: readonly string[];

  constructor(invariant: string, problem: string, concerns: readonly string[]) {
    super(`${invariant}: ${problem}`);
    this.invariant = invariant;
    this.problem = problem;
    this.concerns = concerns;
  }
}
