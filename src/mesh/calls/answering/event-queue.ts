import { AtmoError } from '../../../core/errors.ts';
import type { HubEvent } from '../../../core/events.ts';

/** Events that wait for a slow listener. */
const MAX_WAITING = 256;

/** Events on their way to one listener, in order. One that is too slow loses the subscription, not single events unnoticed. */
export class EventQueue implements AsyncIterable<HubEvent> {
  readonly #waiting: HubEvent[] = [];
  #wake = () => {};
  #end: { readonly error?: AtmoError } | undefined;

  add(event: HubEvent): void {
    if (this.#end) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.end(new AtmoError('RESOURCE_EXCEEDED', `The listener is ${MAX_WAITING} events behind; subscribe again`));
      return;
    }
    this.#waiting.push(event);
    this.#wake();
  }

  /** No more events; whoever reads them gets the error after those that wait, where there is one. */
  end(error?: AtmoError): void {
    this.#end ??= error ? { error } : {};
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<HubEvent> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) yield event;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
