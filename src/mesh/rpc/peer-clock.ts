import type { Clock } from '../../core/clock.ts';

/**
 * Largest difference of the rates of two monotonic clocks. The kernel lets a time service slew each by 500 ppm at most (adjtimex(2)), and
 * an unsteered quartz is off by less. RFC 5905 calls the growing error the dispersion of a sample.
 */
const DRIFT = 1 / 1_000;
/** A ping counts for this number of milliseconds. A clock that stood still unnoticed, as in a paused virtual machine, is believed no longer. */
const KEPT_MS = 600_000;

/** What the quickest ping showed. */
interface Offset {
  /** Monotonic time here minus the peer's, plus the time that the ping was on its way, in milliseconds. */
  readonly aheadMs: number;
  /** Monotonic time here when the ping arrived. */
  readonly atMs: number;
}

/**
 * Monotonic clock of a peer as its pings show it, each of which has the peer's time of sending as its number. A ping arrives after it was
 * sent, so the peer's clock has reached at least the number when it arrives, and has gone on since. The quickest ping shows most, like the
 * base delay of RFC 6817. So `earliestMs` is never later than the peer's clock, however long any ping was on its way.
 */
export class PeerClock {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #waiting = new Set<() => void>();
  #isOver = false;
  #quickest: Offset | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Resolves at the first ping, or when the link ends. If the signal aborts first, rejects with its reason. */
  untilKnown(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#quickest || this.#isOver) resolve();
    else if (signal.aborted) reject(signal.reason);
    else this.#waitFor(signal, { resolve, reject });
    return promise;
  }

  /** Time that the peer's clock shows now at the earliest, in whole milliseconds; undefined before the first ping. */
  get earliestMs(): number | undefined {
    const nowMs = this.#clock.monotonic();
    return this.#quickest && Math.floor(nowMs - aheadMs(this.#quickest, nowMs));
  }

  /** Receives the number of a ping. */
  pinged(peerMs: number): void {
    const nowMs = this.#clock.monotonic();
    const ping: Offset = { aheadMs: nowMs - peerMs, atMs: nowMs };
    const best = this.#quickest;
    if (!best || nowMs - best.atMs > KEPT_MS || ping.aheadMs <= aheadMs(best, nowMs)) this.#quickest = ping;
    this.#release();
  }

  /** Ends the wait for a first ping. */
  end(): void {
    this.#isOver = true;
    this.#release();
  }

  /** Keeps nothing of a wait that was aborted: a peer that never pings must not fill the memory. */
  #waitFor(signal: AbortSignal, wait: { readonly resolve: () => void; readonly reject: (reason: unknown) => void }): void {
    const leave = () => {
      this.#waiting.delete(end);
      wait.reject(signal.reason);
    };
    const end = () => {
      signal.removeEventListener('abort', leave);
      wait.resolve();
    };
    this.#waiting.add(end);
    signal.addEventListener('abort', leave, { once: true });
  }

  #release(): void {
    for (const end of this.#waiting) end();
    this.#waiting.clear();
  }
}

/** Largest difference between the clocks now, if it was at most `aheadMs` then. */
function aheadMs(offset: Offset, nowMs: number): number {
  return offset.aheadMs + DRIFT * (nowMs - offset.atMs);
}
