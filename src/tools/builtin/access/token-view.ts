import type { TokenInspection, TokenRecord } from '../../../core/access/token-authority.ts';
import type { JsonObject } from '../../../core/json.ts';
import { isoTime } from '../../../core/time/iso-time.ts';

/** What show_token answers of a token whose signatures hold, in the words of source 000 §6. */
export function inspectionView({ state, reason, principal, issuer, issuedAtMs, notBeforeMs, isBearer }: TokenInspection): JsonObject {
  const { token } = principal;
  return {
    type: 'agent_token',
    state,
    ...(reason !== undefined && { reason }),
    token_id: token.id,
    agent_id: principal.id,
    issuer,
    permissions: principal.permissions,
    issued_at: isoTime(issuedAtMs),
    not_before: isoTime(notBeforeMs),
    expires_at: isoTime(token.expiresAtMs),
    chain: token.chain,
    ...(token.allowedNodes && { allowed_nodes: token.allowedNodes }),
    ...(token.maxHops !== undefined && { max_hops: token.maxHops }),
    rate_limits: token.rateLimits.map(({ tokenId, calls, seconds }) => ({ token_id: tokenId, calls, seconds })),
    needs_proof: !isBearer,
  };
}

/** How a token stands; it ends with any that it comes from. `known`: all that this hub made, by id. */
export function stateOf(record: TokenRecord, known: ReadonlyMap<string, TokenRecord>, nowMs: number): TokenInspection['state'] {
  for (let link: TokenRecord | undefined = record; link; link = known.get(link.parent ?? '')) {
    if (link.revokedAtMs !== undefined) return 'revoked';
  }
  return record.expiresAtMs <= nowMs ? 'expired' : 'valid';
}

/** What list_tokens answers of one token. `known`: all that this hub made, by id. */
export function recordView(record: TokenRecord, known: ReadonlyMap<string, TokenRecord>, nowMs: number): JsonObject {
  const { id, agentId, permissions, issuedAtMs, expiresAtMs, issuedBy, role, parent, revokedAtMs } = record;
  return {
    token_id: id,
    agent_id: agentId,
    state: stateOf(record, known, nowMs),
    permissions,
    issued_at: isoTime(issuedAtMs),
    expires_at: isoTime(expiresAtMs),
    issued_by: issuedBy,
    ...(role !== undefined && { role }),
    ...(parent !== undefined && { parent }),
    ...(revokedAtMs !== undefined && { revoked_at: isoTime(revokedAtMs) }),
  };
}
