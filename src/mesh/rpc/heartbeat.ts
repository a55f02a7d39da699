import type { Clock } from '../../core/clock.ts';
import type { ArrivalCheck } from '../transport/mesh-engine.ts';

/** Milliseconds of silence, and what follows from them. */
export interface HeartbeatTimes {
  /** The side that leads asks whether the other one lives. */
  readonly askMs: number;
  /** The other side does. */
  readonly followerAskMs: number;
  /** The link has ended, unless the machine of the peer is known to have what was sent. */
  readonly cutMs: number;
  /** It has ended in any case. */
  readonly endMs: number;
  /** An own timer that is later than this was late because this process stood still. */
  readonly stallMs: number;
}

/**
 * Where only answers tell: a peer that is stopped for 8 s survives, whenever that was since its last word (8 + 1.6 < 9.75), and
 * a cut is noticed within 10 s. That costs an answered question, 274 bytes with its headers, every 1.6 s.
 */
const STRICT_TIMES: HeartbeatTimes = { askMs: 1_600, followerAskMs: 3_200, cutMs: 9_750, endMs: 9_750, stallMs: 1_000 };
/**
 * Where the kernel tells whether the peer's machine has what was sent, a peer that stands still is known from a cut cable: it
 * has the time that it needs (8 + 4 < 13), and less has to be asked.
 */
const INFORMED_TIMES: HeartbeatTimes = { askMs: 4_000, followerAskMs: 5_000, cutMs: 9_000, endMs: 13_000, stallMs: 1_000 };
/** Each side asks at least once in so many beats, for its own measure of the round trip. */
const MEASURE_BEATS = 20;
/** Weight of a new measurement in the smoothed round trip, as TCP's (RFC 6298 §2). */
const SMOOTHING = 1 / 8;

interface HeartbeatCollaborators {
  readonly clock: Clock;
  /** Each pair has one hub that leads: its questions and the answers tell both sides that the other one lives. */
  readonly role: 'leads' | 'follows';
  readonly ping: (number: number) => void;
  /** Told once, when the peer has been silent for too long. */
  readonly onSilence: () => void;
  /** As `MeshStream.hasArrived`. */
  readonly hasArrived: ArrivalCheck | undefined;
}

/** Asks a peer whether it is there, and measures how long its answer takes. */
export class Heartbeat {
  readonly #collaborators: HeartbeatCollaborators;
  readonly #times: HeartbeatTimes;
  #heardMs = 0;
  #pinged: { readonly number: number; readonly atMs: number } | undefined;
  #number = 0;
  #roundTripMs: number | undefined;
  #stop = () => {};

  constructor(collaborators: HeartbeatCollaborators) {
    this.#collaborators = collaborators;
    this.#times = collaborators.hasArrived ? INFORMED_TIMES : STRICT_TIMES;
  }

  get roundTripMs(): number | undefined {
    return this.#roundTripMs;
  }

  start(): void {
    this.onReceived();
    this.#beat();
  }

  stop(): void {
    this.#stop();
  }

  /** Anything at all came from the peer. */
  onReceived(): void {
    this.#heardMs = this.#collaborators.clock.monotonic();
  }

  ponged(number: number): void {
    if (this.#pinged?.number !== number) return;
    const measuredMs = this.#collaborators.clock.monotonic() - this.#pinged.atMs;
    this.#pinged = undefined;
    this.#roundTripMs = this.#roundTripMs === undefined ? measuredMs : this.#roundTripMs + SMOOTHING * (measuredMs - this.#roundTripMs);
  }

  get #askMs(): number {
    return this.#collaborators.role === 'leads' ? this.#times.askMs : this.#times.followerAskMs;
  }

  #beat(): void {
    const silentMs = this.#collaborators.clock.monotonic() - this.#heardMs;
    // What else the peer says is a sign of life too.
    if (silentMs >= this.#askMs || this.#number % MEASURE_BEATS === 0) this.#ping();
    this.#number++;
    this.#wait(silentMs);
  }

  #ping(): void {
    const { clock, ping } = this.#collaborators;
    this.#pinged = { number: this.#number, atMs: clock.monotonic() };
    ping(this.#number);
  }

  /** Until the silence is long enough for the next question, or too long. */
  #wait(silentMs: number): void {
    const { clock } = this.#collaborators;
    const { cutMs, endMs } = this.#times;
    const startMs = clock.monotonic();
    const untilAskMs = silentMs < this.#askMs ? this.#askMs - silentMs : this.#askMs;
    const untilLimitMs = (silentMs < cutMs ? cutMs : endMs) - silentMs;
    const waitMs = Math.max(1, Math.min(untilAskMs, untilLimitMs));
    this.#stop = clock.after(waitMs, () => this.#check(clock.monotonic() - startMs - waitMs));
  }

  #check(lateMs: number): void {
    // This process stood still, and with it everything that the peer may have said.
    if (lateMs > this.#times.stallMs) this.#heardMs += lateMs;
    if (this.#isOver(this.#collaborators.clock.monotonic() - this.#heardMs)) this.#collaborators.onSilence();
    else this.#beat();
  }

  #isOver(silentMs: number): boolean {
    const { cutMs, endMs } = this.#times;
    return silentMs >= endMs || (silentMs >= cutMs && this.#collaborators.hasArrived?.() !== true);
  }
}
