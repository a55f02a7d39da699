import {
  CommissioningFlowType,
  DiscoveryCapabilitiesSchema,
  ManualPairingCodeCodec,
  QrPairingCodeCodec,
  VendorId,
} from '@matter/main/types';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { parseSetupCode, setupPayload } from '../../../src/matter/commissioning/setup-code.ts';

function qr(passcode: number, discriminator: number, extra: { tlvData?: Uint8Array } = {}): string {
  const discoveryCapabilities = DiscoveryCapabilitiesSchema.encode({ ble: true, onIpNetwork: false });
  const flowType = CommissioningFlowType.Standard;
  return QrPairingCodeCodec.encode([
    { version: 0, vendorId: VendorId(0xfff1), productId: 0x8000, flowType, discoveryCapabilities, discriminator, passcode, ...extra },
  ]);
}

const sample = {
  version: 0,
  vendorId: 1,
  productId: 1,
  flowType: CommissioningFlowType.Standard,
  discoveryCapabilities: 4,
  discriminator: 1,
};

/** Encodes what the codec itself would refuse. */
function unchecked(codec: object, value: unknown): string {
  return (codec as { encodeInternal(value: unknown): string }).encodeInternal(value);
}

function refusal(code: string): AtmoError {
  try {
    parseSetupCode(code);
  } catch (error) {
    if (error instanceof AtmoError) return error;
    throw error;
  }
  expect.unreachable('the code was accepted');
}

const passcodes = fc.integer({ min: 1, max: 99_999_998 }).filter((value) => !/^(\d)\1{7}$|^12345678$|^87654321$/.test(String(value)));
const discriminators = fc.integer({ min: 0, max: 4095 });

describe('setup codes', () => {
  test('the specification sample of a QR code is read', () => {
    expect(parseSetupCode('MT:Y.K90AFN00KA0648G00')).toEqual([
      { passcode: 20202021, discriminator: 3840, vendorId: 0xfff1, productId: 0x8000, transports: { ble: false, ip: true } },
    ]);
  });

  test('dashes, spaces and lower case do not matter', () => {
    expect(parseSetupCode(' 3497-011 2332 ')).toEqual([{ passcode: 20202021, shortDiscriminator: 15 }]);
    expect(parseSetupCode('mt:y.k90afn00ka0648g00')).toEqual(parseSetupCode('MT:Y.K90AFN00KA0648G00'));
  });

  test('every QR code of the codec is parsed completely', () => {
    fc.assert(
      fc.property(passcodes, discriminators, (passcode, discriminator) => {
        expect(parseSetupCode(qr(passcode, discriminator))).toMatchObject([{ passcode, discriminator, transports: { ble: true } }]);
      }),
    );
  });

  test('a QR code with data of any length behind it is read', () => {
    for (let length = 1; length <= 12; length++) {
      expect(parseSetupCode(qr(20202021, 3840, { tlvData: new Uint8Array(length) }))).toMatchObject([{ passcode: 20202021 }]);
    }
  });

  test('several payloads are several devices', () => {
    const joined = `${qr(20202021, 1)}*${qr(20202022, 2).slice(3)}`;
    expect(parseSetupCode(joined).map((payload) => payload.discriminator)).toEqual([1, 2]);
    expect(refusal(`${qr(20202021, 1)}*AB`).message).toContain('payload 2 of 2 has 2 characters');
  });

  test('manual codes of 11 and 21 digits are parsed', () => {
    fc.assert(
      fc.property(passcodes, discriminators, fc.boolean(), (passcode, discriminator, isLong) => {
        const ids = isLong ? { vendorId: VendorId(0xfff1), productId: 0x8001, flowType: CommissioningFlowType.Custom } : {};
        const code = ManualPairingCodeCodec.encode({ passcode, discriminator, ...ids });
        expect(code).toHaveLength(isLong ? 21 : 11);
        expect(parseSetupCode(code)).toMatchObject([{ passcode, shortDiscriminator: discriminator >> 8 }]);
      }),
    );
  });

  test('any single wrong digit is found by the check digit', () => {
    const code = '34970112332';
    for (let at = 1; at < code.length; at++) {
      const wrong = code.slice(0, at) + ((Number(code[at]) + 3) % 10) + code.slice(at + 1);
      expect(refusal(wrong).message).toContain('check digit');
    }
  });

  test.each([
    ['', 'empty'],
    ['1234', 'has 4 digits, but 11 or 21'],
    ['54970112332', 'first digit asks for 21'],
    ['94970112332', 'first digit is 8 or 9'],
    ['349701x2332', 'digits only'],
    ['MT:Y.K90', 'has 5 characters after MT:'],
    ['MT:Y.K90AFN00KA064_G00', 'character at position 16'],
  ])('%j is refused with its reason', (code, reason) => {
    const error = refusal(code);
    expect(error.code).toBe('VALIDATION_ERROR');
    expect(error.message).toContain(reason);
  });

  test('a trivial passcode is refused in every form', () => {
    for (const passcode of [0, 11111111, 12345678, 87654321, 99999999]) {
      expect(refusal(unchecked(QrPairingCodeCodec, [{ ...sample, passcode }])).message).toContain('passcode must be');
      expect(refusal(unchecked(ManualPairingCodeCodec, { passcode, discriminator: 1 })).message).toContain('passcode must be');
    }
  });

  test('no refusal repeats the code', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^(MT:[0-9A-Z.-]{19,30}|[0-9]{8,24})$/), (code) => {
        try {
          parseSetupCode(code);
        } catch (error) {
          const secret = code.replace('MT:', '');
          expect(JSON.stringify(error instanceof AtmoError ? error.toBody() : String(error))).not.toContain(secret);
        }
      }),
    );
  });

  test('passcode and discriminator are checked too', () => {
    expect(setupPayload(20202021, 3840)).toEqual({ passcode: 20202021, discriminator: 3840 });
    for (const passcode of [0, 12345678, 99999999, 1.5]) expect(() => setupPayload(passcode, 1)).toThrow(/passcode must be/);
    for (const discriminator of [-1, 4096, 0.5]) expect(() => setupPayload(20202021, discriminator)).toThrow(/0 to 4095/);
  });
});
