import '../matter-platform.ts';
import type { AttestationFinding } from '@matter/main/protocol';
import type { AttestationPolicy } from '../../core/devices/device-administration.ts';

/** What the attestation of a device (Core §6.2.3) came to under the owner's policy. */
export interface AttestationVerdict {
  readonly isAccepted: boolean;
  /** One sentence each, for a person. */
  readonly findings: readonly string[];
}

/** What findings mean for a person; others are told in matter.js's words. */
const MEANINGS: Readonly<Record<string, string>> = {
  DclServiceUnavailable: "trust could not be checked offline: whether the maker's certificate is on the list of certified products",
  CdSignerVerificationSkipped: "who signed the product's certification could not be checked offline",
  CertificationTypeTest: 'the product is certified for testing only',
  CertificationTypeProvisional: 'the product is certified provisionally',
  TrustedAsTestCertificate: "the maker's certificate is a test certificate",
  PaaNotTrusted: "the maker's certificate is not trusted",
  CertificateRevoked: "the device's certificate was revoked",
  CertificateExpired: "the device's certificate has expired",
  CertificateChainInvalid: "the device's certificates do not fit together",
  AttestationSignatureInvalid: 'the device could not prove that its certificate is its own',
  VendorIdMismatch: 'the device claims another maker than its certificate',
  CertificationDeclarationFieldMismatch: 'the certification is for another product',
};

/**
 * Judges findings: `strict` refuses any warning or error, `ask` refuses errors unless a person has accepted them
 * before, `off` refuses nothing. What is only informative never decides.
 */
export function judgeAttestation(
  policy: AttestationPolicy,
  findings: readonly AttestationFinding[],
  acceptance: 'accepted' | 'not-accepted',
): AttestationVerdict {
  const has = (level: AttestationFinding['level']): boolean => findings.some((finding) => finding.level === level);
  const isRefused =
    policy === 'strict' ? has('error') || has('warning') : policy === 'ask' && has('error') && acceptance === 'not-accepted';
  return { isAccepted: !isRefused, findings: findings.map(describe) };
}

function describe({ level, type, message }: AttestationFinding): string {
  return `${level}: ${MEANINGS[type] ?? message.slice(0, 200)} (${type})`;
}
