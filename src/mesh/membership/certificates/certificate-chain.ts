import type { KeyObject } from 'node:crypto';
import { requireGrant } from '../../../core/access/permission.ts';
import { AtmoError } from '../../../core/errors.ts';
import { aadAfter, openSign1, signSign1 } from '../../../wire/cose-sign1.ts';
import { publicKeyOf } from '../../../wire/ed25519-key.ts';
import { hubIdOf, meshIdOf } from '../../../wire/hub-id.ts';
import {
  type CertificateChain,
  type CertificateClaims,
  decodeCertificateClaims,
  encodeCertificateClaims,
} from '../../../wire/messages/certificate.ts';
import { refuseAtGate } from '../joining/gate-refusal.ts';
import type { Member } from '../members/member.ts';
import { excessOf, startOf } from './certificate-narrowing.ts';

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
