import type { Clock } from '../../core/clock.ts';

/** After how much silence a link is asked whether it lives, how long it may be silent, and how late an own timer may be unnoticed. */
export interface HeartbeatTimes {
  readonly everyMs: number;
  readonly silenceMs: number;
  readonly stallMs: number;
}

/**
 * A peer that is stopped for 8 s survives, whenever that was since its last word (8 + 1.6 < 9.75); a cut link is noticed within
 * 10 s; and a question and its answer, 274 bytes with their headers, come to 171 bytes a second.
 */
const HEARTBEAT_TIMES: HeartbeatTimes = { everyMs: 1_600, silenceMs: 9_750, stallMs: 1_000 };
/** Each side asks at least so often, for its own measure of the round trip. */
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

  constructor(collaborators: HeartbeatCollaborators, times: HeartbeatTimes = HEARTBEAT_TIMES) {
    this.#collaborators = collaborators;
    this.#times = times;
  }

  get roundTripMs(): number | undefined {
    return this.#roundTripMs;
  }

  start(): void {
    this.heard();
    this.#beat();
  }

  stop(): void {
    this.#stop();
  }

  /** Anything at all came from the peer. */
  heard(): void {
    this.#heardMs = this.#collaborators.clock.monotonic();
  }

  ponged(number: number): void {
    if (this.#pinged?.number !== number) return;
    const measuredMs = this.#collaborators.clock.monotonic() - this.#pinged.atMs;
    this.#pinged = undefined;
    this.#roundTripMs = this.#roundTripMs === undefined ? measuredMs : this.#roundTripMs + SMOOTHING * (measuredMs - this.#roundTripMs);
  }

  #beat(): void {
    if (this.#isTurn()) this.#ping();
    this.#number++;
    this.#wait();
  }

  #isTurn(): boolean {
    const { clock, role } = this.#collaborators;
    const silentMs = clock.monotonic() - this.#heardMs;
    // What else the peer says is a sign of life too.
    const allowedMs = role === 'leads' ? this.#times.everyMs : 2 * this.#times.everyMs;
    return silentMs >= allowedMs || this.#number % MEASURE_BEATS === 0;
  }

  #ping(): void {
    const { clock, ping } = this.#collaborators;
    this.#pinged = { number: this.#number, atMs: clock.monotonic() };
    ping(this.#number);
  }

  #wait(): void {
    const { clock } = this.#collaborators;
    const startMs = clock.monotonic();
    const leftMs = this.#heardMs + this.#times.silenceMs - startMs;
    const waitMs = Math.max(1, Math.min(this.#untilBeatMs(startMs), leftMs));
    this.#stop = clock.after(waitMs, () => this.#check(clock.monotonic() - startMs - waitMs));
  }

  /** The side that leads asks when the silence has become long enough, and not before. */
  #untilBeatMs(nowMs: number): number {
    const { everyMs } = this.#times;
    const untilMs = this.#heardMs + everyMs - nowMs;
    return this.#collaborators.role === 'leads' && untilMs > 0 ? untilMs : everyMs;
  }

  #check(lateMs: number): void {
    // This process stood still, and with it everything that the peer may have said.
    if (lateMs > this.#times.stallMs) this.#heardMs += lateMs;
    const silentMs = this.#collaborators.clock.monotonic() - this.#heardMs;
    if (silentMs >= this.#times.silenceMs) this.#collaborators.onSilence();
    else this.#beat();
  }
}
