import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { CONNECT_TIMEOUT_MS, type EnginePeer, formatHostPort, type MeshEngine, type PeerAddress } from '../transport/mesh-engine.ts';

// Pauses in milliseconds after the first, second and every later refusal at an address. A hub refuses also while it is full or overloaded,
// so the pause becomes long only after several refusals.
const REFUSED_MS = [5_000, 30_000, 300_000];
const LEAST_BETWEEN_TRIES_MS = 500;

interface PeerDiallerCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly engine: Pick<MeshEngine, 'connect'>;
  readonly random: () => number;
  /** Hub id or address, for the log. */
  readonly name: string;
  /** Returns the addresses of the hub in the order of attempts. */
  readonly addresses: () => readonly PeerAddress[];
  readonly connected: (peer: EnginePeer, address: PeerAddress) => void;
  /** Called when an attempt failed because every dialled address refused this hub. */
  readonly refused: () => void;
}

/** Dials one hub repeatedly until it is connected or `stop` is called. */
export class PeerDialler {
  readonly #collaborators: PeerDiallerCollaborators;
  readonly #refusals = new Map<string, { readonly times: number; readonly untilMs: number }>();
  #tried: ReadonlySet<string> = new Set();
  #failures = 0;
  #lostMs = Number.NEGATIVE_INFINITY;
  #startedMs = Number.NEGATIVE_INFINITY;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #cancelWait: (() => void) | undefined;
  #current: { readonly outcome: Promise<DialOutcome>; readonly stop: AbortController } | undefined;
  #hasWarned = false;

  constructor(collaborators: PeerDiallerCollaborators) {
    this.#collaborators = collaborators;
  }

  get failures(): number {
    return this.#failures;
  }

  /** If no attempt is planned or running, plans one after `delayMs`. If a retry is planned and a new address is known, retries soon. */
  schedule(delayMs: number): void {
    if (this.#current !== undefined) return;
    if (this.#cancelWait !== undefined) {
      if (this.#failures > 0 && this.#hasNewAddress()) this.retrySoon();
      return;
    }
    this.#notBeforeMs = this.#collaborators.clock.monotonic() + delayMs;
    this.#wait(this.#failures > 0 ? this.#backOffMs() : delayMs);
  }

  /** Starts the planned attempt soon and resets the back-off. Still skips addresses that refused this hub until their pause ends. */
  retrySoon(): void {
    this.#failures = 0;
    if (this.#cancelWait !== undefined) this.#wait(0);
  }

  /** Called when the connection has ended. The next attempts then follow each other quickly. */
  onDisconnected(): void {
    this.#lostMs = this.#collaborators.clock.monotonic();
    this.#failures = 0;
  }

  /** Called when the hub is connected; cancels the planned attempt. */
  onConnected(): void {
    this.#failures = 0;
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }

  stop(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#current?.stop.abort();
  }

  /** Dials at once, or waits for the running attempt. A new attempt includes addresses that refused. Resolves with undefined on failure. */
  async dialNow(): Promise<EnginePeer | undefined> {
    if (this.#current === undefined) {
      this.#refusals.clear();
      this.#cancelWait?.();
      this.#cancelWait = undefined;
      void this.#try();
    }
    return (await this.#current?.outcome)?.peer;
  }

  #wait(delayMs: number): void {
    this.#cancelWait?.();
    const nowMs = this.#collaborators.clock.monotonic();
    const earliestMs = Math.max(this.#notBeforeMs, this.#startedMs + LEAST_BETWEEN_TRIES_MS);
    this.#cancelWait = this.#collaborators.clock.after(Math.max(delayMs, earliestMs - nowMs, 0), () => {
      this.#cancelWait = undefined;
      void this.#try();
    });
  }

  async #try(): Promise<void> {
    const { clock, engine } = this.#collaborators;
    this.#startedMs = clock.monotonic();
    const all = this.#collaborators.addresses();
    this.#tried = new Set(all.map(formatHostPort));
    const addresses = all.filter((address) => !this.#isRefusedAt(address));
    if (addresses.length === 0) return this.#fail();
    const stop = new AbortController();
    const outcome = dialAny({ clock, engine, addresses, timeoutMs: tryMs(this.#history().sinceLossMs), signal: stop.signal });
    this.#current = { outcome, stop };
    const { peer, address, refused } = await outcome;
    this.#current = undefined;
    for (const refuser of refused) this.#recordRefusal(refuser);
    if (peer !== undefined && address !== undefined) return this.#succeed(peer, address);
    if (refused.length === addresses.length) this.#warnRefused();
    if (!stop.signal.aborted) this.#fail();
  }

  #succeed(peer: EnginePeer, address: PeerAddress): void {
    this.#failures = 0;
    this.#hasWarned = false;
    this.#refusals.clear();
    this.#collaborators.connected(peer, address);
  }

  #fail(): void {
    this.#failures += 1;
    this.#wait(this.#backOffMs());
  }

  #warnRefused(): void {
    this.#collaborators.refused();
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#collaborators.logger.warn('mesh.dial_refused', { peer: this.#collaborators.name });
  }

  #hasNewAddress(): boolean {
    return this.#collaborators.addresses().some((address) => !this.#tried.has(formatHostPort(address)));
  }

  #recordRefusal(refuser: PeerAddress): void {
    const key = formatHostPort(refuser);
    const times = (this.#refusals.get(key)?.times ?? 0) + 1;
    const waitMs = REFUSED_MS[Math.min(times, REFUSED_MS.length) - 1] ?? 0;
    this.#refusals.set(key, { times, untilMs: this.#collaborators.clock.monotonic() + waitMs });
  }

  #isRefusedAt(address: PeerAddress): boolean {
    return (this.#refusals.get(formatHostPort(address))?.untilMs ?? 0) > this.#collaborators.clock.monotonic();
  }

  #backOffMs(): number {
    return backOffMs(this.#history(), this.#collaborators.random());
  }

  #history(): DialHistory {
    return { failures: this.#failures, sinceLossMs: this.#collaborators.clock.monotonic() - this.#lostMs };
  }
}

const NEXT_ADDRESS_MS = 250; // RFC 8305 8, connection attempt delay

interface DialAttempt extends Pick<PeerDiallerCollaborators, 'clock' | 'engine'> {
  /** Addresses in the order of attempts; at least one. */
  readonly addresses: readonly PeerAddress[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

interface DialOutcome {
  readonly peer?: EnginePeer;
  readonly address?: PeerAddress;
  /** Addresses at which this hub was refused, or at which another hub answered. */
  readonly refused: readonly PeerAddress[];
}

/**
 * Dials the addresses of one hub in turn. Dials the next address when the previous one fails or does not answer within 250 ms. The first
 * connection ends all other attempts. Never rejects.
 */
function dialAny({ clock, engine, addresses, timeoutMs, signal }: DialAttempt): Promise<DialOutcome> {
  const { promise, resolve } = Promise.withResolvers<DialOutcome>();
  const ended = new AbortController();
  const within = AbortSignal.any([signal, ended.signal]);
  const refused: PeerAddress[] = [];
  let next = 0;
  let open = 0;
  let cancelNext = () => {};

  const finish = (outcome: DialOutcome) => {
    cancelNext();
    cancelTimeout();
    ended.abort();
    resolve(outcome);
  };
  const begin = () => {
    cancelNext();
    const address = addresses[next];
    if (address === undefined) return;
    next += 1;
    open += 1;
    cancelNext = clock.after(NEXT_ADDRESS_MS, begin);
    engine.connect(address, { signal: within }).then(
      (peer) => finish({ peer, address, refused }),
      (error: unknown) => {
        open -= 1;
        if (error instanceof AtmoError && error.code === 'PERMISSION_DENIED') refused.push(address);
        if (within.aborted || (open === 0 && next === addresses.length)) finish({ refused });
        else begin();
      },
    );
  };
  const cancelTimeout = clock.after(timeoutMs, () => finish({ refused }));
  begin();
  return promise;
}

const FIRST_MS = 500;
const MINUTE_MS = 60_000;
const JITTER = 0.25;

/** History of attempts from which the back-off is computed. */
interface DialHistory {
  /** Number of consecutive failed attempts until now. */
  readonly failures: number;
  /** Milliseconds since the last loss of a connection to the hub; infinite if there was none. */
  readonly sinceLossMs: number;
}

/**
 * Returns the milliseconds until the next attempt. The pause doubles with each failure, up to a maximum. This maximum is 1 s within a
 * minute after a connection loss, 5 s within ten minutes, and otherwise 30 s. `random` (0 to below 1) changes the pause by up to a quarter.
 */
export function backOffMs({ failures, sinceLossMs }: DialHistory, random: number): number {
  const boundMs = sinceLossMs < MINUTE_MS ? 1_000 : sinceLossMs < 10 * MINUTE_MS ? 5_000 : 30_000;
  const meanMs = Math.min(boundMs, FIRST_MS * 2 ** Math.min(failures - 1, 16));
  return meanMs * (1 - JITTER + 2 * JITTER * random);
}

/**
 * Returns the time limit of an attempt in milliseconds. It is short within a minute after a connection loss, because several short attempts
 * connect sooner than a long one. In a long attempt, the operating system repeats a lost first packet only after 1 s, 2 s, 4 s, …
 */
export function tryMs(sinceLossMs: number): number {
  return sinceLossMs < MINUTE_MS ? 2_000 : CONNECT_TIMEOUT_MS;
}
