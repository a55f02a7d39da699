import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { basicTools } from '../../../src/tools/builtin/basic-tools.ts';
import { normalizeDefinition, toPublicDefinition } from '../../../src/tools/definition/public-definition.ts';
import { TOOL_SCHEMA_ID } from '../../../src/tools/definition/tool-definition.ts';

const schema = JSON.parse(readFileSync(new URL('../../../docs/tool.schema.json', import.meta.url), 'utf8'));
const isValid = new Ajv2020({ strict: false }).compile(schema);
const full = toPublicDefinition(
  normalizeDefinition({
    name: 'notify',
    description: 'Sends a message',
    parameters: { type: 'object', properties: {} },
    requires: { permissions: ['notify:send'], network: true, multi_party: 2 },
    execution: { max_memory_bytes: 1024, timeout_ms: 10 },
    metadata: { examples: [{ description: 'One', params: {} }], tags: ['a'] },
  }),
);

test('the shipped schema has the id that definitions name', () => {
  expect(schema.$id).toBe(TOOL_SCHEMA_ID);
});

test('every definition that the hub writes fits the shipped schema', () => {
  for (const tool of [full, ...basicTools.map(({ definition }) => toPublicDefinition(definition))]) {
    expect(isValid(tool), JSON.stringify(isValid.errors)).toBe(true);
  }
});

test.each([
  ['an unknown member', { name: 'a', description: 'b', parameter: {} }],
  ['a category that is none', { name: 'a', description: 'b', category: 'other' }],
  ['no description', { name: 'a' }],
  ['a name with a space', { name: 'a b', description: 'b' }],
])('schema and parser agree to refuse %s', (_, tool) => {
  expect(isValid({ tool })).toBe(false);
  expect(() => normalizeDefinition({ tool })).toThrow();
});
