import { describe, expect, test } from 'vitest';
import { fieldsOfSchema, readForm } from '../../../../src/monitor/pages/tools/schema-field.ts';

const SCHEMA = {
  type: 'object',
  required: ['brightness'],
  properties: {
    colour: { enum: ['red', 'blue'], description: 'Its colour' },
    brightness: { type: 'integer', minimum: 0, maximum: 100, 'x-unit': '%' },
    slowly: { type: 'boolean' },
    pin: { type: 'string', 'x-secret': true },
    label: { type: 'string', default: 'lamp' },
    members: { type: 'array', items: { type: 'string' } },
  },
} as const;
const fields = fieldsOfSchema(SCHEMA);

describe('the form of a tool', () => {
  test('asks first for what is needed, each by the field that fits', () => {
    expect(fields[0]).toMatchObject({ name: 'brightness', isRequired: true, kind: 'number', minimum: 0, maximum: 100, step: 1, unit: '%' });
    expect(Object.fromEntries(fields.map(({ name, kind }) => [name, kind]))).toEqual({
      brightness: 'number',
      colour: 'choice',
      slowly: 'flag',
      pin: 'secret',
      label: 'text',
      members: 'json',
    });
    expect(fields.find(({ name }) => name === 'label')?.initial).toBe('lamp');
  });

  test('gives values of the types that the schema wants, and leaves out what is empty', () => {
    const texts = { brightness: '40', colour: '"blue"', slowly: 'false', pin: '0123', label: '', members: '["a"]' };
    expect(readForm(fields, texts)).toEqual({
      params: { brightness: 40, colour: 'blue', slowly: false, pin: '0123', members: ['a'] },
    });
  });

  test('names the fields that are missing or cannot be read', () => {
    expect(readForm(fields, { members: '[a' })).toEqual({
      mistakes: new Map([
        ['brightness', 'This is needed.'],
        ['members', 'This is not JSON.'],
      ]),
    });
    expect(readForm(fields, { brightness: 'much' })).toHaveProperty('mistakes');
  });

  test('of a tool without parameters is empty', () => {
    expect(fieldsOfSchema({ type: 'object' })).toEqual([]);
    expect(readForm([], {})).toEqual({ params: {} });
  });
});
