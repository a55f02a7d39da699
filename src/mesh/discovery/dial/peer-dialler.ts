import type { Logger } from '../../../core/logger.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { formatHostPort } from '../../engine/host-port.ts';
import type { EnginePeer, MeshEngine, PeerAddress } from '../../engine/mesh-engine.ts';
import { backOffMs, type DialHistory, tryMs } from './back-off.ts';
import { type DialOutcome, dialTry } from './dial-try.ts';

// A peer that is full or overloaded refuses too; only who goes on refusing is left alone for long.
const REFUSED_MS = [5_000, 30_000, 300_000];
const LEAST_BETWEEN_TRIES_MS = 500;

/** What a dialler needs. */
export interface PeerDiallerParts {
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
  readonly #parts: PeerDiallerParts;
  readonly #refusals = new Map<string, { readonly times: number; readonly untilMs: number }>();
  #tried: ReadonlySet<string> = new Set();
  #failures = 0;
  #lostMs = Number.NEGATIVE_INFINITY;
  #beganMs = Number.NEGATIVE_INFINITY;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #cancelWait: (() => void) | undefined;
  #current: { readonly outcome: Promise<DialOutcome>; readonly stop: AbortController } | undefined;
  #hasComplained = false;

  constructor(parts: PeerDiallerParts) {
    this.#parts = parts;
  }

  /** Tries in a row that failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Begins to try after `delayMs`. While it tries already, it hurries when there is an address where it has not tried. */
  want(delayMs: number): void {
    if (this.#current !== undefined) return;
    if (this.#cancelWait !== undefined) {
      if (this.#failures > 0 && this.#hasNewAddress()) this.hurry();
      return;
    }
    this.#notBeforeMs = this.#parts.clock.monotonic() + delayMs;
    this.#wait(this.#failures > 0 ? this.#backOffMs() : delayMs);
  }

  /** There is reason to believe that it will work now. A refusal stands nevertheless. */
  hurry(): void {
    this.#failures = 0;
    if (this.#cancelWait !== undefined) this.#wait(0);
  }

  /** The connection ended: the next tries come quickly. */
  lost(): void {
    this.#lostMs = this.#parts.clock.monotonic();
    this.#failures = 0;
  }

  /** It is connected: a try that is under way ends by itself, and there will be no other. */
  rest(): void {
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
  async now(): Promise<EnginePeer | undefined> {
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
    const outcome = dialTry({ clock, engine, addresses, timeoutMs: tryMs(this.#history().sinceLossMs), signal: stop.signal });
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
