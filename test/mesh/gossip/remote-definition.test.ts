import { describe, expect, test } from 'vitest';
import { offeredDefinition, readRemoteDefinition } from '../../../src/mesh/gossip/definition-store.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { processorMs } from '../../processor-time.ts';

const offer = (bytes: Uint8Array) => readRemoteDefinition(bytes, new SchemaValidator());
const read = (bytes: Uint8Array) => offer(bytes).definition;
const readJson = (tool: object) => read(new TextEncoder().encode(JSON.stringify({ tool })));
const base = { name: 'probe', description: 'Looks', execution: { side_effects: false } };

describe('readRemoteDefinition', () => {
  test('returns the definition of the other hub', () => {
    const tool = makeTool({
      parameters: { type: 'object', properties: { a: { type: 'string', description: 'A' } } },
      metadata: { tags: ['x'] },
    });
    expect(offer(offeredDefinition(tool).blob.bytes)).toEqual({ definition: tool.definition });
  });

  test("returns the other names of a device's tool, and of no other tool", () => {
    const aliases = ['old_lamp_turn_on', 'lamp_on'];
    const tool = (metadata: object) => ({ ...makeTool({ metadata: { tags: ['light'], ...metadata } }), aliases });
    const [lamp, notify] = [tool({ device: 'lamp' }), tool({})];
    expect(offer(offeredDefinition(lamp).blob.bytes)).toEqual({ definition: lamp.definition, aliases });
    expect(offer(offeredDefinition(notify).blob.bytes)).toEqual({ definition: notify.definition });
    const told = readRemoteDefinition(
      new TextEncoder().encode(
        JSON.stringify({ tool: { ...base, metadata: { device: 'lamp', tags: ['alias:core:x', 'alias:', 'alias:a b', 'alias:x'] } } }),
      ),
      new SchemaValidator(),
    );
    expect([told.aliases, told.definition.metadata.tags]).toEqual([['x'], []]);
  });

  test('cleans and bounds what people and models read', () => {
    const definition = readJson({
      ...base,
      description: `Looks\u001b[31m \u202eup ${'x'.repeat(3_000)}`,
      metadata: { title: 'a\u0000b', tags: ['c\u0007d'] },
    });
    expect(definition.description.startsWith('Looks [31m  up xxx')).toBe(true);
    expect(definition.description).toHaveLength(2_000);
    expect([definition.metadata.title, definition.metadata.tags]).toEqual(['a b', ['c d']]);
  });

  test.each([
    [
      'a control character in a choice',
      { ...base, parameters: { type: 'object', properties: { a: { enum: ['x\u0000'], description: 'A' } } } },
    ],
    ['a control character in a name', { ...base, parameters: { type: 'object', properties: { 'a\u202e': { type: 'string' } } } }],
    ['no description', { ...base, description: ' \u0000 ' }],
    ['an unknown key', { ...base, handler: 'rm -rf' }],
    ['an act that needs no permission', { ...base, execution: { side_effects: true } }],
    ['a reference to elsewhere', { ...base, parameters: { type: 'object', properties: { a: { $ref: 'https://example.org/x' } } } }],
  ])('refuses %s', (_, tool) => {
    expect(() => readJson(tool)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test('does not run the pattern of a stranger on the example of a stranger', async () => {
    const parameters = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$', description: 'A' } } };
    const examples = [{ description: 'slow', params: { a: `${'a'.repeat(40)}!` } }];
    expect(await processorMs(() => readJson({ ...base, parameters, metadata: { examples } }))).toBeLessThan(1_000);
  });

  const schemaOf = (parameters: object) => readJson({ ...base, parameters: { type: 'object', ...parameters } }).parameters;
  const text = (pattern: string) => ({ properties: { a: { type: 'string', pattern, description: 'A' } } });

  test.each(['^(a+)+$', '^(a|a)*$', 'a+b', '^a*a*$', '^(?=a)a*$', '^[a-z]+@[a-z]+$', '^(a)\\1*$', '^a|b$', '^a{1,}a{1,}$'])(
    'lets the pattern %s be read and never be run',
    (pattern) => {
      expect(schemaOf(text(pattern))).toMatchObject({ properties: { a: { 'x-pattern': pattern } } });
      expect(schemaOf(text(pattern)).properties).not.toHaveProperty('a.pattern');
    },
  );

  test.each(['^hub-[0-9a-f]{16}$', '^[a-z][a-z0-9_.-]*$', '^MT:[A-Z0-9.-]+$', '^\\d{4}-\\d{2}$'])('keeps the pattern %s', (pattern) => {
    expect(schemaOf(text(pattern))).toMatchObject({ properties: { a: { pattern } } });
  });

  const doubled = Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => [`d${level}`, { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${level + 1}` })) }]),
  );
  test.each([
    ['references that double forty times', { allOf: [{ $ref: '#/$defs/d0' }], $defs: { ...doubled, d40: { type: 'object' } } }],
    ['a reference to itself', { allOf: [{ $ref: '#' }] }],
    ['references in a circle', { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    ['a reference past the prototype', { allOf: [{ $ref: '#/$defs/constructor' }], $defs: {} }],
    ['a reference into its data', { default: { type: 'string' }, allOf: [{ $ref: '#/default' }] }],
    ['a dynamic reference', { $dynamicAnchor: 'x', allOf: [{ $dynamicRef: '#x' }] }],
    ['a way around', { dependencies: { a: { properties: { b: { pattern: '^(a+)+$' } } } } }],
  ])('refuses %s', (_, parameters) => {
    expect(() => schemaOf(parameters)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test('accepts a reference within the definition', () => {
    const parameters = { properties: { a: { $ref: '#/$defs/b', description: 'A' } }, $defs: { b: { type: 'string' } } };
    expect(new SchemaValidator().parameters(schemaOf(parameters), { a: 'x' })).toEqual({ a: 'x' });
  });
});
