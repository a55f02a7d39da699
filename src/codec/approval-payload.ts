import { canonicalJson } from './canonical-json.ts';

// The page runs this module in a browser: no API of Node.

/** `external_aad` of a signed decision: no signature for another use is valid here. */
export const APPROVAL_DOMAIN = new TextEncoder().encode('atmosphere-edge approval v1');

/** The statement that a person signs to approve or deny a dangerous call, with the members of docs/approvals.md. */
export interface ApprovalStatement {
  readonly approval_id: string;
  readonly decision: 'approve' | 'deny';
  /** Canonical id of the tool, such as `matter:front_door_unlock@1.0.0`. */
  readonly tool: string;
  /** SHA-256, hex, over tool and canonical arguments. */
  readonly call_hash: string;
  /** Id of the hub that runs the call. */
  readonly hub: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly expires_at: string;
  readonly person: string;
}

/** The signed bytes: RFC 8785 JSON of exactly the seven members, in UTF-8. */
export function approvalPayload(statement: ApprovalStatement): Uint8Array {
  const { approval_id, decision, tool, call_hash, hub, expires_at, person } = statement;
  return new TextEncoder().encode(canonicalJson({ approval_id, decision, tool, call_hash, hub, expires_at, person }));
}
