import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { RULES_SCHEMA } from '../../../src/auth/rules/rule-file.ts';
import { parseCheckedYaml } from '../../../src/core/config/checked-yaml.ts';
import { CONFIG_SCHEMA } from '../../../src/hub/config/config-file.ts';

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

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    http: { type: 'object', additionalProperties: false, properties: { port: { type: 'integer' }, host: { type: 'string' } } },
    inputs: { type: 'object', propertyNames: { pattern: '^[a-z_]+$' } },
  },
};

test.each([
  ['a misspelt key', 'http: {}\nhtp:\n  port: 1\n', 'line 2: unknown key "htp" in the file; did you mean "http"?'],
  ['a key like no other', 'http:\n  colour:\n    red: 1\n', 'line 2: unknown key "colour" in http; allowed: port, host'],
  ['a name that is none', 'inputs:\n\n  Front Door:\n    line: 1\n', 'line 3: the name "Front Door" in inputs must match pattern'],
  ['a value in the place of keys', 'http: 8090\n', 'line 1: http must be a mapping of keys to values'],
  ['a text in the place of a number', 'http:\n  port: none\n', 'line 2: http.port must be a whole number'],
  ['a tab', 'http:\n\tport: 1\n', 'line 2: Tabs are not allowed as indentation; use spaces'],
])('%s is told with its own line and what to do', (_, text, message) => {
  expect(() => parseCheckedYaml(text, 'config.yaml', SCHEMA)).toThrow(`config.yaml, ${message}`);
});

test('what the parser says is told without a second place', () => {
  expect(() => parseCheckedYaml('http: {}\nhttp: {}\n', 'config.yaml', SCHEMA)).toThrow(/^config\.yaml, line 2: Map keys must be unique$/);
});

test.each(['name', 'reason'])(
  'the %s of a rule holds no character that nobody sees, and pictures and Persian as they are written',
  (key) => {
    const rule = (text: string) => JSON.stringify({ rules: [{ name: 'a', effect: 'deny', [key]: text }] });
    for (const hidden of ['\u200b', '\u202e', '\u{e0041}', '\u3164', '\u2800', '\u001b', '\ufe0f']) {
      expect(() => parseCheckedYaml(rule(`no${hidden} lamp`), 'rules.yaml', RULES_SCHEMA)).toThrow(
        `rules.yaml, line 1: rules.0.${key} holds characters that nobody sees: no\\u{${hidden.codePointAt(0)?.toString(16)}} lamp`,
      );
    }
    for (const text of ['👩\u200d🍳 cooks', '❤\ufe0f', 'می\u200cخواهم', 'Küche, 2. Stock'])
      expect(parseCheckedYaml(rule(text), 'rules.yaml', RULES_SCHEMA)).toMatchObject({ rules: [{ [key]: text }] });
  },
);
