import { type KeyObject, randomBytes } from 'node:crypto';
import { aadAfter, openSign1, signSign1 } from '../../codec/cose-sign1.ts';
import {
  type CertificateChain,
  type CertificateClaims,
  certificateChainCodec,
  certificateClaimsCodec,
} from '../../codec/messages/membership.ts';
import { hubIdOf, meshIdOf, publicKeyOf, type SigningKey } from '../../codec/public-key.ts';
import { excessPermissions, requireGrant } from '../../core/auth/permission.ts';
import { TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { MemberRole } from '../mesh-control.ts';

/** Hub with a certificate whose signatures are valid. Times are in milliseconds since 1970. */
export interface Member {
  readonly hubId: HubId;
  readonly meshId: string;
  /** Raw Ed25519 public key: 32 bytes, base64url. */
  readonly key: string;
  /** The same key as a key object; it is checked to be a valid curve point. */
  readonly publicKey: KeyObject;
  readonly roles: readonly MemberRole[];
  /** Upper limit of the permissions that the member's tokens can have on other hubs. */
  readonly permissions: readonly string[];
  readonly issuedAtMs: number;
  readonly notBeforeMs: number;
  readonly expiresAtMs: number;
  /** Hub that admitted the member; absent if the root key signed the member's certificate. */
  readonly inviter?: HubId;
  readonly certificate: CertificateChain;
}

/** Returns whether a hub may admit other hubs: it has the role `inviter`, and the root key signed its certificate. */
export function isInviter({ roles, inviter }: Pick<Member, 'roles' | 'inviter'>): boolean {
  return inviter === undefined && roles.includes('inviter');
}

/** Returns a certificate in its stored form: base64url text. */
export function certificateText(certificate: CertificateChain): string {
  return Buffer.from(certificateChainCodec.encode(certificate)).toString('base64url');
}

/** Parses a stored certificate. Throws VALIDATION_ERROR if the text is not a certificate. */
export function parseCertificate(text: string): CertificateChain {
  return certificateChainCodec.decode(Buffer.from(text, 'base64url'));
}

/** Id and key pair of this hub. The hub proves on every connection that it has the private key. */
export interface LocalHub extends SigningKey {
  readonly hubId: HubId;
}

const ROOT_AAD: Uint8Array = Buffer.from('atmosphere-edge membership v1', 'utf8');

/** Returns a certificate with one link, signed by the root key. */
export function signByRoot(claims: CertificateClaims, rootKey: KeyObject): CertificateChain {
  return [signSign1({ payload: certificateClaimsCodec.encode(claims), key: rootKey, externalAad: ROOT_AAD })];
}

/** Returns a certificate with two links. The first is the inviter's own link; the second has `claims` and is signed by the inviter. */
export function signByInviter(inviter: CertificateChain, claims: CertificateClaims, key: KeyObject): CertificateChain {
  const { rootLink } = linksOf(inviter);
  return [rootLink, signSign1({ payload: certificateClaimsCodec.encode(claims), key, externalAad: aadAfter(rootLink) })];
}

/**
 * Verifies a certificate, except for times and revocations, and returns its hub. `rootKey`, the mesh's root key (raw, base64url), must have
 * signed the first link. If there is a second link, the hub of the first link must have signed it, and it must not grant more than the
 * first. Otherwise throws PERMISSION_DENIED with the reason `certificate_invalid` or `other_mesh`.
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
  const claims = strict(() =>
    openSign1(link, { read: certificateClaimsCodec.decode, keyOf: (claimed) => publicKeyOf(keyOf(claimed)), externalAad }),
  );
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

/** Runs `read`. If `read` throws VALIDATION_ERROR, refuses the certificate with PERMISSION_DENIED. */
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

/** Returns the reason why the inviter with the claims `parent` may not grant `child`; undefined if the inviter may. */
function excessOf(child: CertificateClaims, parent: CertificateClaims): string | undefined {
  if (!parent.roles.includes('inviter')) return 'the hub that signed it may not let others in';
  if (child.issuer !== parent.subject) return 'it does not name the hub that signed it';
  if (child.meshId !== parent.meshId) return 'it is for another mesh than the one of the hub that signed it';
  // Only the root key grants the role `inviter`. An invited hub therefore admits nobody, and no chain needs a third link.
  if (child.roles.includes('inviter')) return 'only the root key makes a hub one that may let others in';
  if (startOf(child) < startOf(parent)) return 'it begins before that of the hub that signed it';
  if (child.expiresAt > parent.expiresAt) return 'it lasts longer than that of the hub that signed it';
  if (child.id === parent.id) return 'both of its links have one id';
  const beyond = excessPermissions(child.permissions, parent.permissions);
  return beyond.length > 0 ? 'it has permissions that the hub which signed it has not' : undefined;
}

/** Returns the start of the certificate in seconds since 1970. */
function startOf({ notBefore, issuedAt }: CertificateClaims): number {
  return notBefore ?? issuedAt;
}

const DAY_MS = 86_400_000;
const MEMBER_TTL_MS = 90 * DAY_MS;
const INVITER_TTL_MS = 5 * 365 * DAY_MS;

/** Content of a new certificate: the member's key, and the upper limit of the permissions of the member's tokens on other hubs. */
export interface CertificateRequest {
  readonly key: string;
  readonly permissions: readonly string[];
}

/** Returns a certificate for an inviter. Throws VALIDATION_ERROR if the key or a permission is invalid, CONFLICT without trusted time. */
export function inviterCertificate(root: SigningKey, request: CertificateRequest, time: TrustedTime): CertificateChain {
  const meshId = meshIdOf(root.publicKey);
  const claims = claimsOf(request, { issuer: meshId, meshId, roles: ['member', 'inviter'], nowMs: now(time), ttlMs: INVITER_TTL_MS });
  return signByRoot(claims, root.privateKey);
}

/**
 * Returns a certificate for a member, signed by this hub. It ends no later than this hub's own. Throws PERMISSION_DENIED if this hub may
 * not invite or lacks a permission, VALIDATION_ERROR if the key or a permission is not valid, CONFLICT if this hub's time is not trusted.
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

/** Throws PERMISSION_DENIED if this hub may not admit other hubs; the message says what to do. */
export function requireInviter(own: Member): void {
  if (isInviter(own)) return;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `This hub may not let others in. Do it on the hub that made the mesh, or let that hub's owner run: atmo mesh delegate ${own.hubId}`,
  );
}

/** Throws PERMISSION_DENIED if `own` lacks some of the permissions; `required` in the details lists the missing ones. */
export function requireWithin(permissions: readonly string[], own: Member): void {
  const beyond = excessPermissions(permissions, own.permissions);
  if (beyond.length === 0) return;
  throw new AtmoError('PERMISSION_DENIED', `This hub does not have ${beyond.join(', ')} in the mesh and cannot give it`, {
    required: beyond,
  });
}

function claimsOf(
  { key, permissions }: CertificateRequest,
  { nowMs, ttlMs, ...issue }: Pick<CertificateClaims, 'issuer' | 'meshId' | 'roles'> & { readonly nowMs: number; readonly ttlMs: number },
): CertificateClaims {
  publicKeyOf(key);
  const issuedAt = Math.floor(nowMs / 1000);
  return {
    ...issue,
    subject: hubIdOf(key),
    key,
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

/** Returns whether a certificate has expired. It counts as expired only a minute after its end, because clocks may differ. */
export function isExpired({ expiresAtMs }: Pick<Member, 'expiresAtMs'>, time: TrustedTime): boolean {
  return time.now() >= expiresAtMs + TOKEN_SKEW_MS;
}

/** Throws PERMISSION_DENIED if a certificate has expired or is not valid yet. */
export function requireInTime(member: Member, time: TrustedTime): void {
  if (isExpired(member, time)) {
    refuseAtGate(
      'expired',
      `The membership of ${member.hubId} ended at ${isoTime(member.expiresAtMs)}. Let it join again with a new invite, or check the clocks`,
    );
  }
  // Without trusted time, the start is not checked: a board with a slow clock would refuse every certificate as not yet valid. This is
  // safe, because no certificate is made for the future.
  if (!time.isTrusted()) return;
  const startMs = Math.max(member.notBeforeMs, member.issuedAtMs - BACKDATED_MS);
  if (time.now() >= startMs - TOKEN_SKEW_MS) return;
  refuseAtGate('not_yet_valid', `The membership of ${member.hubId} begins at ${isoTime(startMs)}. Check the clocks of both hubs`);
}

/** A certificate begins this many milliseconds before its issue, so that a new member with a slow clock can use it at once. */
const BACKDATED_MS = 3_600_000;

/** Reason to refuse a hub during the handshake; metrics count refusals by reason. */
type GateReason =
  | 'malformed'
  | 'unknown_version'
  | 'self'
  | 'other_mesh'
  | 'not_a_member'
  | 'certificate_invalid'
  | 'certificate_of_another'
  | 'expired'
  | 'not_yet_valid'
  | 'revoked'
  | 'invite_unknown'
  | 'invite_expired'
  | 'invite_used'
  | 'wrong_proof'
  | 'too_many_attempts'
  | 'refused_by_peer';

/** Throws PERMISSION_DENIED with the reason in `details.reason`; the message says what to do. */
export function refuseAtGate(reason: GateReason, message: string): never {
  throw new AtmoError('PERMISSION_DENIED', message, { reason });
}
