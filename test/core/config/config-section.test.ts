import { expect, test } from 'vitest';
import { camelKeys, optionalSection, section } from '../../../src/core/config/config-section.ts';

const schema = section({
  max_bytes: { type: 'integer' },
  endpoints: { type: 'object', additionalProperties: optionalSection({ api_key: { type: 'string' } }) },
  lines: { type: 'array', items: optionalSection({ active_low: { type: 'boolean' } }) },
});

test('keys that the schema names become camelCase, in maps and lists too', () => {
  expect(camelKeys({ max_bytes: 3, lines: [{ active_low: true }] }, schema)).toEqual({ maxBytes: 3, lines: [{ activeLow: true }] });
});

test('names that the owner chose stay as they are', () => {
  const file = { endpoints: { my_own_model: { api_key: 'env:KEY' } } };
  expect(camelKeys(file, schema)).toEqual({ endpoints: { my_own_model: { apiKey: 'env:KEY' } } });
});

test('a key is known only if the schema has it itself', () => {
  expect(camelKeys({ to_string: 1 }, section({}))).toEqual({ to_string: 1 });
});
