import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { automationJsonSchema } from '../../scripts/automation-json-schema.ts';
import { parseAutomation } from '../../src/automations/plan/parse-automation.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';

const read = (file: string) => readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8');
const validator = new SchemaValidator();
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
const isValid = ajv.compile(JSON.parse(read('automation.schema.json')));
const EVERY = { type: 'every', seconds: 60 };

test('docs/automation.schema.json is made from the schema of the hub (npm run docs writes it)', () => {
  expect(read('automation.schema.json')).toBe(automationJsonSchema());
});

test('the examples of the documentation fit the schema for editors', () => {
  const examples = [...read('automations.md').matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => parseYaml(text));
  expect(examples.length).toBeGreaterThan(3);
  for (const example of examples) expect(isValid(example), JSON.stringify(isValid.errors)).toBe(true);
});

test.each<[string, JsonObject]>([
  ['an unknown member', { trigger: EVERY, actions: [{ tool: 'a' }], action: [] }],
  ['an unknown step', { trigger: EVERY, actions: [{ type: 'sleep', seconds: 3 }] }],
  ['a wait without its time', { trigger: EVERY, actions: [{ type: 'wait' }] }],
  [
    'a condition in a step that is none',
    { trigger: EVERY, actions: [{ type: 'wait_until', conditions: [{ type: 'mood' }], timeout_seconds: 5 }] },
  ],
  [
    'a device that is a parameter',
    { trigger: { type: 'reachability', device_id: { param: 'a' }, becomes: 'reachable' }, actions: [{ tool: 'a' }] },
  ],
])('the schema for editors and the hub agree to refuse %s', (_, config) => {
  expect(isValid(config)).toBe(false);
  expect(() => parseAutomation({ ...config, parameters: { a: { value: 'lamp' } } }, validator)).toThrow();
});
