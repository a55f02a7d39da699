import { randomBytes } from 'node:crypto';
import { excessPermissions } from '../../../core/access/permission.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { TrustedTime } from '../../../core/time/trusted-time.ts';
import { publicKeyOf } from '../../../wire/ed25519-key.ts';
import { hubIdOf, meshIdOf } from '../../../wire/hub-id.ts';
import type { CertificateChain, CertificateClaims } from '../../../wire/messages/certificate.ts';
import { isInviter, type Member, type MemberRole } from '../members/member.ts';
import type { OwnHub } from '../members/own-hub.ts';
import { signByInviter, signByRoot } from './certificate-chain.ts';
import { BACKDATED_MS } from './certificate-time.ts';
import type { OpenRootKey } from './root-key.ts';

const DAY_MS = 86_400_000;
/** How long a member's certificate lasts. */
const MEMBER_TTL_MS = 90 * DAY_MS;
/** How long the certificate of a hub lasts that the root key lets in to invite others. */
const INVITER_TTL_MS = 5 * 365 * DAY_MS;

/** The hub that is to get a certificate, and what tokens issued by it may hold on other hubs. */
export interface CertificateRequest {
  /** Raw Ed25519 key, base64url. */
  readonly key: string;
  readonly permissions: readonly string[];
}

/** The certificate of a hub that may let others in. VALIDATION_ERROR for a key or permissions that cannot be, CONFLICT without trusted time. */
export function inviterCertificate(root: OpenRootKey, request: CertificateRequest, time: TrustedTime): CertificateChain {
  const meshId = meshIdOf(root.publicKey);
  const claims = claimsOf(request, { issuer: meshId, meshId, roles: ['member', 'inviter'], nowMs: now(time), ttlMs: INVITER_TTL_MS });
  return signByRoot(claims, root.privateKey);
}

/**
 * The certificate of a hub that an inviter lets in; it ends with the inviter's own. PERMISSION_DENIED when the inviter may not
 * invite or gives what it does not have; VALIDATION_ERROR, CONFLICT as above.
 */
export function memberCertificate(
  { own, self }: { readonly own: Member; readonly self: OwnHub },
  request: CertificateRequest,
  time: TrustedTime,
): CertificateChain {
  requireInviter(own);
  requireWithin(request.permissions, own);
  const nowMs = now(time);
  const claims = claimsOf(request, { issuer: own.hubId, meshId: own.meshId, roles: ['member'], nowMs, ttlMs: MEMBER_TTL_MS });
  const expiresAt = Math.min(claims.expiresAt, Math.floor(own.expiresAtMs / 1000));
  const notBefore = Math.max(claims.notBefore ?? 0, Math.ceil(own.notBeforeMs / 1000));
  return signByInviter(own.certificate, { ...claims, expiresAt, notBefore }, self.privateKey);
}

/** PERMISSION_DENIED says who may. */
export function requireInviter(own: Member): void {
  if (isInviter(own)) return;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `This hub may not let others in. Do it on the hub that made the mesh, or let that hub's owner run: atmo mesh delegate ${own.hubId}`,
  );
}

/** PERMISSION_DENIED names what the giver does not have. */
export function requireWithin(permissions: readonly string[], own: Member): void {
  const beyond = excessPermissions(permissions, own.permissions);
  if (beyond.length === 0) return;
  throw new AtmoError('PERMISSION_DENIED', `This hub does not have ${beyond.join(', ')} in the mesh and cannot give it`, {
    required: beyond,
  });
}

interface ClaimFrame {
  readonly issuer: string;
  readonly meshId: string;
  readonly roles: readonly MemberRole[];
  readonly nowMs: number;
  readonly ttlMs: number;
}

function claimsOf({ key, permissions }: CertificateRequest, { issuer, meshId, roles, nowMs, ttlMs }: ClaimFrame): CertificateClaims {
  publicKeyOf(key);
  const issuedAt = Math.floor(nowMs / 1000);
  return {
    issuer,
    subject: hubIdOf(key),
    key,
    meshId,
    roles,
    permissions: [...new Set(permissions)],
    issuedAt,
    notBefore: issuedAt - BACKDATED_MS / 1000,
    expiresAt: issuedAt + ttlMs / 1000,
    id: randomBytes(16).toString('hex'),
  };
}

function now(time: TrustedTime): number {
  if (time.isTrusted()) return time.now();
  throw new AtmoError(
    'CONFLICT',
    'The time of this hub is not known, and memberships have an end. Connect it to the network or run: atmo clock set TIME',
  );
}
