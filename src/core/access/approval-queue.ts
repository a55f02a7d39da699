import type { JsonObject } from '../json.ts';
import type { PlannedCall } from './approvals.ts';
import type { Effect } from './authorizer.ts';
import type { Principal } from './principal.ts';

/** A dangerous call that people have to agree to. */
export interface ApprovalRequest {
  readonly principal: Principal;
  readonly toolId: string;
  /** Name of the tool for people. */
  readonly title: string;
  /** Parameters with secrets masked, for people to read. */
  readonly params: JsonObject;
  /**
   * SHA-256, hex, of the RFC 8785 form of tool, arguments and the definition of all that will run; secrets count sealed with a key
   * of the hub.
   */
  readonly callHash: string;
  readonly effects: readonly Effect[];
  /** What will run, with secrets masked. */
  readonly plan: PlannedCall;
  readonly personsNeeded: number;
  readonly traceId: string;
}

/** Where the approval of a call stands. */
export type ApprovalVerdict =
  | { readonly state: 'approved'; readonly approvalId: string; readonly by: readonly string[] }
  | {
      readonly state: 'pending';
      readonly approvalId: string;
      readonly expiresAt: string;
      readonly needed: number;
      readonly given: number;
      /** The request in a sentence for people. */
      readonly summary: string;
      /** What will run, a line for each program and step. */
      readonly willDo: readonly string[];
    }
  | { readonly state: 'denied'; readonly approvalId: string; readonly by: string; readonly expiresAt: string };

/** Port: whether people have approved a dangerous call. An approval serves one call, of one principal, once. */
export interface ApprovalQueue {
  /** Uses the approval up when there is one, else files the request and tells the admins. */
  check(request: ApprovalRequest): Promise<ApprovalVerdict>;
  /** The same without using it up: would it be approved now? Files the request as well. */
  peek(request: ApprovalRequest): Promise<ApprovalVerdict>;
  /** The call that used the approval up dispatched nothing: it may be tried again until the approval expires. */
  giveBack(approvalId: string): void;
}
