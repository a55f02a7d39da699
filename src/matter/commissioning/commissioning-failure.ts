import '../matter-platform.ts';
import { causedBy, NetworkError, NoResponseTimeoutError, UnexpectedDataError } from '@matter/main';
import {
  type AttestationFinding,
  ChannelStatusResponseError,
  CommissioningTimeoutError,
  DeviceAlreadyCommissionedToThisFabricError,
  FabricLabelConflictError,
  MaximumCommissionedFabricsReachedError,
  OperativeConnectionFailedError,
  PairRetransmissionLimitReachedError,
  PeerCommunicationError,
  ThreadNetworkNameMismatchError,
  ThreadNetworkSetupFailedError,
  WifiNetworkSetupFailedError,
  WifiOrThreadNetworkCredentialsNotConfiguredError,
} from '@matter/main/protocol';
import type { AttestationPolicy, CommissionStep } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';

/** Why a commissioning failed: `details.reason` of COMMISSIONING_FAILED. */
export type FailureReason =
  | 'not_found'
  | 'wrong_passcode'
  | 'window_closed'
  | 'already_commissioned'
  | 'attestation_refused'
  | 'network_credentials_missing'
  | 'network_rejected'
  | 'device_full'
  | 'label_conflict'
  | 'unreachable'
  | 'not_joined'
  | 'timeout'
  | 'refused';

const ADVICE: Readonly<Record<FailureReason, string>> = {
  not_found:
    'Is it powered and in pairing mode, and in the same network as the hub? A device that belongs to a home already shows itself only after its owner shares it. Reset it to factory settings if that home is gone.',
  wrong_passcode:
    'The device refused the passcode. Check the code on the device or its packaging; a shared device has a new code each time.',
  window_closed: 'The device is there but takes no pairing now. Put it in pairing mode, or have the home it belongs to share it.',
  already_commissioned: 'The device belongs to this home already. Look it up with `atmo devices`; remove it first to commission it anew.',
  attestation_refused:
    'Check that this is the device you bought. To take it all the same, repeat with accept_attestation (--accept-attestation of atmo). ' +
    'The setting `matter.attestation: strict` does not allow that: set `ask` first.',
  network_credentials_missing:
    'The device needs Wi-Fi or Thread credentials: repeat with the name of a stored set (`--wifi NAME` or `--thread NAME`).',
  network_rejected:
    'The device could not join the network. Check name and password of the stored set, and that the network is in reach (many devices know 2.4 GHz only).',
  device_full: 'The device belongs to as many homes as it can. Remove it from one of them.',
  label_conflict:
    'Another home on the device has the label of this hub, mostly an earlier hub. Remove the device there or reset it, then try again.',
  unreachable: 'The device was seen but does not answer. Bring it closer, restart it, and try again.',
  not_joined:
    'The device took its credentials but did not show up on the network. Check that hub and device share the network and that IPv6 and multicast pass.',
  timeout: 'The device was too slow. Restart it and try again.',
  refused: 'Restart the device, or reset it to factory settings, and try again.',
};

type ErrorType = Parameters<typeof causedBy>[1];

/** Error classes of matter.js for each reason, the most specific first. */
const REASONS: readonly (readonly [FailureReason, ...ErrorType[]])[] = [
  ['already_commissioned', DeviceAlreadyCommissionedToThisFabricError],
  ['device_full', MaximumCommissionedFabricsReachedError],
  ['label_conflict', FabricLabelConflictError],
  ['network_credentials_missing', WifiOrThreadNetworkCredentialsNotConfiguredError],
  ['network_rejected', WifiNetworkSetupFailedError, ThreadNetworkSetupFailedError, ThreadNetworkNameMismatchError],
  ['timeout', CommissioningTimeoutError],
  ['not_joined', OperativeConnectionFailedError],
];
const UNREACHABLE: readonly ErrorType[] = [
  PairRetransmissionLimitReachedError,
  NoResponseTimeoutError,
  PeerCommunicationError,
  NetworkError,
];

/** Returns the reason for an error that matter.js threw during PASE pairing or later in its commissioning flow. */
export function reasonOf(error: unknown, phase: 'pairing' | 'flow'): FailureReason {
  const known = REASONS.find(([, ...types]) => isCausedBy(error, types));
  if (known !== undefined) return known[0];
  if (phase === 'pairing') {
    // PASE checks only the passcode. So if either peer rejects the key confirmation, the passcode is wrong (Core §4.14.1).
    if (causedBy(error, UnexpectedDataError)) return 'wrong_passcode';
    if (causedBy(error, ChannelStatusResponseError)) return 'window_closed';
  }
  return isCausedBy(error, UNREACHABLE) ? 'unreachable' : 'refused';
}

/** Returns a COMMISSIONING_FAILED error with `step`, `reason` and `advice`. The error contains no part of the setup code. */
export function commissioningFailed(
  reason: FailureReason,
  step: CommissionStep,
  more: { readonly cause?: unknown; readonly findings?: readonly string[] } = {},
): AtmoError {
  const details = present({ step, reason, advice: ADVICE[reason], findings: more.findings });
  const message = `Commissioning failed at "${step}" (${reason}). ${ADVICE[reason]}`;
  return new AtmoError('COMMISSIONING_FAILED', message, details, { cause: more.cause });
}

function isCausedBy(error: unknown, types: readonly ErrorType[]): boolean {
  return types.some((type) => causedBy(error, type));
}

/** Result of device attestation (Core §6.2.3) under the owner's attestation policy. */
export interface AttestationVerdict {
  readonly isAccepted: boolean;
  /** Attestation findings for people, one sentence each. */
  readonly findings: readonly string[];
}

/** Descriptions of the attestation findings of matter.js for people. Other findings keep the message of matter.js. */
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
 * Returns whether the attestation is accepted. `strict` refuses warnings and errors. `ask` refuses errors, unless a person has accepted
 * them. `off` refuses nothing. Informative findings are always accepted.
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
