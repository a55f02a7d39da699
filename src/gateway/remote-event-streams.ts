import type { Clock } from '../core/clock.ts';
import { toAtmoError } from '../core/errors.ts';
import type { RemoteEvents, RemoteSubscription } from '../tools/remote-events.ts';
import { eventFrame, type FeedSink } from './event-feed.ts';

const HEARTBEAT_MS = 15_000;

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
    let hasLeft = false;
    this.#open.set(stop, account);
    const write = (text: string) => {
      if (stop.signal.aborted) return;
      if (!isStillValid() || !sink.write(text)) stop.abort();
    };
    write('retry: 2000\n\n');
    const stopHeartbeat = this.#beat(() => write(': still here\n\n'));
    this.#events
      .subscribe(hub, { ...subscription, onGap: () => write('event: gap\ndata: {}\n\n'), signal: stop.signal }, (event) =>
        write(eventFrame(event)),
      )
      .catch((error: unknown) => write(`event: error\ndata: ${JSON.stringify(toAtmoError(error).toBody())}\n\n`))
      .finally(() => {
        stopHeartbeat();
        this.#open.delete(stop);
        if (!hasLeft) sink.close();
      });
    return () => {
      hasLeft = true;
      stop.abort();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#open.keys()) stop.abort();
  }

  #beat(beat: () => void): () => void {
    let cancel = () => {};
    const wait = () => {
      cancel = this.#clock.after(HEARTBEAT_MS, () => {
        beat();
        wait();
      });
    };
    wait();
    return () => cancel();
  }
}
