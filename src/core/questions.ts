import type { MessageToPerson } from './notices.ts';

/** What an automation or agent asks. */
export interface QuestionRequest extends Omit<MessageToPerson, 'urgency'> {
  /** The answers from which the person chooses. */
  readonly answers: readonly string[];
  readonly timeoutMs: number;
}

/** A question of an automation or agent to persons of the household. Its answer is a fact: it approves nothing and gives no permission. */
export interface Question {
  /** 32 hex digits; the id of its notice too. */
  readonly id: string;
  readonly agentId: string;
  /** Names of the persons who may answer. The first answer counts. */
  readonly persons: readonly string[];
  readonly text: string;
  readonly answers: readonly string[];
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Milliseconds since 1970. After this time nobody can answer. */
  readonly untilMs: number;
  /** The answer, and the name of the person who gave it. */
  readonly answered?: { readonly answer: string; readonly by: string; readonly atMs: number };
  /** When it ended without an answer, milliseconds since 1970. */
  readonly endedMs?: number;
}

/** Port: the questions of automations and agents. They are on the disk, so that an answer after a restart of the hub counts. */
export interface Questions {
  /** Asks. Throws NOT_FOUND (nobody of this name gets notices), RATE_LIMITED (too many within an hour) or STORAGE_FAILED. */
  ask(request: QuestionRequest): Question;
  /** Returns a question that is open or ended within the last week. */
  get(id: string): Question | undefined;
  /** Answers. Throws NOT_FOUND (no question to this person), CONFLICT (it has ended), VALIDATION_ERROR (another answer) or STORAGE_FAILED. */
  answer(id: string, answer: string, person: string): Question;
  /** Ends a question without an answer, unless it has ended. Returns the question as it then is. */
  end(id: string): Question | undefined;
  /** Calls back once when the question ends, with or without an answer. The returned function cancels it. */
  onEnd(id: string, callback: () => void): () => void;
}
