import { expect, test } from 'vitest';
import { incompatibilityOf, isForProduct } from '../../../src/matter/updates/update-images.ts';
import { image } from './test-image.ts';

const node = (number: number) => ({ vendorId: 0xfff1, productId: 0x8000, version: { number, text: `v${number}` } });

test('an image fits a device of its product with an older version', () => {
  expect(incompatibilityOf(image(), node(1))).toBeUndefined();
  expect(incompatibilityOf(image({ vendorId: 0, productId: 0 }), node(1))).toBeUndefined();
});

test.each([
  [image({ vendorId: 0xfff2 }), 1, /is vendor 0xFFF1 product 0x8000, and the image is for vendor 0xFFF2 product 0x8000/],
  [image({ productId: 1 }), 1, /the image is for vendor 0xFFF1 product 0x0001/],
  [image(), 2, /runs version v2 \(2\), and the image holds v2 \(2\)/],
  [image(), 3, /runs version v3 \(3\)/],
  [image({ version: { number: 9, text: '' }, minVersion: 5, maxVersion: 7 }), 4, /updates numbers 5 to 7 only/],
  [image({ version: { number: 9, text: '' }, minVersion: 5, maxVersion: 7 }), 8, /updates numbers 5 to 7 only/],
  [image({ version: { number: 9, text: '' }, minVersion: 5 }), 4, /updates number 5 and later only/],
])('%o does not fit version %i', (unfit, number, why) => {
  expect(incompatibilityOf(unfit, node(number))).toMatch(why);
});

test('the range of versions includes its ends', () => {
  const bounded = image({ version: { number: 9, text: '' }, minVersion: 5, maxVersion: 7 });
  expect([5, 6, 7].map((number) => incompatibilityOf(bounded, node(number)))).toEqual([undefined, undefined, undefined]);
});

test('the product of an image does not depend on the version', () => {
  expect([isForProduct(image(), node(9)), isForProduct(image({ vendorId: 1 }), node(1))]).toEqual([true, false]);
});
