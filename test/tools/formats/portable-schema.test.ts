import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonSchema } from '../../../src/core/json.ts';
import { standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { basicTools } from '../../../src/tools/builtin/basic-tools.ts';
import { toAnthropic, toMcp, toOpenAi } from '../../../src/tools/formats/model-apis.ts';
import { portableSchema } from '../../../src/tools/formats/model-schemas.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { describeDeviceType } from '../../fixtures/describe-standard.ts';
import { ToolHarness } from '../../profiles/tool-harness.ts';
import { answerMistakes, schemaMistakes, withoutBranches } from './model-rules.ts';

const validator = new SchemaValidator();
const parameter = (it: JsonSchema, use: 'input' | 'output' = 'input') =>
  (portableSchema({ type: 'object', properties: { it } }, use).properties as { it: JsonObject }).it;

describe('a schema for model servers', () => {
  test.each<[string, JsonSchema, JsonSchema]>([
    ['a list of one type is that type', { type: ['string'] }, { type: 'string' }],
    [
      'several types are branches, each with what is about it',
      { type: ['string', 'null'], maxLength: 3, minimum: 1, description: 'A' },
      { description: 'A', anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
    ],
    ['values say their type', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    [
      'values of several types are branches',
      { enum: ['a', 1, null] },
      { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'number', enum: [1] }, { type: 'null' }] },
    ],
    [
      'one of several is any of them',
      { oneOf: [{ type: 'string' }, { type: 'integer' }] },
      { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    ],
    ['an object has properties', { type: 'object' }, { type: 'object', properties: {}, additionalProperties: true }],
    ['members show an object', { properties: { a: { type: 'null' } } }, { type: 'object', properties: { a: { type: 'null' } } }],
    ['what only older callers write is not shown', { type: 'string', 'x-also': [{ type: 'object' }] }, { type: 'string' }],
    ['what excludes is no wider', { type: 'string', not: { enum: ['x'] } }, { type: 'string', not: { enum: ['x'] } }],
  ])('%s', (_, schema, expected) => {
    expect(parameter(schema)).toEqual(expected);
  });

  test.each<[string, JsonSchema]>([
    ['nothing', {}],
    ['words alone', { description: 'Anything' }],
    ['every type', { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] }],
    ['a list', { type: 'array' }],
    ['a list of anything', { type: 'array', items: {} }],
    ['a list by a rule of all or nothing', { type: 'array', items: true }],
    ['members of any kind', { type: 'object', properties: { a: true, b: {} }, additionalProperties: {} }],
    ['a text or an object', { type: ['string', 'object'], properties: { a: { type: 'string' } } }],
  ])('that says %s is taken everywhere, and takes what it took', (_, schema) => {
    const made = portableSchema({ type: 'object', properties: { it: schema } }, 'input');
    expect(schemaMistakes(made)).toEqual([]);
    for (const it of ['a', 1, null, [1, 'a', [2], { b: 1 }], { a: 'a', b: {} }, true]) {
      const takes = (parameters: JsonSchema) => validator.check(parameters, { it }).isValid;
      if (takes({ type: 'object', properties: { it: schema } }))
        expect([it, takes(made), takes(withoutBranches(made))]).toEqual([it, true, true]);
    }
  });

  test('has no branches at its root, which servers refuse', () => {
    const branches = [{ required: ['a'] }, { required: ['b'] }];
    expect(schemaMistakes(portableSchema({ type: 'object', properties: {}, anyOf: branches, not: { required: ['c'] } }, 'input'))).toEqual(
      [],
    );
  });

  test('of an answer leaves open what a tool leaves open', () => {
    expect(parameter({ type: ['string', 'number', 'boolean', 'object', 'array', 'null'], description: 'A' }, 'output')).toEqual({
      description: 'A',
    });
    expect(parameter({ type: 'array' }, 'output')).toEqual({ type: 'array', items: {} });
    expect(parameter({}, 'output')).toEqual({});
  });
});

describe('the tools of every standard device, of classes of devices and of the hub itself', async () => {
  const devices = standardDeviceTypes().map(({ name }) => describeDeviceType(name, { hasAllElements: true }));
  const { registry } = await new ToolHarness(...devices).start();
  for (const tool of basicTools) registry.register(tool);
  const tools = registry.all().map(({ definition }, index) => ({ definition, name: `tool_${index}` }));

  test('break no rule of a model server in any form', () => {
    expect(tools.length).toBeGreaterThan(200);
    const mistakes = tools.flatMap(({ definition, name }) => {
      const { inputSchema, outputSchema = {} } = toMcp(definition, name);
      const schemas = [inputSchema, toOpenAi(definition, name).function.parameters, toAnthropic(definition, name).input_schema];
      return [...schemas.flatMap(schemaMistakes), ...answerMistakes(outputSchema)].map((mistake) => `${definition.name} ${mistake}`);
    });
    expect(mistakes).toEqual([]);
  });

  test('each have a name of their own that every server takes', () => {
    const names = registry.all().map((tool) => registry.modelName(tool));
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z0-9_]{1,40}$/.test(name))).toEqual([]);
  });

  test('take their own examples in that form, also where an adapter leaves out the branches', () => {
    const refused = tools.flatMap(({ definition, name }) =>
      definition.metadata.examples.flatMap(({ params }) => {
        const { inputSchema } = toMcp(definition, name);
        const isTaken = [inputSchema, withoutBranches(inputSchema)].every((schema) => validator.check(schema, params).isValid);
        return isTaken ? [] : [`${definition.name} ${JSON.stringify(params)}`];
      }),
    );
    expect(refused).toEqual([]);
  });
});

test('a color as a text and as an object, as it was written before, are both taken', async () => {
  const { registry } = await new ToolHarness(describeDeviceType('ExtendedColorLight', { hasAllElements: true })).start();
  const colored = registry.all().filter(({ definition }) => 'color' in (definition.parameters.properties as object));
  expect(colored.map(({ definition }) => definition.name).length).toBeGreaterThan(1);
  for (const { definition } of colored) {
    const rest = { device_id: 'lamp' };
    const others = (definition.parameters.required as readonly string[] | undefined)?.includes('device_id') ? rest : {};
    for (const color of ['red', '#ff0000', { r: 255, g: 0, b: 0 }]) {
      expect([definition.name, color, validator.check(definition.parameters, { ...others, color }).isValid]).toEqual([
        definition.name,
        color,
        true,
      ]);
    }
    expect(validator.check(definition.parameters, { ...others, color: { r: 300, g: 0, b: 0 } }).isValid).toBe(false);
    expect(toMcp(definition, 'x').inputSchema).toMatchObject({ properties: { color: { type: 'string' } } });
  }
});
