import type { HubId } from '../../../core/ids.ts';
import { isJsonObject, type Json } from '../../../core/json.ts';

/** What an invite gives to the hub that uses it. */
export interface InviteTerms {
  readonly permissions: readonly string[];
  /** The hub may let others in, too. */
  readonly mayInvite: boolean;
}

interface InviteBase extends InviteTerms {
  /** 16 hex digits. */
  readonly id: string;
  readonly expiresAtMs: number;
  readonly wrongProofs: number;
}

/** An invite as it is kept until it expires. The secret is gone once it was used: what was proven with it is all that is needed. */
export type InviteRecord = InviteBase &
  ({ readonly state: 'open'; readonly secret: string } | { readonly state: 'used'; readonly usedBy: HubId; readonly proof: string });

/** Undefined for what no version of the hub wrote. */
export function parseInviteRecord(value: Json | undefined): InviteRecord | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined;
  const { id, expiresAtMs, permissions, mayInvite, wrongProofs, state, secret, usedBy, proof } = value;
  if (typeof id !== 'string' || typeof expiresAtMs !== 'number' || typeof wrongProofs !== 'number') return undefined;
  if (!Array.isArray(permissions) || typeof mayInvite !== 'boolean') return undefined;
  const base = { id, expiresAtMs, permissions: permissions.map(String), mayInvite, wrongProofs };
  if (state === 'open' && typeof secret === 'string') return { ...base, state, secret };
  if (state !== 'used' || typeof usedBy !== 'string' || typeof proof !== 'string') return undefined;
  return { ...base, state, usedBy: usedBy as HubId, proof };
}
