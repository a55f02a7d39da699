/** Port: whether the hub's clock can be believed. A board without a clock of its own may wake in the past. */
export interface TrustedTime {
  /** Milliseconds since 1970, never before what is known to have passed. */
  now(): number;
  /** False until time came from the network or the owner: dangerous calls are refused until then. */
  isTrusted(): boolean;
}

/**
 * What speaks for the hub's time: the owner set it or vouches for the machine's clock in the `configuration`, the machine
 * keeps it by the `network`, has a `hardware` clock, or is a `host`'s guest; `nothing` speaks for it.
 */
export type TimeSource = 'owner' | 'configuration' | 'network' | 'hardware' | 'host' | 'nothing';

/** How the hub's time stands; times in milliseconds since 1970. */
export interface TimeStatus {
  readonly nowMs: number;
  readonly isTrusted: boolean;
  readonly source: TimeSource;
  /** What the machine's own clock shows. */
  readonly systemMs: number;
  /** What is known to have passed: a clock before it is wrong. */
  readonly floorMs: number;
}

/** Port: time that the owner can look at and set. */
export interface SettableTime {
  status(): TimeStatus;
  /** VALIDATION_ERROR for a time that cannot be, CONFLICT where the machine's clock is known to be right and says otherwise. */
  set(timeMs: number): void;
}
