import { toAtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import { repeat } from '../../core/time/repeat.ts';
import type { RemoteEvents, RemoteSubscription } from '../../tools/elsewhere/remote-events.ts';
import { SSE_HEARTBEAT_MS, SSE_RETRY, SSE_STILL_HERE, sseMessage } from '../door/sse.ts';
import { eventFrame, type FeedSink } from './event-feed.ts';

/** What is heard of another hub, and on whose account. */
interface RemoteStreamWish extends Omit<RemoteSubscription, 'signal' | 'onGap'> {
  readonly hub: string;
  readonly account: string;
  isStillValid(): boolean;
}

/** Streams of other hubs' events that pass through this one; each of them judges itself what its listener may hear. */
export class RemoteEventStreams implements AsyncDisposable {
  readonly #events: RemoteEvents;
  readonly #clock: Clock;
  readonly #open = new Map<AbortController, string>();

  constructor({ events, clock }: { readonly events: RemoteEvents; readonly clock: Clock }) {
    this.#events = events;
    this.#clock = clock;
  }

  get listenerCount(): number {
    return this.#open.size;
  }

  listenersOf(account: string): number {
    return [...this.#open.values()].filter((other) => other === account).length;
  }

  /** Listens until the answer is called, the listener does not keep up, or the hub is lost: then an `error` event says why. */
  subscribe(sink: FeedSink, { hub, account, isStillValid, ...subscription }: RemoteStreamWish): () => void {
    const stop = new AbortController();
    this.#open.set(stop, account);
    const write = (text: string) => {
      if (stop.signal.aborted) return;
      if (!isStillValid() || !sink.write(text)) stop.abort();
    };
    write(SSE_RETRY);
    const stopHeartbeat = repeat(this.#clock, SSE_HEARTBEAT_MS, () => write(SSE_STILL_HERE));
    this.#events
      .subscribe(hub, { ...subscription, onGap: () => write(sseMessage('gap', {})), signal: stop.signal }, (event) =>
        write(eventFrame(event)),
      )
      .catch((error: unknown) => write(sseMessage('error', toAtmoError(error).toBody())))
      .finally(() => {
        stopHeartbeat();
        this.#open.delete(stop);
        sink.close();
      });
    return () => stop.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#open.keys()) stop.abort();
  }
}
