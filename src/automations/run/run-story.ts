import type { ErrorBody, ErrorCode } from '../../core/errors.ts';
import type { ApprovalAnswer } from './people-answers.ts';

/** The end of a run; `error` is the last error of its steps. */
export interface RunOutcome {
  readonly isStopped: boolean;
  readonly flow: Flow;
  readonly error?: Pick<ErrorBody, 'code' | 'message'>;
}

/** What follows a step: the next one, or the end of the run, which is a failure or not. */
export type Flow = 'continue' | 'end' | 'fail';

/** A step that failed. `step` is its place, such as `1/options/0/2`. */
export interface FailedStep {
  readonly step: string;
  readonly tool: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/** A step that waits for people. */
export interface AskingStep {
  readonly step: string;
  readonly tool: string;
  readonly awaits: 'approval' | 'answer';
}

type ApprovedStep = Omit<AskingStep, 'awaits'>;

/** What became of the steps of a run, for people who ask why: which step failed last, which waits for an approval, what was answered. */
export class RunStory {
  #failed: FailedStep | undefined;
  #answer: (ApprovedStep & { readonly answer: ApprovalAnswer }) | undefined;
  readonly #asking = new Set<AskingStep>();

  /** The step that failed last. */
  get failed(): FailedStep | undefined {
    return this.#failed;
  }

  /** The latest answer to an approval. */
  get answer(): (ApprovedStep & { readonly answer: ApprovalAnswer }) | undefined {
    return this.#answer;
  }

  /** A step that waits for an approval or for the answer to its question now. */
  get asking(): AskingStep | undefined {
    return [...this.#asking].at(-1);
  }

  noteFailed(step: FailedStep): void {
    this.#failed = step;
  }

  /** Notes that a step waits for an approval, and what was answered. */
  async asked(step: ApprovedStep, answered: Promise<ApprovalAnswer>): Promise<ApprovalAnswer> {
    const answer = await this.awaited({ ...step, awaits: 'approval' }, answered);
    this.#answer = { ...step, answer };
    return answer;
  }

  /** Notes that a step waits for people until a promise is settled. */
  async awaited<Answer>(step: AskingStep, answered: Promise<Answer>): Promise<Answer> {
    this.#asking.add(step);
    try {
      return await answered;
    } finally {
      this.#asking.delete(step);
    }
  }
}
