/** Port: whether the hub's clock can be believed. A board without a clock of its own may wake in the past. */
export interface TrustedTime {
  /** Milliseconds since 1970, never before what is known to have passed. */
  now(): number;
  /** False until time came from the network or the owner: dangerous calls are refused until then. */
  isTrusted(): boolean;
}
