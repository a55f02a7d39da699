/** Default limits of calls. */
export const INVOCATION_POLICY = {
  timeoutMs: 30_000,
  /** Longest time to connect to a service or to another hub. */
  connectTimeoutMs: 5_000,
  /** Default number of repeats for tools that need the network. For all other tools the default is 0. */
  retries: 2,
  retryDelayMs: 1_000,
  retryBackoff: 2,
} as const;

/** Returns the number of milliseconds to wait before a repeat. `attempt` is 1 for the first repeat. */
export function retryDelayMs(attempt: number): number {
  return INVOCATION_POLICY.retryDelayMs * INVOCATION_POLICY.retryBackoff ** (attempt - 1);
}
