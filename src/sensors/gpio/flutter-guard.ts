import type { Clock } from '../../core/time/clock.ts';

/** A hand, a door and a relay stay far below; a wire that nobody holds does not. */
const MOST_A_SECOND = 20;
const SECOND_MS = 1000;

interface FlutterPorts {
  readonly clock: Clock;
  /** Tells the state as it is when this is called. */
  readonly tellState: () => void;
  /** Says once in a while that changes come too fast. */
  readonly warn: () => void;
}

/** Lets changes through up to a rate; above it only the state at the end of each second is told. */
export class FlutterGuard {
  readonly #ports: FlutterPorts;
  #told = 0;
  #hasMore = false;
  #cancel: (() => void) | undefined;

  constructor(ports: FlutterPorts) {
    this.#ports = ports;
  }

  /** Tells a change, or keeps it back. */
  pass(tell: () => void): void {
    this.#cancel ??= this.#ports.clock.after(SECOND_MS, () => this.#endSecond());
    this.#told += 1;
    if (this.#told <= MOST_A_SECOND) {
      tell();
      return;
    }
    if (!this.#hasMore) this.#ports.warn();
    this.#hasMore = true;
  }

  /** Forgets what was kept back; changes may come again later. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#told = 0;
    this.#hasMore = false;
  }

  #endSecond(): void {
    const isBehind = this.#hasMore;
    this.reset();
    if (isBehind) this.#ports.tellState();
  }
}
