import type { KeyObject } from 'node:crypto';
import type { HubId } from '../../../core/ids.ts';
import type { CertificateChain } from '../../../wire/messages/certificate.ts';

/** What a certificate makes of a hub: one that takes part, or one that may also let others in. */
export type MemberRole = 'member' | 'inviter';

/** A hub as a certificate speaks of it whose signatures hold. Times in milliseconds since 1970. */
export interface Member {
  readonly hubId: HubId;
  readonly meshId: string;
  /** Raw Ed25519 key, 32 bytes, base64url. */
  readonly key: string;
  /** The same key, checked to be a sound point of the curve. */
  readonly publicKey: KeyObject;
  readonly roles: readonly MemberRole[];
  /** Grants that tokens issued by the hub may hold at most on other hubs. */
  readonly permissions: readonly string[];
  readonly issuedAtMs: number;
  readonly notBeforeMs: number;
  readonly expiresAtMs: number;
  /** The hub that let it in; absent where the root key signed. */
  readonly inviter?: HubId;
  readonly certificate: CertificateChain;
}

/** True for a hub that may let others in: the root key said so itself. */
export function isInviter({ roles, inviter }: Pick<Member, 'roles' | 'inviter'>): boolean {
  return inviter === undefined && roles.includes('inviter');
}
