import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { relevantSchema } from '../../../src/core/config/checked-yaml.ts';
import type { JsonSchema } from '../../../src/core/json.ts';
import { CONFIG_SCHEMA } from '../../../src/hub/config/config-file.ts';

const whole = new Ajv2020({ useDefaults: true, strict: false, formats: { uri: URL.canParse } }).compile(CONFIG_SCHEMA);

/** What a schema makes of a value: with its defaults, and what is wrong. */
function verdict(validate: ReturnType<Ajv2020['compile']>, value: unknown) {
  const filled: unknown = structuredClone(value);
  validate(filled);
  return {
    filled,
    errors: (validate.errors ?? []).map(({ instancePath, keyword, params }: ErrorObject) => ({ instancePath, keyword, params })),
  };
}

function needed(schema: JsonSchema, value: unknown) {
  return verdict(
    new Ajv2020({ useDefaults: true, strict: false, formats: { uri: URL.canParse } }).compile(relevantSchema(schema, value)),
    value,
  );
}

test.each<[string, unknown]>([
  ['nothing', {}],
  ['no object', []],
  ['a section without anything in it', { http: null }],
  ['some sections', { log: 'debug', http: { port: 9000, tls: { names: ['hub.lan'] } }, sensors: { poll_seconds: 10 } }],
  ['a connector', { connectors: { email: { host: 'mail.lan', from: 'hub@example.org' }, web: {} } }],
  ['a connector that lacks a key', { connectors: { email: { host: 'mail.lan', form: 'hub@example.org' } } }],
  ['a key that nobody knows', { http: { prot: 9000 } }],
  ['a key of the prototype', { constructor: 1 }],
  ['a value out of its range', { sensors: { poll_seconds: 0 } }],
  ['roles', { roles: { guest: { permissions: ['net:read'] } } }],
  ['roles that may nothing', { roles: { guest: { permissions: [] } } }],
])('decides, fills in and tells as the whole schema: %s', (_, value) => {
  expect(needed(CONFIG_SCHEMA, value)).toEqual(verdict(whole, value));
});

test('leaves out what the value does not have', () => {
  const schema = {
    type: 'object',
    required: ['host'],
    properties: { host: { type: 'string' }, port: { type: 'integer', default: 1 }, tls: { type: 'object' }, more: { type: 'array' } },
    additionalProperties: { type: 'string' },
  };
  expect(relevantSchema(schema, { more: [] })).toEqual({
    type: 'object',
    required: ['host'],
    properties: { host: {}, port: { type: 'integer', default: 1 }, more: { type: 'array' } },
    additionalProperties: {},
  });
});
