import type { NamedDevice } from '../devices/action-words.ts';
import type { JsonObject } from '../json.ts';
import type { Risk } from './authorizer.ts';

/** How a request for approval stands. `approved` waits to be used; the last three are final. */
export const APPROVAL_STATES = ['pending', 'approved', 'used', 'denied', 'expired'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** The name of a person who approves. */
export const PERSON_NAME = /^[a-z0-9][a-z0-9_.-]{0,31}$/;

/** What a person says to a request. */
export type ApprovalDecision = 'approve' | 'deny';

/** A program that a call starts. */
export interface PlannedProgram {
  /** A command, an image of a container, a module of JavaScript, or an interpreted script. */
  readonly kind: 'cmd' | 'image' | 'module' | 'script';
  readonly program: string;
  /** With places such as `{file}` where the parameters are not known yet. */
  readonly args: readonly string[];
  readonly cwd?: string;
  /** What the owner lets it use, by name and in words. Without any it reaches nothing of the home. */
  readonly powers: readonly { readonly name: string; readonly allows: readonly string[] }[];
  /** Marks of its code and of files among its arguments that somebody could write: another content, another mark. */
  readonly versions: readonly string[];
}

/** A call that will be made once a person agrees, with all that it makes in turn. */
export interface PlannedCall {
  /** Canonical id of the tool; the name as it was written where no tool has it now. */
  readonly tool: string;
  readonly title: string;
  /** Parameters with secrets masked; as they are written where results of earlier steps decide on them. */
  readonly params: JsonObject;
  /** SHA-256, hex, over the tool's definition and all that it runs, whatever it is called with; empty where no tool has the name. */
  readonly definition: string;
  /** SHA-256, hex, over all parameters in full, however short `params` shows them; secrets count sealed with a key of the hub. */
  readonly arguments: string;
  /** Results of earlier steps fill places in `params`. */
  readonly open?: true;
  readonly program?: PlannedProgram;
  /** What is touched, as far as it is known. */
  readonly targets: readonly string[];
  /** Those of them that are only read; absent without any. */
  readonly reads?: readonly string[];
  readonly steps?: readonly PlannedCall[];
}

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
  /** Devices among that, by the names and in the rooms that they have now. */
  readonly devices: readonly NamedDevice[];
  /** The program or the steps that will run; absent for a call that has neither. */
  readonly runs?: PlannedCall;
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
