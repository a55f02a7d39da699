import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { formatHostPort } from '../transport/host-port.ts';
import { CONNECT_TIMEOUT_MS, type EnginePeer, type MeshEngine, type PeerAddress } from '../transport/mesh-engine.ts';

// A peer that is full or overloaded refuses too; only who goes on refusing is left alone for long.
const REFUSED_MS = [5_000, 30_000, 300_000];
const LEAST_BETWEEN_TRIES_MS = 500;

/** What a dialler needs. */
export interface PeerDiallerCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly engine: Pick<MeshEngine, 'connect'>;
  /** 0 to below 1. */
  readonly random: () => number;
  /** Hub id or address, for the log. */
  readonly name: string;
  /** In the order in which to try them. */
  readonly addresses: () => readonly PeerAddress[];
  readonly connected: (peer: EnginePeer, address: PeerAddress) => void;
  /** Every address that answers refuses this hub. */
  readonly refused: () => void;
}

/** Tries to connect one hub, for ever, until it is told to stop. */
export class PeerDialler {
  readonly #parts: PeerDiallerCollaborators;
  readonly #refusals = new Map<string, { readonly times: number; readonly untilMs: number }>();
  #tried: ReadonlySet<string> = new Set();
  #failures = 0;
  #lostMs = Number.NEGATIVE_INFINITY;
  #beganMs = Number.NEGATIVE_INFINITY;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #cancelWait: (() => void) | undefined;
  #current: { readonly outcome: Promise<DialOutcome>; readonly stop: AbortController } | undefined;
  #hasComplained = false;

  constructor(parts: PeerDiallerCollaborators) {
    this.#parts = parts;
  }

  /** Tries in a row that failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Begins to try after `delayMs`. While it tries already, it hurries when there is an address where it has not tried. */
  schedule(delayMs: number): void {
    if (this.#current !== undefined) return;
    if (this.#cancelWait !== undefined) {
      if (this.#failures > 0 && this.#hasNewAddress()) this.retrySoon();
      return;
    }
    this.#notBeforeMs = this.#parts.clock.monotonic() + delayMs;
    this.#wait(this.#failures > 0 ? this.#backOffMs() : delayMs);
  }

  /** There is reason to believe that it will work now. A refusal stands nevertheless. */
  retrySoon(): void {
    this.#failures = 0;
    if (this.#cancelWait !== undefined) this.#wait(0);
  }

  /** The connection ended: the next tries come quickly. */
  onDisconnected(): void {
    this.#lostMs = this.#parts.clock.monotonic();
    this.#failures = 0;
  }

  /** It is connected: a try that is under way ends by itself, and there will be no other. */
  onConnected(): void {
    this.#failures = 0;
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }

  /** It is not wanted any more. */
  stop(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#current?.stop.abort();
  }

  /** Tries at once, those that refused too; undefined when it fails. Joins the try that is under way. */
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
    const nowMs = this.#parts.clock.monotonic();
    const earliestMs = Math.max(this.#notBeforeMs, this.#beganMs + LEAST_BETWEEN_TRIES_MS);
    this.#cancelWait = this.#parts.clock.after(Math.max(delayMs, earliestMs - nowMs, 0), () => {
      this.#cancelWait = undefined;
      void this.#try();
    });
  }

  async #try(): Promise<void> {
    const { clock, engine } = this.#parts;
    this.#beganMs = clock.monotonic();
    const all = this.#parts.addresses();
    this.#tried = new Set(all.map(formatHostPort));
    const addresses = all.filter((address) => !this.#isRefusedAt(address));
    if (addresses.length === 0) return this.#fail();
    const stop = new AbortController();
    const outcome = dialAny({ clock, engine, addresses, timeoutMs: tryMs(this.#history().sinceLossMs), signal: stop.signal });
    this.#current = { outcome, stop };
    const { peer, address, refused } = await outcome;
    this.#current = undefined;
    for (const refuser of refused) this.#remember(refuser);
    if (peer !== undefined && address !== undefined) return this.#succeed(peer, address);
    if (refused.length === addresses.length) this.#complain();
    if (!stop.signal.aborted) this.#fail();
  }

  #succeed(peer: EnginePeer, address: PeerAddress): void {
    this.#failures = 0;
    this.#hasComplained = false;
    this.#refusals.clear();
    this.#parts.connected(peer, address);
  }

  #fail(): void {
    this.#failures += 1;
    this.#wait(this.#backOffMs());
  }

  #complain(): void {
    this.#parts.refused();
    if (this.#hasComplained) return;
    this.#hasComplained = true;
    this.#parts.logger.warn('mesh.dial_refused', { peer: this.#parts.name });
  }

  #hasNewAddress(): boolean {
    return this.#parts.addresses().some((address) => !this.#tried.has(formatHostPort(address)));
  }

  #remember(refuser: PeerAddress): void {
    const key = formatHostPort(refuser);
    const times = (this.#refusals.get(key)?.times ?? 0) + 1;
    const waitMs = REFUSED_MS[Math.min(times, REFUSED_MS.length) - 1] ?? 0;
    this.#refusals.set(key, { times, untilMs: this.#parts.clock.monotonic() + waitMs });
  }

  #isRefusedAt(address: PeerAddress): boolean {
    return (this.#refusals.get(formatHostPort(address))?.untilMs ?? 0) > this.#parts.clock.monotonic();
  }

  #backOffMs(): number {
    return backOffMs(this.#history(), this.#parts.random());
  }

  #history(): DialHistory {
    return { failures: this.#failures, sinceLossMs: this.#parts.clock.monotonic() - this.#lostMs };
  }
}

const NEXT_ADDRESS_MS = 250; // RFC 8305 8, connection attempt delay

/** What a try needs. */
export interface DialAttempt {
  readonly clock: Clock;
  readonly engine: Pick<MeshEngine, 'connect'>;
  /** In the order in which to try them; at least one. */
  readonly addresses: readonly PeerAddress[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How a try ended. */
interface DialOutcome {
  readonly peer?: EnginePeer;
  readonly address?: PeerAddress;
  /** Addresses where a hub answered and would not have us, or another hub than expected was. */
  readonly refused: readonly PeerAddress[];
}

/**
 * Tries the addresses of one hub, the next one when the last has failed or for 250 ms not answered; the first connection
 * ends the others. Never rejects.
 */
function dialAny(parts: DialAttempt): Promise<DialOutcome> {
  const { clock, engine, addresses, timeoutMs, signal } = parts;
  const { promise, resolve } = Promise.withResolvers<DialOutcome>();
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  const refused: PeerAddress[] = [];
  let next = 0;
  let open = 0;
  let cancelNext = () => {};

  const finish = (outcome: DialOutcome) => {
    cancelNext();
    cancelTimeout();
    over.abort();
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

/** What a pause after a failed try depends on. */
interface DialHistory {
  /** Tries in a row that failed, this one included. */
  readonly failures: number;
  /** Since the hub was connected last; infinite when it never was. */
  readonly sinceLossMs: number;
}

/**
 * Milliseconds until the next try: twice as long after each failure, up to a bound that is low while a cut is young (a cable
 * pulled, an access point that starts again) and 30 s in the long run. `random` (0 to below 1) shifts it by up to a quarter.
 */
export function backOffMs({ failures, sinceLossMs }: DialHistory, random: number): number {
  const boundMs = sinceLossMs < MINUTE_MS ? 1_000 : sinceLossMs < 10 * MINUTE_MS ? 5_000 : 30_000;
  const meanMs = Math.min(boundMs, FIRST_MS * 2 ** Math.min(failures - 1, 16));
  return meanMs * (1 - JITTER + 2 * JITTER * random);
}

/**
 * Milliseconds that a try may last. A young cut is mended by many short tries: the system repeats a lost first packet after
 * one second, then after two, four …, so a long try would sleep through the repair.
 */
export function tryMs(sinceLossMs: number): number {
  return sinceLossMs < MINUTE_MS ? 2_000 : CONNECT_TIMEOUT_MS;
}
