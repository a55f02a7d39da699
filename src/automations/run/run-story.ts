import type { ErrorCode } from '../../core/errors.ts';
import type { ApprovalAnswer } from './approval-decisions.ts';

/** A step that failed. `step` is its place, such as `1/options/0/2`. */
export interface FailedStep {
  readonly step: string;
  readonly tool: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/** A step that waits for people to approve it. */
export interface AskingStep {
  readonly step: string;
  readonly tool: string;
}

/** What became of the steps of a run, for people who ask why: which step failed last, which waits for an approval, what was answered. */
export class RunStory {
  #failed: FailedStep | undefined;
  #answer: (AskingStep & { readonly answer: ApprovalAnswer }) | undefined;
  readonly #asking = new Set<AskingStep>();

  /** The step that failed last. */
  get failed(): FailedStep | undefined {
    return this.#failed;
  }

  /** The latest answer to an approval. */
  get answer(): (AskingStep & { readonly answer: ApprovalAnswer }) | undefined {
    return this.#answer;
  }

  /** A step that waits for an approval now. */
  get asking(): AskingStep | undefined {
    return [...this.#asking].at(-1);
  }

  noteFailed(step: FailedStep): void {
    this.#failed = step;
  }

  /** Notes that a step waits for an approval, and what was answered. */
  async asked(step: AskingStep, answered: Promise<ApprovalAnswer>): Promise<ApprovalAnswer> {
    this.#asking.add(step);
    try {
      const answer = await answered;
      this.#answer = { ...step, answer };
      return answer;
    } finally {
      this.#asking.delete(step);
    }
  }
}
