import type { Principal } from './principal.ts';

/** Port: throws RATE_LIMITED, with `details.retry_after_ms`, when the principal or a token that its own comes from called too often. */
export interface RateLimiter {
  charge(principal: Principal): void;
}
