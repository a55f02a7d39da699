import type { Effect } from './authorizer.ts';
import type { Principal } from './principal.ts';

/** A dangerous call that people have to agree to. */
export interface ApprovalRequest {
  readonly principal: Principal;
  readonly toolId: string;
  /** SHA-256 of the RFC 8785 form of tool and arguments, hex. */
  readonly callHash: string;
  readonly effects: readonly Effect[];
  readonly personsNeeded: number;
}

/** Where the approval of a call stands. */
export type ApprovalVerdict =
  | { readonly state: 'approved'; readonly by: readonly string[] }
  | { readonly state: 'pending'; readonly approvalId: string; readonly expiresAt: string; readonly needed: number; readonly given: number }
  | { readonly state: 'denied'; readonly by: string };

/** Port: whether people have approved a dangerous call. */
export interface ApprovalQueue {
  check(request: ApprovalRequest): Promise<ApprovalVerdict>;
}

/** Port: the owner's rules over a call's parsed values; `undefined` when none forbids it. */
export interface RuleEngine {
  blocks(call: {
    readonly principal: Principal;
    readonly toolId: string;
    readonly effects: readonly Effect[];
    readonly params: unknown;
  }): string | undefined;
}

/** Port: throws RATE_LIMITED when the principal called too often. */
export interface RateLimiter {
  charge(principal: Principal): void;
}
