import { canonicalJson } from './canonical-json.ts';

// The web page imports this module, so it must not use APIs of Node.js.

/** COSE `external_aad` of signed decisions. A signature made with another `external_aad` is no valid decision. */
export const APPROVAL_DOMAIN = new TextEncoder().encode('atmosphere-edge approval v1');

/** Statement that a person signs to approve or deny a dangerous call; docs/approvals.md describes its members. */
export interface ApprovalStatement {
  readonly approval_id: string;
  readonly decision: 'approve' | 'deny';
  /** Canonical id of the tool, such as `matter:front_door_unlock@1.0.0`. */
  readonly tool: string;
  /** SHA-256, in hex, of the tool and the canonical arguments. */
  readonly call_hash: string;
  readonly hub: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly expires_at: string;
  readonly person: string;
}

/** Returns the bytes to sign: RFC 8785 JSON of exactly the seven members of the statement, in UTF-8. */
export function approvalPayload(statement: ApprovalStatement): Uint8Array {
  const { approval_id, decision, tool, call_hash, hub, expires_at, person } = statement;
  return new TextEncoder().encode(canonicalJson({ approval_id, decision, tool, call_hash, hub, expires_at, person }));
}
