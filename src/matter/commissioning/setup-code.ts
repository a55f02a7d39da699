import '../matter-platform.ts';
import { DiscoveryCapabilitiesSchema, isValidPasscode, ManualPairingCodeCodec, QrPairingCodeCodec } from '@matter/main/types';
import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';

/** The content of a setup code for one device (Core §5.1). */
export interface SetupPayload {
  /** Secret: never logged and never part of an error. */
  readonly passcode: number;
  /** The 12-bit discriminator; absent for a manual pairing code. */
  readonly discriminator?: number;
  /** The upper 4 bits of the discriminator; present only for a manual pairing code. */
  readonly shortDiscriminator?: number;
  readonly vendorId?: number;
  readonly productId?: number;
  /** Transports over which an uncommissioned device can be found; absent for a manual pairing code. */
  readonly transports?: { readonly ble: boolean; readonly ip: boolean };
}

const QR_PREFIX = 'MT:';
const QR_PAYLOAD_MIN_LENGTH = 19;
const QR_PAYLOAD_MAX_LENGTH = 255;

/**
 * Parses a setup code: QR text `MT:…`, where `*` separates several payloads, or a manual pairing code of 11 or 21 digits, which may contain
 * dashes and spaces. Returns one payload per device. If the code is wrong, throws VALIDATION_ERROR; the message never quotes the code.
 */
export function parseSetupCode(text: string): readonly SetupPayload[] {
  const code = text.trim();
  if (code === '') throw invalid('it is empty');
  if (/^mt:/i.test(code)) {
    const parts = code.toUpperCase().slice(QR_PREFIX.length).split('*');
    return parts.map((part, index) => parseQrPayload(part, parts.length === 1 ? 'it' : `its payload ${index + 1} of ${parts.length}`));
  }
  return [parseManualCode(code)];
}

/** Returns a setup payload. Throws VALIDATION_ERROR if the passcode is not valid or the discriminator does not fit in 12 bits. */
export function setupPayload(passcode: number, discriminator: number): SetupPayload {
  if (!Number.isInteger(discriminator) || discriminator < 0 || discriminator > 0xfff) {
    throw new AtmoError('VALIDATION_ERROR', 'The discriminator must be a whole number from 0 to 4095', { pointer: '/discriminator' });
  }
  checkPasscode(passcode, '/passcode');
  return { passcode, discriminator };
}

function parseQrPayload(part: string, which: string): SetupPayload {
  if (part.length < QR_PAYLOAD_MIN_LENGTH || part.length > QR_PAYLOAD_MAX_LENGTH) {
    throw invalid(
      `${which} has ${part.length} characters after MT:, but ${QR_PAYLOAD_MIN_LENGTH} to ${QR_PAYLOAD_MAX_LENGTH} are needed; scan or copy all of it`,
    );
  }
  const bad = part.search(/[^0-9A-Z.-]/);
  if (bad >= 0) throw invalid(`${which} has a character at position ${bad + 1} that QR codes of Matter never have`);
  const { version, passcode, discriminator, vendorId, productId, discoveryCapabilities } = decodeQr(part, which);
  if (version !== 0) throw invalid(`${which} is of version ${version}, and only version 0 is known`);
  checkPasscode(passcode, '/code');
  const { ble, onIpNetwork } = DiscoveryCapabilitiesSchema.decode(discoveryCapabilities);
  return { passcode, discriminator, vendorId, productId, transports: { ble, ip: onIpNetwork } };
}

function decodeQr(part: string, which: string) {
  // The codec rejects payloads whose length is a multiple of five. The two added zeros decode to one more byte, which is not used.
  const padded = part.length % 5 === 0 ? `${part}00` : part;
  try {
    const [data] = QrPairingCodeCodec.decode(QR_PREFIX + padded, false);
    if (data !== undefined) return data;
  } catch {
    // The codec's error message quotes the code, so it is not passed on.
  }
  throw invalid(`${which} cannot be decoded; scan or copy it again`);
}

function parseManualCode(code: string): SetupPayload {
  const digits = code.replace(/[-\s]/g, '');
  if (!/^\d+$/.test(digits)) throw invalid('a manual pairing code has digits only, and a QR code starts with MT:');
  if (digits.length !== 11 && digits.length !== 21) throw invalid(`it has ${digits.length} digits, but 11 or 21 are needed`);
  const hasIds = (Number(digits[0]) & 4) !== 0;
  if (Number(digits[0]) > 7) throw invalid('its first digit is 8 or 9, which no code of today has');
  if (hasIds !== (digits.length === 21)) {
    throw invalid(`it has ${digits.length} digits, but its first digit asks for ${hasIds ? 21 : 11}`);
  }
  const { passcode, shortDiscriminator, vendorId, productId } = decodeManual(digits);
  checkPasscode(passcode, '/code');
  return present({ passcode, shortDiscriminator, vendorId, productId });
}

function decodeManual(digits: string) {
  try {
    return ManualPairingCodeCodec.decode(digits, false);
  } catch {
    // Length and version are already checked, so only the Verhoeff check digit can be wrong.
    throw invalid('its check digit does not fit: one digit is wrong or two are swapped');
  }
}

function checkPasscode(passcode: number, pointer: string): void {
  if (isValidPasscode(passcode)) return;
  const message =
    'The passcode must be a number from 1 to 99999998 and none of the trivial ones, such as 11111111 or 12345678 (Core §5.1.7)';
  throw new AtmoError('VALIDATION_ERROR', message, { pointer });
}

function invalid(reason: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The setup code is not valid: ${reason}`, { pointer: '/code' });
}
