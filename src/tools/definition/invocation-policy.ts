/** Defaults of a call. */
export const INVOCATION_POLICY = {
  timeoutMs: 30_000,
  /** How long a connection to a service or to another hub may take. */
  connectTimeoutMs: 5_000,
  /** For tools that use the network; other tools repeat their own messages. */
  retries: 2,
  retryDelayMs: 1_000,
  retryBackoff: 2,
} as const;

/** Returns how long to wait before try `attempt` (1 = first repeat). */
export function retryDelayMs(attempt: number): number {
  return INVOCATION_POLICY.retryDelayMs * INVOCATION_POLICY.retryBackoff ** (attempt - 1);
}
