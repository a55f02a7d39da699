import { expect, test } from 'vitest';
import { matchesFilter } from '../../../src/connectors/collections/rag-tools.ts';

const metadata = { room: 'cellar', year: 2024, tags: ['heating', 'water'], maker: { name: 'X', land: 'AT' } };

test('a document fits when every member of the filter fits', () => {
  expect(matchesFilter(metadata, {})).toBe(true);
  expect(matchesFilter(metadata, { room: 'cellar', year: 2024 })).toBe(true);
  expect(matchesFilter(metadata, { room: 'cellar', year: 2023 })).toBe(false);
  expect(matchesFilter(metadata, { floor: 1 })).toBe(false);
});

test('a list on either side means one of it', () => {
  expect(matchesFilter(metadata, { room: ['attic', 'cellar'] })).toBe(true);
  expect(matchesFilter(metadata, { tags: 'water' })).toBe(true);
  expect(matchesFilter(metadata, { tags: ['power', 'gas'] })).toBe(false);
});

test('objects are compared whatever the order of their members, and values with their type', () => {
  expect(matchesFilter(metadata, { maker: { land: 'AT', name: 'X' } })).toBe(true);
  expect(matchesFilter(metadata, { year: '2024' })).toBe(false);
  expect(matchesFilter(metadata, { toString: 'x' })).toBe(false);
});
