import { describe, expect, test } from 'vitest';
import { sampleParams } from '../../src/calls/replay.ts';
import { basicTools } from '../../src/tools/builtin/basic-tools.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';

describe('a sample of a schema', () => {
  test('holds what is required, in the plainest form', () => {
    const schema = {
      type: 'object',
      required: ['name', 'mode', 'level', 'list', 'inner', 'fixed', 'flag'],
      properties: {
        name: { type: 'string', minLength: 3 },
        mode: { enum: ['fast', 'slow'] },
        level: { type: 'integer', minimum: 5 },
        list: { type: 'array', minItems: 2, items: { type: 'number' } },
        inner: { type: 'object', required: ['x'], properties: { x: { default: 9 } } },
        fixed: { const: 'yes' },
        flag: { type: 'boolean' },
        absent: { type: 'string' },
      },
    };
    expect(sampleParams(schema)).toEqual({ name: 'aaa', mode: 'fast', level: 5, list: [1, 1], inner: { x: 9 }, fixed: 'yes', flag: true });
  });

  test.each(basicTools.map((tool) => [tool.id, tool] as const))('fits the parameters of %s', (_, { definition }) => {
    expect(new SchemaValidator().check(definition.parameters, sampleParams(definition.parameters))).toMatchObject({ isValid: true });
  });
});
