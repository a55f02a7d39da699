import type { ApprovalDecision } from '../core/auth/approvals.ts';
import { canonicalJson } from './canonical-json.ts';

// This module must not use APIs of Node.js, because the web page imports it.

/** COSE `external_aad` of signed decisions. A message that was signed with another `external_aad` is not accepted as a decision. */
export const APPROVAL_DOMAIN = new TextEncoder().encode('atmosphere-edge approval v1');

/** Statement that a person signs to answer a request for approval; docs/approvals.md describes its fields. */
export interface ApprovalStatement {
  readonly approval_id: string;
  readonly decision: ApprovalDecision;
  /** Canonical id of the tool, such as `matter:front_door_unlock@1.0.0`. */
  readonly tool: string;
  /** SHA-256, in hex, of the canonical JSON of the tool id and the arguments. */
  readonly call_hash: string;
  readonly hub: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly expires_at: string;
  readonly person: string;
}

/** Returns the bytes whose SHA-256 is the challenge that a passkey signs for a statement: the domain, a line break and the payload. */
export function passkeyMessage(statement: ApprovalStatement): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(...APPROVAL_DOMAIN, 0x0a, ...approvalPayload(statement));
}

/** Returns the bytes to sign: the RFC 8785 JSON, in UTF-8, of exactly the seven fields of the statement. */
export function approvalPayload(statement: ApprovalStatement): Uint8Array {
  const { approval_id, decision, tool, call_hash, hub, expires_at, person } = statement;
  return new TextEncoder().encode(canonicalJson({ approval_id, decision, tool, call_hash, hub, expires_at, person }));
}
