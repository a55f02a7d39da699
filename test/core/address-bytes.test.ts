import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressBytes } from '../../src/core/ip-address.ts';

test('an address is its bytes, whatever its form', () => {
  expect([...addressBytes('127.0.0.1')]).toEqual([127, 0, 0, 1]);
  const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(groups, (parts) => {
      const text = parts.map((part) => part.toString(16)).join(':');
      expect([...addressBytes(text)]).toEqual(parts.flatMap((part) => [part >> 8, part & 0xff]));
    }),
  );
});
