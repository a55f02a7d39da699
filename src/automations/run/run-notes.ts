import type { ErrorBody, ErrorCode } from '../../core/errors.ts';
import type { ApprovalDecision } from './people-answers.ts';

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
export interface WaitingStep {
  readonly step: string;
  readonly tool: string;
  readonly awaits: 'approval' | 'answer';
}

type StepPlace = Omit<WaitingStep, 'awaits'>;

/** What is noted of the steps of a run, for people who ask why: which failed last, which waits for people, what was decided about an approval. */
export class RunNotes {
  #failed: FailedStep | undefined;
  #decision: (StepPlace & { readonly decision: ApprovalDecision }) | undefined;
  readonly #waiting = new Set<WaitingStep>();

  /** The step that failed last. */
  get failed(): FailedStep | undefined {
    return this.#failed;
  }

  /** The latest decision about an approval. */
  get decision(): (StepPlace & { readonly decision: ApprovalDecision }) | undefined {
    return this.#decision;
  }

  /** A step that waits for an approval or for the answer to its question now. */
  get waiting(): WaitingStep | undefined {
    return [...this.#waiting].at(-1);
  }

  noteFailed(step: FailedStep): void {
    this.#failed = step;
  }

  /** Notes that a step waits for an approval, and what was decided. */
  async awaitDecision(step: StepPlace, decided: Promise<ApprovalDecision>): Promise<ApprovalDecision> {
    const decision = await this.awaitPeople({ ...step, awaits: 'approval' }, decided);
    this.#decision = { ...step, decision };
    return decision;
  }

  /** Notes that a step waits for people until a promise is settled. */
  async awaitPeople<Answer>(step: WaitingStep, answered: Promise<Answer>): Promise<Answer> {
    this.#waiting.add(step);
    try {
      return await answered;
    } finally {
      this.#waiting.delete(step);
    }
  }
}
