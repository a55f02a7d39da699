import { expect, test } from 'vitest';
import { fitsFilter } from '../../../src/connectors/collections/metadata-filter.ts';

const metadata = { room: 'cellar', year: 2024, tags: ['heating', 'water'], maker: { name: 'X', land: 'AT' } };

test('a document fits when every member of the filter fits', () => {
  expect(fitsFilter(metadata, {})).toBe(true);
  expect(fitsFilter(metadata, { room: 'cellar', year: 2024 })).toBe(true);
  expect(fitsFilter(metadata, { room: 'cellar', year: 2023 })).toBe(false);
  expect(fitsFilter(metadata, { floor: 1 })).toBe(false);
});

test('a list on either side means one of it', () => {
  expect(fitsFilter(metadata, { room: ['attic', 'cellar'] })).toBe(true);
  expect(fitsFilter(metadata, { tags: 'water' })).toBe(true);
  expect(fitsFilter(metadata, { tags: ['power', 'gas'] })).toBe(false);
});

test('objects are compared whatever the order of their members, and values with their type', () => {
  expect(fitsFilter(metadata, { maker: { land: 'AT', name: 'X' } })).toBe(true);
  expect(fitsFilter(metadata, { year: '2024' })).toBe(false);
  expect(fitsFilter(metadata, { toString: 'x' })).toBe(false);
});
