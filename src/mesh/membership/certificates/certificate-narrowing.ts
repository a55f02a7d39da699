import { excessPermissions } from '../../../core/access/permission.ts';
import type { CertificateClaims } from '../../../wire/messages/certificate.ts';

/** How the certificate of an invited hub reaches beyond its inviter's, in words; undefined when it is narrower or equal in all. */
export function excessOf(child: CertificateClaims, parent: CertificateClaims): string | undefined {
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
export function startOf({ notBefore, issuedAt }: CertificateClaims): number {
  return notBefore ?? issuedAt;
}
