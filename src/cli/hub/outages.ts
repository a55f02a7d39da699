import { toAtmoError } from '../../core/errors.ts';
import type { Output } from '../terminal/output.ts';
import { isInterruption } from './hub-client.ts';

/**
 * The times in which a hub does not answer a command that runs until Ctrl-C. Such a command waits for the hub instead of ending, if the hub
 * has answered before.
 */
export class Outages {
  readonly #output: Pick<Output, 'note'>;
  #hasAnswered = false;
  #isInterrupted = false;

  constructor(output: Pick<Output, 'note'>) {
    this.#output = output;
  }

  /** Notes that a request failed. Throws the error unless it passes by itself. Prints a notice for the first one of an outage. */
  begin(error: unknown): void {
    if (!this.#hasAnswered || !isInterruption(error)) throw error;
    if (!this.#isInterrupted) this.#output.note(`${toAtmoError(error).message}; this goes on as soon as the hub answers`);
    this.#isInterrupted = true;
  }

  /** Notes that the hub answered. */
  end(): void {
    if (this.#isInterrupted) this.#output.note('the hub answers again');
    this.#hasAnswered = true;
    this.#isInterrupted = false;
  }
}
