import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { toStrictSchema, withoutStrictNulls } from '../../../src/tools/forms/strict-schema.ts';
import { toStrictOpenAi } from '../../../src/tools/forms/tool-export.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../tool-room.ts';

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
        level: { type: ['integer', 'null'], minimum: 0, maximum: 100 },
        mode: { type: ['string', 'null'], enum: ['warm', 'cold', null] },
        colour: {
          anyOf: [
            {
              type: 'object',
              additionalProperties: false,
              required: ['x', 'y'],
              properties: { x: { type: 'number' }, y: { type: ['number', 'null'] } },
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
  ])('%s cannot be said: the tool is exported as it is, without strict', (_what, property) => {
    const { definition } = makeTool({ name: 'free', parameters: { type: 'object', properties: { it: property } } });
    const { function: exported } = toStrictOpenAi(definition, 'free');
    expect(exported).toEqual({ name: 'free', description: definition.description, parameters: definition.parameters, strict: false });
  });

  test('a tool without parameters can be strict', () => {
    expect(toStrictOpenAi(makeTool({ name: 'now' }).definition, 'now').function).toMatchObject({
      strict: true,
      parameters: { properties: {}, required: [], additionalProperties: false },
    });
  });
});
