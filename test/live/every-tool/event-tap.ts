import { sseMessages } from '../../../src/cli/hub/answer-body.ts';
import type { HubEvent } from '../../../src/core/events.ts';
import type { RunningHub } from '../running-hub.ts';

/** Listens to the hub's event stream and keeps everything it tells. */
export class EventTap implements AsyncDisposable {
  readonly events: HubEvent[] = [];
  readonly #stop: AbortController;
  #done: Promise<void> = Promise.resolve();

  private constructor(stop: AbortController) {
    this.#stop = stop;
  }

  static async open(hub: RunningHub): Promise<EventTap> {
    const stop = new AbortController();
    const response = await hub.request('/api/v1/events', { signal: stop.signal });
    const tap = new EventTap(stop);
    tap.#done = tap.#read(response.body).catch(() => undefined);
    return tap;
  }

  of(type: HubEvent['type'], subject: string): readonly HubEvent[] {
    return this.events.filter((event) => event.type === type && event.subject === subject);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #read(body: ReadableStream<Uint8Array> | null): Promise<void> {
    for await (const { data } of sseMessages(body)) this.events.push(JSON.parse(data) as HubEvent);
  }
}
