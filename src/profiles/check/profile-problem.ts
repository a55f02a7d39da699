/** One mistake in a profile file. */
export interface ProfileProblem {
  readonly file: string;
  /** JSON pointer within the file. */
  readonly pointer: string;
  readonly problem: string;
  readonly fix: string;
}

/** One line for people: file, place, what, and what to do. */
export function formatProblem(problem: ProfileProblem): string {
  return `${problem.file}${problem.pointer === '' ? '' : ` at ${problem.pointer}`}: ${problem.problem}\n    fix: ${problem.fix}`;
}
