import type { Clock } from '../../core/clock.ts';
import type { ArrivalCheck } from '../transport/mesh-engine.ts';

/** Durations in milliseconds that control a heartbeat. */
interface HeartbeatTimes {
  /** Silence after which the leading hub sends a ping. */
  readonly leaderPingMs: number;
  /** Silence after which the following hub sends a ping. */
  readonly followerPingMs: number;
  /** Silence after which the link ends, unless the kernel shows that the peer's machine has received everything. */
  readonly cutMs: number;
  /** Silence after which the link always ends. */
  readonly endMs: number;
  /** If a timer fires late by more than this, the heartbeat concludes that this process was paused. */
  readonly stallMs: number;
}

/**
 * These times apply if `hasArrived` is absent. Only frames then show that the peer is alive. If the peer pauses for 8 s, the link lasts,
 * even if its last frame came 1.6 s before (9.6 s < `endMs`). A cut cable is noticed within 10 s. Ping and answer: 280 bytes every 1.6 s.
 */
const STRICT_TIMES: HeartbeatTimes = { leaderPingMs: 1_600, followerPingMs: 3_200, cutMs: 9_750, endMs: 9_750, stallMs: 1_000 };
/**
 * These times apply if `hasArrived` is present. `hasArrived` distinguishes a paused peer from a cut cable, so fewer pings are sufficient.
 * If the peer pauses for 8 s, the link lasts, even if the peer's last frame came 4 s (`leaderPingMs`) before the pause (12 s < `endMs`).
 */
const INFORMED_TIMES: HeartbeatTimes = { leaderPingMs: 4_000, followerPingMs: 5_000, cutMs: 9_000, endMs: 13_000, stallMs: 1_000 };
/** Each hub sends at least one ping in this number of intervals, to measure the round trip and to show its clock. */
const MEASURE_BEATS = 20;
/** Weight of a new measurement in the smoothed round trip time, as in TCP (RFC 6298 §2). */
const SMOOTHING = 1 / 8;

interface HeartbeatCollaborators {
  readonly clock: Clock;
  /** The hub that leads sends pings. Pings and answers show both hubs that the other one is alive. If none come, the other pings. */
  readonly role: 'leads' | 'follows';
  /** Sends a ping. Its number is the time of this hub's monotonic clock, so that the peer knows this clock. */
  readonly ping: (number: number) => void;
  /** Is called once if the peer has been silent for too long. */
  readonly onSilence: () => void;
  /** Returns whether the peer's machine has received everything, like `MeshStream.hasArrived`. */
  readonly hasArrived: ArrivalCheck | undefined;
}

/** Sends pings to a peer, measures the round trip and reports silence. */
export class Heartbeat {
  readonly #collaborators: HeartbeatCollaborators;
  readonly #times: HeartbeatTimes;
  #receivedMs = 0;
  #pinged: { readonly number: number; readonly atMs: number } | undefined;
  #beats = 0;
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

  /** Must be called for every frame from the peer. */
  onReceived(): void {
    this.#receivedMs = this.#collaborators.clock.monotonic();
  }

  ponged(number: number): void {
    if (this.#pinged?.number !== number) return;
    const measuredMs = this.#collaborators.clock.monotonic() - this.#pinged.atMs;
    this.#pinged = undefined;
    this.#roundTripMs = this.#roundTripMs === undefined ? measuredMs : this.#roundTripMs + SMOOTHING * (measuredMs - this.#roundTripMs);
  }

  get #pingMs(): number {
    return this.#collaborators.role === 'leads' ? this.#times.leaderPingMs : this.#times.followerPingMs;
  }

  #beat(): void {
    const silentMs = this.#collaborators.clock.monotonic() - this.#receivedMs;
    // No ping is needed if a frame has arrived from the peer recently.
    if (silentMs >= this.#pingMs || this.#beats % MEASURE_BEATS === 0) this.#ping();
    this.#beats++;
    this.#wait(silentMs);
  }

  #ping(): void {
    const { clock, ping } = this.#collaborators;
    const atMs = clock.monotonic();
    const number = Math.floor(atMs);
    this.#pinged = { number, atMs };
    ping(number);
  }

  /** Waits until the next ping may be due, or until the silence is long enough to end the link. */
  #wait(silentMs: number): void {
    const { clock } = this.#collaborators;
    const { cutMs, endMs } = this.#times;
    const startMs = clock.monotonic();
    const untilPingMs = silentMs < this.#pingMs ? this.#pingMs - silentMs : this.#pingMs;
    const untilLimitMs = (silentMs < cutMs ? cutMs : endMs) - silentMs;
    const waitMs = Math.max(1, Math.min(untilPingMs, untilLimitMs));
    this.#stop = clock.after(waitMs, () => this.#check(clock.monotonic() - startMs - waitMs));
  }

  #check(lateMs: number): void {
    // A late timer shows that this process was paused and could not receive frames. This pause does not count as silence of the peer.
    if (lateMs > this.#times.stallMs) this.#receivedMs += lateMs;
    if (this.#isOver(this.#collaborators.clock.monotonic() - this.#receivedMs)) this.#collaborators.onSilence();
    else this.#beat();
  }

  #isOver(silentMs: number): boolean {
    const { cutMs, endMs } = this.#times;
    return silentMs >= endMs || (silentMs >= cutMs && this.#collaborators.hasArrived?.() !== true);
  }
}
