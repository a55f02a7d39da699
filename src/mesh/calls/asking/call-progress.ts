import { AtmoError } from '../../../core/errors.ts';
import type { ForwardedCall } from '../../../tools/calls/call-collaborators.ts';
import { isActing } from '../../../tools/definition/tool-definition.ts';
import type { RequestOptions } from '../../link/peer-link.ts';

/** How far a call has come that was given to another hub, as far as this hub can tell. */
export class CallProgress {
  readonly #call: ForwardedCall;
  #isAccepted = false;
  #isLost = false;

  constructor(call: ForwardedCall) {
    this.#call = call;
  }

  get listeners(): Pick<RequestOptions, 'onAccept' | 'onLost'> {
    return {
      onAccept: () => this.accepted(),
      onLost: () => {
        this.#isLost = true;
      },
    };
  }

  /** It is told, or its result shows, that the call was let through. */
  accepted(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#call.onAccept?.();
  }

  /** The executing hub has let the call through. */
  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** It may have run, and nobody has said how it ended. */
  get isInDoubt(): boolean {
    return this.#isAccepted || this.#isLost;
  }

  /** Running it twice would do something twice. */
  get isActing(): boolean {
    return isActing(this.#call.tool.definition);
  }

  /** What is honest when nobody can say any more what became of it. */
  unknownOutcome(): AtmoError {
    const { id } = this.#call.tool;
    if (!this.isActing) return new AtmoError('TIMEOUT', `The hub that runs ${id} did not answer in time`);
    return new AtmoError(
      'OUTCOME_UNKNOWN',
      `${id} was given to another hub that does not answer any more; read the state before calling it again`,
    );
  }
}
