import type { NamedDevice } from '../devices/action-descriptions.ts';
import type { JsonObject } from '../json.ts';
import type { Principal } from './principal.ts';

/** An answer to a request for approval that holds on: the same call for an hour, or a refusal of devices until it is removed. */
export interface StandingAnswerView {
  /** Id of the request to which the person gave the answer. */
  readonly approval_id: string;
  readonly answer: 'approve_for_hour' | 'refuse';
  /** The agent. A refusal holds for the agents that it made, too. */
  readonly agent_id: string;
  readonly person: string;
  readonly key_id: string;
  readonly since: string;
  /** End of the hour; absent for a refusal. */
  readonly until?: string;
  /** The allowed call, with secrets masked. For a refusal, the call to which the person gave the answer. */
  readonly tool: string;
  readonly title: string;
  readonly params: JsonObject;
  /** For a refusal, the refused devices. Otherwise, the devices of the allowed call. */
  readonly devices: readonly NamedDevice[];
  /** The answer in one sentence. */
  readonly summary: string;
}

/** Port: lists and removes the answers that hold on. */
export interface StandingAnswers {
  /** Returns the answers that hold now, newest first. */
  list(): readonly StandingAnswerView[];
  /**
   * Ends an answer. Rejects with NOT_FOUND if no such answer holds, and with PERMISSION_DENIED if an agent would lift a refusal that holds
   * for itself.
   */
  remove(approvalId: string, by: Principal): Promise<StandingAnswerView>;
}
