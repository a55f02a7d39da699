import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { valueAt } from '../../../src/core/json.ts';
import { parseJsonOrText, schemaField, schemaFields, withValueAt } from '../../../src/web/components/schema-fields.ts';

const field = (schema: Record<string, unknown>) => schemaField(schema, { path: ['x'], name: 'target_level', isRequired: false });

describe('a form made from a schema', () => {
  test('has required fields in front, with label, unit, help and default', () => {
    const fields = schemaFields({
      type: 'object',
      required: ['brightness'],
      properties: {
        transition_seconds: { type: 'number', default: 0, 'x-unit': 's' },
        brightness: { type: 'integer', minimum: 1, maximum: 100, 'x-unit': '%', description: 'How bright' },
      },
    });
    expect(fields).toEqual([
      {
        kind: 'number',
        path: ['brightness'],
        label: 'Brightness',
        help: 'How bright',
        unit: '%',
        isRequired: true,
        isWhole: true,
        min: 1,
        max: 100,
      },
      {
        kind: 'number',
        path: ['transition_seconds'],
        label: 'Transition seconds',
        unit: 's',
        isRequired: false,
        fallback: 0,
        isWhole: false,
      },
    ]);
  });

  test.each([
    [
      { type: 'string', enum: ['a', 'b'] },
      { kind: 'choice', options: ['a', 'b'] },
    ],
    [{ const: 1 }, { kind: 'choice', options: [1] }],
    [{ type: 'boolean' }, { kind: 'flag' }],
    [{ type: ['integer', 'null'] }, { kind: 'number', isWhole: true }],
    [{ anyOf: [{ type: 'integer', maximum: 9 }, { type: 'null' }] }, { kind: 'number', max: 9, label: 'Target level' }],
    [
      { type: 'string', 'x-secret': true },
      { kind: 'text', isSecret: true },
    ],
    [
      { type: 'string', maxLength: 1000 },
      { kind: 'text', isLong: true },
    ],
    [{ type: ['string', 'number', 'object'] }, { kind: 'json' }],
    [{ type: 'object' }, { kind: 'json' }],
    [{ type: 'object', properties: {}, 'x-secret-members': true }, { kind: 'json' }],
    [{ type: 'array' }, { kind: 'json' }],
    [{}, { kind: 'json' }],
  ])('asks for %j by the fitting field', (schema, expected) => {
    expect(field(schema)).toMatchObject(expected);
  });

  test('has the fields of groups and lists', () => {
    const rgb = { type: 'object', additionalProperties: false, properties: { r: { type: 'integer' } } };
    expect(field(rgb)).toMatchObject({ kind: 'group', fields: [{ path: ['x', 'r'], label: 'R' }] });
    expect(field({ type: 'array', items: rgb, maxItems: 3 })).toMatchObject({ kind: 'list', maxItems: 3 });
  });

  test('offers each alternative of a variant', () => {
    const color = field({
      description: 'Color',
      anyOf: [
        { type: 'string' },
        { type: 'object', additionalProperties: false, properties: { r: { type: 'integer' }, g: { type: 'integer' } } },
      ],
    });
    expect(color).toMatchObject({
      kind: 'variant',
      options: [
        { kind: 'text', label: 'Text' },
        { kind: 'group', label: 'R, g' },
      ],
    });
  });
});

describe('the value of a form', () => {
  test('grows where a field is filled and shrinks where it is emptied', () => {
    const one = withValueAt(undefined, ['color', 'r'], 5);
    expect(one).toEqual({ color: { r: 5 } });
    expect(withValueAt(one, ['level'], 1)).toEqual({ color: { r: 5 }, level: 1 });
    expect(withValueAt(one, ['color', 'r'], undefined)).toBeUndefined();
  });

  test('grows and shrinks by items of lists', () => {
    const two = withValueAt(withValueAt({ steps: [] }, ['steps', 0], { tool: 'a' }), ['steps', 1], { tool: 'b' });
    expect(withValueAt(two, ['steps', 1, 'tool'], 'c')).toEqual({ steps: [{ tool: 'a' }, { tool: 'c' }] });
    expect(withValueAt(two, ['steps', 0], undefined)).toEqual({ steps: [{ tool: 'b' }] });
  });

  test('is at the path where it was set, and the old value is unchanged', () => {
    const step = fc.constantFrom('a', 'b', 'c');
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), fc.array(step, { minLength: 1, maxLength: 4 }), (first, second) => {
        const before = withValueAt(undefined, first, 1);
        const copy = structuredClone(before);
        expect(valueAt(withValueAt(before, second, 2) ?? null, second.map(String))).toBe(2);
        expect(before).toEqual(copy);
      }),
    );
  });

  test('of a JSON field is the JSON, or the text where it is none', () => {
    expect(['{"a":1}', '12', 'red', ' '].map(parseJsonOrText)).toEqual([{ a: 1 }, 12, 'red', undefined]);
  });
});
