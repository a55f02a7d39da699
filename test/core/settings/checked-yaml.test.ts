import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { RULES_SCHEMA } from '../../../src/access/rules/rule-file.ts';
import { CONFIG_SCHEMA } from '../../../src/config/config-file.ts';
import { parseCheckedYaml } from '../../../src/core/settings/checked-yaml.ts';

test.each([
  ['the configuration', CONFIG_SCHEMA],
  ['rules', RULES_SCHEMA],
])('the schema of %s is one by the schema of schemas, which no start compiles', (_, schema) => {
  const ajv = new Ajv2020({ strict: false });
  expect(ajv.validateSchema(schema), JSON.stringify(ajv.errors)).toBe(true);
});

test('a key that is missing is told with the one that stands in its place', () => {
  const schema = { type: 'object', required: ['host'], properties: { host: { type: 'string' }, port: { type: 'integer' } } };
  expect(() => parseCheckedYaml('hots: mail.lan\n', 'config.yaml', schema)).toThrow(
    'config.yaml, line 1: the file has no "host"; "hots" is not known there',
  );
});
