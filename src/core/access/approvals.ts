import type { JsonObject } from '../json.ts';
import type { Risk } from './authorizer.ts';

/** How a request for approval stands. `approved` waits to be used; the last three are final. */
export const APPROVAL_STATES = ['pending', 'approved', 'used', 'denied', 'expired'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** The name of a person who approves. */
export const PERSON_NAME = /^[a-z0-9][a-z0-9_.-]{0,31}$/;

/** What a person says to a request. */
export type ApprovalDecision = 'approve' | 'deny';

/** A request for approval as people see it; snake_case since it leaves by every door. */
export interface ApprovalView {
  readonly approval_id: string;
  readonly state: ApprovalState;
  /** Id of the agent that asks. */
  readonly agent_id: string;
  /** Canonical id of the tool. */
  readonly tool: string;
  readonly title: string;
  /** With secrets masked. */
  readonly params: JsonObject;
  /** What will really be touched. */
  readonly effects: readonly { readonly target: string; readonly permission: string; readonly risk: Risk }[];
  /** Distinct persons who have to approve. */
  readonly needed: number;
  readonly given: number;
  readonly approved_by: readonly { readonly person: string; readonly key_id: string; readonly at: string }[];
  readonly denied_by?: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly hub: string;
  readonly call_hash: string;
  readonly trace_id: string;
}

/** One person's word about one request. */
export interface SignedDecision {
  readonly approvalId: string;
  readonly decision: ApprovalDecision;
  readonly person: string;
  /** COSE_Sign1 over the statement (docs/approvals.md), base64url. */
  readonly signature: string;
}

/** A request and, as `principalKey`, whose it is. */
export interface OwnedApproval {
  readonly principalKey: string;
  readonly view: ApprovalView;
}

/** Port: the requests that wait for people, and what people say to them. */
export interface ApprovalDesk {
  /** Newest first; closed ones stay for an hour. */
  list(): readonly OwnedApproval[];
  get(approvalId: string): OwnedApproval | undefined;
  /**
   * NOT_FOUND (unknown), CONFLICT (expired, used, denied, or the person has approved already), PERMISSION_DENIED (own
   * request, no such person, a key that does not count, a signature over something else).
   */
  decide(decision: SignedDecision): Promise<ApprovalView>;
}

/** A key with which a person signs decisions. One person may have several, on phone and laptop, and counts once. */
export interface ApproverKey {
  readonly person: string;
  /** First 16 hex digits of the SHA-256 of the raw key. */
  readonly keyId: string;
  /** Raw Ed25519 public key, 32 bytes, base64url. */
  readonly key: string;
  readonly label: string;
  readonly enrolledAt: string;
}

/** Port: whose keys count. */
export interface ApproverDirectory {
  /** Sorted by person, then in the order of enrolment. */
  list(): readonly ApproverKey[];
  /** VALIDATION_ERROR (name or key), CONFLICT (a key that is somebody's already, or too many). */
  enrol(approver: Pick<ApproverKey, 'person' | 'key' | 'label'>): Promise<ApproverKey>;
  /** NOT_FOUND, or CONFLICT for the last key of all. */
  remove(keyId: string): Promise<ApproverKey>;
}
