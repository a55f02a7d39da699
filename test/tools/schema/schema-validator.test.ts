import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LARGE_PARAMS_LIMITS } from '../../../src/tools/schema/plain-json.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { processorMs } from '../../processor-time.ts';

const validator = new SchemaValidator();
const problemsOf = (schema: object, value: unknown) => {
  const result = validator.check(schema as never, value);
  return result.isValid ? [] : result.problems;
};
const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

describe('what is wrong is said with field, range and example', () => {
  const schema = object(
    {
      level: { type: 'integer', minimum: 0, maximum: 100, 'x-unit': '%' },
      urgency: { type: 'string', enum: ['low', 'high'], default: 'low' },
      start: { type: 'string', format: 'date-time' },
      text: { type: 'string', maxLength: 3 },
      list: { type: 'array', items: { type: 'number' }, maxItems: 2 },
    },
    ['level'],
  );

  test.each([
    [{}, { pointer: '/level', message: 'Parameter "level" is missing', allowed: '0 to 100 %', example: 50 }],
    [
      { level: 1, levle: 1 },
      { pointer: '/levle', message: 'Parameter "levle" is not known; did you mean "level"?' },
    ],
    [{ level: '40' }, { pointer: '/level', message: 'Parameter "level" has to be a whole number, not a text' }],
    [{ level: 101 }, { pointer: '/level', message: 'Parameter "level" is too large', allowed: '0 to 100 %' }],
    [{ level: 1.5 }, { message: 'Parameter "level" has to be a whole number, not 1.5' }],
    [
      { level: 1, urgency: 'max' },
      { allowed: '"low", "high"', example: 'low' },
    ],
    [
      { level: 1, start: 'yesterday' },
      { message: 'Parameter "start" is not a valid date-time', example: '2026-01-31T12:00:00Z' },
    ],
    [{ level: 1, text: 'long' }, { allowed: 'at most 3 characters' }],
    [
      { level: 1, list: [1, 'x'] },
      { pointer: '/list/1', message: 'Parameter "list.1" has to be a number, not a text' },
    ],
  ])('%j', (value, problem) => {
    expect(problemsOf(schema, value)[0]).toMatchObject(problem);
  });

  test('a text that is missing is told by its description, of which its length says little', () => {
    const device = { type: 'string', maxLength: 64, description: 'Device id or name\nsecond line' };
    const way = { type: 'string', enum: ['up', 'down'], description: 'Direction' };
    const messages = problemsOf(object({ device, way }, ['device', 'way']), {}).map(({ message }) => message);
    expect(messages).toEqual(['Parameter "device" is missing (Device id or name)', 'Parameter "way" is missing']);
  });

  test('tens of thousands of mistakes cost no more than the first of them', async () => {
    const item = { anyOf: [{ type: 'string' }, { type: 'null' }] };
    const list = Array(15_000).fill(1);
    const workMs = await processorMs(() => {
      expect(problemsOf(object({ list: { type: 'array', items: item } }), { list })).toHaveLength(20);
    });
    // Each mistake compared with each other one took many seconds.
    expect(workMs).toBeLessThan(1_000);
  });

  test('a text of another form is told the form, not how long it may be; a long expression in words', () => {
    const key = { type: 'string', maxLength: 256, pattern: '^[a-z/]+$', description: 'Name of the value' };
    const subject = { type: 'string', maxLength: 256, pattern: `^(?!${'x'.repeat(100)})[a-z]+$`, description: 'One line' };
    const told = problemsOf(object({ key, subject }), { key: 'bad key!', subject: 'A' }).map(({ allowed }) => allowed);
    expect(told).toEqual(['text of the form ^[a-z/]+$', 'One line']);
  });

  test('a message never repeats the value, which may be a secret', () => {
    const secret = object({ pin: { type: 'string', pattern: '^[0-9]{4}$', 'x-secret': true } });
    expect(JSON.stringify(problemsOf(secret, { pin: 'hunter2' }))).not.toContain('hunter2');
  });

  test('the middle of a wide range is no example: nobody is led to a token of 200 days', () => {
    const range = (maximum: number) => object({ seconds: { type: 'integer', minimum: 60, maximum } });
    expect(problemsOf(range(34_560_000), { seconds: 1 })).toMatchObject([{ allowed: '60 to 34560000' }]);
    expect(problemsOf(range(34_560_000), { seconds: 1 })[0]).not.toHaveProperty('example');
    expect(problemsOf(range(600), { seconds: 1 })).toMatchObject([{ example: 330 }]);
  });

  test('the one sentence of the error has all of it', () => {
    expect(() => validator.parameters(schema, { level: 101, urgency: 'max' })).toThrow(
      'Parameter "level" is too large; allowed: 0 to 100 %, for example 50 (and 1 more, see details)',
    );
  });
});

describe('values', () => {
  test('defaults are filled into a copy, texts never become numbers', () => {
    const schema = object({ unit: { type: 'string', default: 'celsius' }, nested: { type: 'object', properties: { a: { default: 1 } } } });
    const input = { nested: {} };
    expect(validator.parameters(schema, input)).toEqual({ unit: 'celsius', nested: { a: 1 } });
    expect(input).toEqual({ nested: {} });
    expect(problemsOf(object({ n: { type: 'number' } }), { n: '1' })).toHaveLength(1);
  });

  test('base64 is really checked, so that a URI and base64 can be told apart', () => {
    const schema = {
      oneOf: [
        { type: 'string', format: 'uri' },
        { type: 'string', contentEncoding: 'base64' },
      ],
    };
    expect(problemsOf(schema, 'https://example.org/a.png')).toEqual([]);
    expect(problemsOf(schema, 'aGVsbG8=')).toEqual([]);
    expect(problemsOf(schema, 'not base64!')).toHaveLength(1);
  });

  test('base64 of many megabytes is checked like any other', () => {
    const large = new SchemaValidator({ limits: LARGE_PARAMS_LIMITS });
    const picture = Buffer.alloc(9_000_000, 7).toString('base64');
    const schema = { type: 'string', contentEncoding: 'base64' };
    expect(large.check(schema, picture).isValid).toBe(true);
    expect(large.check(schema, `${picture.slice(0, -1)}!`).isValid).toBe(false);
  });

  test('what is too large, too deep or no JSON is refused, cycles included', () => {
    const small = new SchemaValidator({ limits: { maxSize: 100, maxDepth: 4 } });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const refuse = (value: unknown) => expect(() => small.check({}, value));
    refuse({ text: 'x'.repeat(200) }).toThrow(/larger than/);
    refuse([[[[[[]]]]]]).toThrow(/deeper/);
    refuse(cycle).toThrow(/deeper/);
    for (const odd of [Number.NaN, () => 1, new Date(), 1n, Symbol('x')]) refuse(odd).toThrow(/JSON cannot carry/);
  });

  test('no JSON value makes a check throw', () => {
    const schema = object({ a: { type: 'integer', minimum: 1 }, b: { anyOf: [{ type: 'string' }, { type: 'array' }] } }, ['a']);
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => void validator.check(schema, value)));
  });
});

describe('compiling', () => {
  test('happens on first use and is shared by schemas that differ in wording only', () => {
    const own = new SchemaValidator();
    const titled = (title: string) => object({ level: { type: 'integer', title, description: title, 'x-unit': title, examples: [1] } });
    expect(own.stats.compilations).toBe(0);
    own.check(titled('One'), {});
    own.check(titled('Two'), {});
    expect(own.stats).toEqual({ kept: 1, compilations: 1 });
  });

  test('a parameter named like an annotation still counts', () => {
    const schema = object({ description: { type: 'string' }, title: { type: 'number' } }, ['title']);
    expect(problemsOf(schema, { description: 1, title: 1 })).toMatchObject([{ pointer: '/description' }]);
  });

  test('keeps a bounded number, the least recently used leave first', () => {
    const own = new SchemaValidator({ maxCompiled: 2, rotateAfter: 2 });
    const schema = (maximum: number) => object({ n: { type: 'integer', maximum } });
    for (const maximum of [1, 2, 1, 3]) own.check(schema(maximum), {});
    expect(own.stats).toEqual({ kept: 2, compilations: 3 });
    own.check(schema(1), {});
    expect(own.stats.compilations).toBe(3);
    own.check(schema(2), {});
    expect(own.stats.compilations).toBe(4);
  });

  test('a schema that cannot work is refused with its reason', () => {
    expect(() => validator.compile({ type: 'strin' })).toThrow(/cannot be used/);
    expect(() => validator.compile({ $ref: 'https://example.org/x' })).toThrow(/cannot be used/);
  });
});

test('of a long value with thousands of mistakes the first one is told, and soon', async () => {
  const branches = Array.from({ length: 400 }, (_, index) => ({ const: `choice ${index}` }));
  const schema = { type: 'object', properties: { a: { type: 'array', maxItems: 4, items: { anyOf: branches } } } };
  const own = new SchemaValidator();
  const workMs = await processorMs(() => {
    const result = own.check(schema, { a: Array.from({ length: 20_000 }, () => 1) });
    expect(result.isValid ? [] : result.problems).toHaveLength(1);
  });
  expect(workMs).toBeLessThan(1_000);
});
