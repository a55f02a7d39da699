import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DbusValue, decodeMessage, encodeMessage, marshal, splitSignature, unmarshal } from '../../../src/matter/ble/dbus-message.ts';

describe('D-Bus values', () => {
  test('have a signature of complete types', () => {
    expect(splitSignature('sa{sv}(ia(yy))aay')).toEqual(['s', 'a{sv}', '(ia(yy))', 'aay']);
    expect(() => splitSignature('(i')).toThrow(/cut off/);
  });

  test.each(['()', 'a()', '{}', 'a{}', 'a{s}', 'a{sss}', '(())'])(
    'have no type %s, whose values would take no bytes or no pair',
    (signature) => {
      expect(() => splitSignature(signature)).toThrow(/members/);
    },
  );

  test.each(['a()', '', 'ii'])('in a variant are one value of a type; "%s" is refused', (signature) => {
    // Without the refusal, the array would have items without end.
    const bytes = Uint8Array.from([signature.length, ...Buffer.from(signature), 0, ...new Array(16).fill(1)]);
    expect(() => unmarshal('v', bytes)).toThrow(/cannot be read/);
  });

  test('have the layout of the specification', () => {
    // A byte, then an array of 64-bit numbers: its length on a 4-byte boundary, its items on an 8-byte one.
    expect([...marshal('yat', [7, [1n]])]).toEqual([7, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    expect([...marshal('gs', ['ay', 'hi'])]).toEqual([2, 97, 121, 0, 2, 0, 0, 0, 104, 105, 0]);
  });

  test('are decoded to the encoded values', () => {
    const properties = fc.dictionary(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 })).map((object) => {
      return new Map(Object.entries(object).map(([key, value]) => [key, { signature: 's', value }]));
    });
    fc.assert(
      fc.property(
        fc.integer({ min: -32768, max: 32767 }),
        fc.boolean(),
        fc.uint8Array({ maxLength: 40 }),
        properties,
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        (n, b, ay, map, x) => {
          const values: readonly DbusValue[] = [n, b, ay, map, [x, [1.5]]];
          expect(unmarshal('nbaya{sv}(xad)', marshal('nbaya{sv}(xad)', values)).values).toEqual(values);
        },
      ),
    );
  });

  test('are never read beyond the end of random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 120 }), (noise) => {
        noise[0] = 0x6c;
        try {
          const decoded = decodeMessage(noise);
          if (decoded !== undefined) expect(decoded.end).toBeLessThanOrEqual(noise.length);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/RESULT_INVALID|PAYLOAD_TOO_LARGE/) });
        }
      }),
    );
  });

  test('are decoded from a message only when it is complete', () => {
    const call = {
      type: 'call',
      serial: 9,
      path: '/a',
      interface: 'b.c',
      member: 'D',
      destination: 'e.f',
      signature: 'su',
      body: ['x', 4],
    } as const;
    const bytes = encodeMessage(call);
    expect(decodeMessage(bytes)).toMatchObject({ message: call, end: bytes.length });
    expect(decodeMessage(bytes.slice(0, -1))).toBeUndefined();
  });
});
