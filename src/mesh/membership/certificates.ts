import { type KeyObject, randomBytes } from 'node:crypto';
import { aadAfter, openSign1, signSign1 } from '../../codec/cose-sign1.ts';
import {
  type CertificateChain,
  type CertificateClaims,
  decodeCertificateClaims,
  encodeCertificateClaims,
} from '../../codec/messages/membership.ts';
import { hubIdOf, meshIdOf, publicKeyOf } from '../../codec/public-key.ts';
import { excessPermissions, requireGrant } from '../../core/auth/permission.ts';
import { TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { refuseAtGate } from './gate-refusal.ts';
import type { OpenRootKey } from './root-key.ts';

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

/** The key that this hub proves to have with every connection, and what it is called by it. */
export interface LocalHub {
  readonly hubId: HubId;
  /** Raw Ed25519 key, 32 bytes, base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

const ROOT_AAD: Uint8Array = Buffer.from('atmosphere-edge membership v1', 'utf8');

/** The certificate of a hub that the root key lets in. */
export function signByRoot(claims: CertificateClaims, rootKey: KeyObject): CertificateChain {
  return [signSign1({ payload: encodeCertificateClaims(claims), key: rootKey, externalAad: ROOT_AAD })];
}

/** The certificate of a hub that `inviter` lets in, signed with the inviter's own key. */
export function signByInviter(inviter: CertificateChain, claims: CertificateClaims, key: KeyObject): CertificateChain {
  const { rootLink } = linksOf(inviter);
  return [rootLink, signSign1({ payload: encodeCertificateClaims(claims), key, externalAad: aadAfter(rootLink) })];
}

/**
 * Whom a chain speaks for: the first link is signed by the mesh's root key (raw, base64url), a second one by the hub of the
 * first and narrower than it. PERMISSION_DENIED with the reason `certificate_invalid` or `other_mesh`; times and revocations
 * are not looked at.
 */
export function verifyCertificate(certificate: CertificateChain, rootKey: string): Member {
  const { rootLink, invitedLink } = linksOf(certificate);
  const meshId = meshIdOf(rootKey);
  const root = verifyLink(rootLink, ROOT_AAD, ({ meshId: claimed }) => {
    if (claimed !== meshId) refuseAtGate('other_mesh', `The certificate is for ${claimed}, this is ${meshId}`);
    return rootKey;
  });
  if (root.issuer !== meshId) refuse('it does not name the mesh that signed it');
  if (!invitedLink) return memberOf(root, certificate);
  const invited = verifyLink(invitedLink, aadAfter(rootLink), () => root.key);
  const excess = excessOf(invited, root);
  return excess === undefined ? memberOf(invited, certificate, root) : refuse(excess);
}

function linksOf([rootLink, invitedLink, ...more]: CertificateChain): { readonly rootLink: Uint8Array; readonly invitedLink?: Uint8Array } {
  if (!rootLink || more.length > 0) return refuse('it is not a chain of one or two links');
  return invitedLink ? { rootLink, invitedLink } : { rootLink };
}

function verifyLink(link: Uint8Array, externalAad: Uint8Array, keyOf: (claims: CertificateClaims) => string): CertificateClaims {
  const claims = strict(() => openSign1(link, { read: decodeCertificateClaims, keyOf: (said) => publicKeyOf(keyOf(said)), externalAad }));
  if (claims.subject !== hubIdOf(claims.key)) refuse('the id of its hub does not come from its key');
  strict(() => claims.permissions.forEach(requireGrant));
  return claims;
}

function memberOf(claims: CertificateClaims, certificate: CertificateChain, inviter?: CertificateClaims): Member {
  return {
    hubId: claims.subject,
    meshId: claims.meshId,
    key: claims.key,
    publicKey: strict(() => publicKeyOf(claims.key)),
    roles: claims.roles,
    permissions: claims.permissions,
    issuedAtMs: claims.issuedAt * 1000,
    notBeforeMs: startOf(claims) * 1000,
    expiresAtMs: claims.expiresAt * 1000,
    ...(inviter && { inviter: inviter.subject }),
    certificate,
  };
}

/** What the codec refuses is the certificate's fault, not that of a parameter. */
function strict<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof AtmoError && thrown.code === 'VALIDATION_ERROR') return refuse(thrown.message);
    throw thrown;
  }
}

function refuse(problem: string): never {
  return refuseAtGate('certificate_invalid', `The membership certificate does not hold: ${problem}`);
}

/** How the certificate of an invited hub reaches beyond its inviter's, in words; undefined when it is narrower or equal in all. */
function excessOf(child: CertificateClaims, parent: CertificateClaims): string | undefined {
  if (!parent.roles.includes('inviter')) return 'the hub that signed it may not let others in';
  if (child.issuer !== parent.subject) return 'it does not name the hub that signed it';
  if (child.meshId !== parent.meshId) return 'it is for another mesh than the one of the hub that signed it';
  // A third link would be one too many: the right to let others in comes from the root key alone.
  if (child.roles.includes('inviter')) return 'only the root key makes a hub one that may let others in';
  if (startOf(child) < startOf(parent)) return 'it begins before that of the hub that signed it';
  if (child.expiresAt > parent.expiresAt) return 'it lasts longer than that of the hub that signed it';
  if (child.id === parent.id) return 'both of its links have one id';
  const beyond = excessPermissions(child.permissions, parent.permissions);
  return beyond.length > 0 ? 'it has permissions that the hub which signed it has not' : undefined;
}

/** When it begins, seconds since 1970. */
function startOf({ notBefore, issuedAt }: CertificateClaims): number {
  return notBefore ?? issuedAt;
}

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
  { own, self }: { readonly own: Member; readonly self: LocalHub },
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

/** True once the certificate has ended, clocks that differ by a minute allowed for. */
export function isExpired({ expiresAtMs }: Pick<Member, 'expiresAtMs'>, time: TrustedTime): boolean {
  return time.now() >= expiresAtMs + TOKEN_SKEW_MS;
}

/** Refuses a certificate that has ended or has not begun. */
export function requireInTime(member: Member, time: TrustedTime): void {
  if (isExpired(member, time)) {
    refuseAtGate(
      'expired',
      `The membership of ${member.hubId} ended at ${isoTime(member.expiresAtMs)}. Let it join again with a new invite, or check the clocks`,
    );
  }
  // A board that woke in the past would find every certificate too young; no issuer makes one for later.
  if (!time.isTrusted()) return;
  const startMs = Math.max(member.notBeforeMs, member.issuedAtMs - BACKDATED_MS);
  if (time.now() >= startMs - TOKEN_SKEW_MS) return;
  refuseAtGate('not_yet_valid', `The membership of ${member.hubId} begins at ${isoTime(startMs)}. Check the clocks of both hubs`);
}

/** Certificates begin before they are made, so that a hub with a slow clock does not refuse a new member. */
const BACKDATED_MS = 3_600_000;
