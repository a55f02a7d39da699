import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { toOpenAi, toStrictOpenAi } from '../../../src/tools/formats/model-apis.ts';
import { toStrictSchema, withoutStrictNulls } from '../../../src/tools/formats/model-schemas.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { describeDeviceType } from '../../fixtures/describe-standard.ts';
import { ToolHarness } from '../../profiles/tool-harness.ts';
import { openAiMistakes } from './openai-rules.ts';

const SCHEMA = {
  type: 'object',
  required: ['device'],
  properties: {
    device: { type: 'string', description: 'Device', maxLength: 64 },
    level: { type: 'integer', minimum: 0, maximum: 100, default: 50 },
    mode: { type: 'string', enum: ['warm', 'cold'] },
    colour: { type: 'object', required: ['x'], properties: { x: { type: 'number' }, y: { type: 'number' } } },
    days: { type: 'array', items: { type: 'string', format: 'uri' } },
    until: { oneOf: [{ type: 'string', format: 'date-time' }, { type: 'integer' }] },
    on: { const: true },
  },
};

describe("OpenAI's strict mode", () => {
  test('closes every object, requires every member and lets what may be left out be null', () => {
    expect(toStrictSchema(SCHEMA)).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['device', 'level', 'mode', 'colour', 'days', 'until', 'on'],
      properties: {
        device: { type: 'string', description: 'Device' },
        level: { anyOf: [{ type: 'integer', minimum: 0, maximum: 100 }, { type: 'null' }] },
        mode: { anyOf: [{ type: 'string', enum: ['warm', 'cold'] }, { type: 'null' }] },
        colour: {
          anyOf: [
            {
              type: 'object',
              additionalProperties: false,
              required: ['x', 'y'],
              properties: { x: { type: 'number' }, y: { anyOf: [{ type: 'number' }, { type: 'null' }] } },
            },
            { type: 'null' },
          ],
        },
        days: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }] },
        until: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'integer' }, { type: 'null' }] },
        on: { anyOf: [{ type: 'boolean', const: true }, { type: 'null' }] },
      },
    });
  });

  test('a model that fills all of it in with null for what it leaves out makes a valid call', () => {
    const said = { device: 'lamp', level: null, mode: null, colour: { x: 1, y: null }, days: null, until: null, on: null };
    const params = withoutStrictNulls(SCHEMA, said);
    expect(params).toEqual({ device: 'lamp', colour: { x: 1 } });
    expect(new SchemaValidator().parameters(SCHEMA, params)).toEqual({ ...params, level: 50 });
  });

  test('null stays where it is a value, and where something has to be', () => {
    const schema = {
      type: 'object',
      required: ['must'],
      properties: {
        must: { type: 'string' },
        may: { type: ['string', 'null'] },
        any: {},
        list: { type: 'array', items: { type: 'null' } },
      },
    };
    const params = { must: null, may: null, any: null, list: [null], unknown: null };
    expect(withoutStrictNulls(schema, params)).toEqual(params);
  });

  test.each<[string, JsonObject]>([
    ['an object of unknown members', { type: 'object' }],
    ['an object of named and unknown members', { type: 'object', properties: {}, additionalProperties: { type: 'string' } }],
    ['any value', {}],
    ['several kinds of which one is an object', { type: ['string', 'object'] }],
    ['both of two schemas', { allOf: [{ type: 'string' }, { minLength: 1 }] }],
    ['a list of anything', { type: 'array' }],
    ['one of what cannot be said', { anyOf: [{ type: 'string' }, {}] }],
    ['a reference', { $ref: '#/$defs/a' }],
    ['members by pattern', { type: 'object', properties: {}, patternProperties: { '^x': { type: 'string' } } }],
    ['a list by place', { type: 'array', items: { type: 'string' }, prefixItems: [{ type: 'integer' }] }],
    ['all but one', { type: 'string', not: { const: 'x' } }],
    ['a condition', { type: 'string', if: { const: 'x' } }],
    ['members that need others', { type: 'object', properties: {}, dependentRequired: { a: ['b'] } }],
    ['members that change the others', { type: 'object', properties: {}, dependentSchemas: { a: {} } }],
  ])('%s cannot be said: the tool is exported as it is, without strict', (_what, property) => {
    const { definition } = makeTool({ name: 'free', parameters: { type: 'object', properties: { it: property } } });
    const { function: exported } = toStrictOpenAi(definition, 'free');
    expect(exported).toEqual({ ...toOpenAi(definition, 'free').function, strict: false });
  });

  test('a tool without parameters can be strict', () => {
    expect(toStrictOpenAi(makeTool({ name: 'now' }).definition, 'now').function).toMatchObject({
      strict: true,
      parameters: { properties: {}, required: [], additionalProperties: false },
    });
  });

  test('what it says breaks none of the rules that OpenAI documents', () => {
    const { definition } = makeTool({ name: 'every', parameters: SCHEMA });
    const { function: exported } = toStrictOpenAi(definition, 'every');
    expect([exported.strict, openAiMistakes(exported)]).toEqual([true, []]);
  });

  test('the tools of every standard device and of classes of devices can be said so, but for those that take anything', async () => {
    const devices = standardDeviceTypes().map(({ name }) => describeDeviceType(name, { hasAllElements: true }));
    const { registry } = await new ToolHarness(...devices).start();
    const exported = registry.all().map((tool) => toStrictOpenAi(tool.definition, registry.modelName(tool)).function);
    expect(exported.length).toBeGreaterThan(100);
    expect(exported.flatMap((one) => openAiMistakes(one).map((mistake) => `${one.name} ${mistake}`))).toEqual([]);
    expect(new Set(exported.filter(({ strict }) => !strict).map(({ name }) => name))).toEqual(
      new Set(['change_scene', 'control_device', 'control_matter_device', 'save_scene']),
    );
  });

  test.each<[string, JsonObject]>([
    [
      'more than a thousand values to choose from',
      { it: { type: 'string', enum: Array.from({ length: 1_001 }, (_, index) => `v${index}`) } },
    ],
    ['objects more than ten deep', { it: nested(10) }],
    ['more than five thousand members', Object.fromEntries(Array.from({ length: 5_001 }, (_, index) => [`m${index}`, { type: 'null' }]))],
  ])('%s are too much for it', (_what, properties) => {
    expect(toStrictSchema({ type: 'object', properties })).toBeUndefined();
  });

  test('objects ten deep are not', () => {
    expect(toStrictSchema({ type: 'object', properties: { it: nested(9) } })).toBeDefined();
  });
});

function nested(levels: number): JsonObject {
  return { type: 'object', properties: levels > 1 ? { it: nested(levels - 1) } : {} };
}
