import { describe, expect, expectTypeOf, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { createJsonSchema, defineTool, p } from '../../../src/tools/definition/define-tool.ts';
import { capabilityOf, fromToolClass, ToolClass, type ToolResult, toolsOfCapability } from '../../../src/tools/definition/tool-class.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

const dim = defineTool(
  {
    name: 'dim',
    title: 'Dim',
    description: 'Dims something',
    category: 'acting',
    hasSideEffects: true,
    permissions: ['device:control'],
    parameters: {
      level: p.integer({ description: 'Brightness', minimum: 0, maximum: 100, unit: '%' }),
      mode: p.enum(['slow', 'fast'], { description: 'How', default: 'slow' }),
      note: p.string({ description: 'Note', maxLength: 10 }).optional(),
      points: p.array(
        p.object({ x: p.number({ description: 'X' }), y: p.number({ description: 'Y' }).optional() }, { description: 'Point' }),
        {
          description: 'Points',
          default: [],
        },
      ),
      pin: p.string({ description: 'PIN', secret: true }).optional(),
      soft: p.boolean({ description: 'Softly', default: true }),
    },
  },
  async (params) => {
    expectTypeOf(params.level).toEqualTypeOf<number>();
    expectTypeOf(params.mode).toEqualTypeOf<'slow' | 'fast'>();
    expectTypeOf(params.note).toEqualTypeOf<string | undefined>();
    expectTypeOf(params.points[0]?.x).toEqualTypeOf<number | undefined>();
    return { ...params };
  },
);

class Doubler extends ToolClass {
  readonly definition = {
    name: 'double',
    description: 'Doubles a number',
    parameters: createJsonSchema({ n: { type: 'number', description: 'Number' } }, ['n']),
    execution: { side_effects: false },
  };

  async execute({ n }: JsonObject): Promise<ToolResult> {
    if (n === 13) return { success: false, error: 'Not this one', error_code: 'NOT_SUPPORTED' };
    if (n === 14) throw new AtmoError('CONFLICT', 'Nor this');
    return { success: true, result: Number(n) * 2 };
  }
}

describe('defineTool', () => {
  test('makes the schema that its handler’s types say', () => {
    expect(dim.id).toBe('core:dim@1.0.0');
    expect(dim.definition.parameters).toMatchObject({
      type: 'object',
      required: ['level'],
      additionalProperties: false,
      properties: {
        level: { type: 'integer', minimum: 0, maximum: 100, 'x-unit': '%' },
        mode: { enum: ['slow', 'fast'], default: 'slow' },
        points: { type: 'array', items: { type: 'object', required: ['x'] } },
        pin: { 'x-secret': true },
      },
    });
  });

  test('runs in the pipeline with defaults', async () => {
    const { registry, pipeline } = makePipeline();
    expect(registry.register(dim)).toEqual([]);
    expect(await pipeline.call({ principal: agent('device:control'), tool: 'dim', params: { level: 40 } })).toMatchObject({
      result: { level: 40, mode: 'slow', points: [], soft: true },
    });
  });
});

describe('the class form', () => {
  test('validates by its schema unless it says otherwise', async () => {
    await expect(new Doubler().validate({ n: 'x' })).rejects.toThrow(/has to be a number/);
    await expect(new Doubler().validate({ n: 2 })).resolves.toEqual({ n: 2 });
    expect(new Doubler().getDefinitionForLLM()).toMatchObject({
      name: 'double',
      description: 'Doubles a number',
      parameters: { required: ['n'] },
    });
  });

  test('its own stricter validate is asked before it runs', async () => {
    class Even extends Doubler {
      override async validate(params: JsonObject): Promise<JsonObject> {
        const valid = await super.validate(params);
        if (Number(valid.n) % 2 !== 0) throw new AtmoError('VALIDATION_ERROR', 'Only even numbers');
        return valid;
      }
    }
    const { registry, pipeline } = makePipeline();
    registry.register(fromToolClass(new Even()));
    expect(await pipeline.call({ principal: owner, tool: 'double', params: { n: 3 } })).toMatchObject({
      error: { message: 'Only even numbers' },
    });
  });

  test('results and failures become answers', async () => {
    const { registry, pipeline } = makePipeline();
    registry.register(fromToolClass(new Doubler()));
    const call = (n: number) => pipeline.call({ principal: owner, tool: 'double', params: { n } });
    expect(await call(2)).toMatchObject({ result: 4 });
    expect(await call(13)).toMatchObject({ error: { code: 'NOT_SUPPORTED', message: 'Not this one' } });
    expect(await call(14)).toMatchObject({ error: { code: 'CONFLICT' } });
  });
});

describe('a capability', () => {
  test('lists its tools, gives a handler by name, and its tools need it', async () => {
    const handler = capabilityOf({ type: 'arithmetic', description: 'Doubles numbers' }, [new Doubler()]);
    expect(handler.tools.map((tool) => tool.name)).toEqual(['double']);
    expect(handler.getToolHandler('double')).toBeInstanceOf(Doubler);
    expect(handler.getToolHandler('halve')).toBeUndefined();
    const without = makePipeline();
    const withIt = makePipeline({ capabilities: () => ['arithmetic'] });
    for (const { registry } of [without, withIt]) for (const tool of toolsOfCapability(handler)) registry.register(tool);
    const request = { principal: owner, tool: 'double', params: { n: 2 } };
    expect(await without.pipeline.call(request)).toMatchObject({ error: { code: 'NO_CAPABLE_NODE' } });
    expect(await withIt.pipeline.call(request)).toMatchObject({ result: 4 });
    expect(() => toolsOfCapability({ ...handler, getToolHandler: () => undefined })).toThrow(/has no handler/);
  });
});

test.each([
  ['patternProperties', { patternProperties: { pin: { type: 'string', 'x-secret': true } } }],
  ['if', { if: { properties: { a: { const: 1 } } }, else: { properties: { pin: { 'x-secret': true } } } }],
  ['$defs', { properties: { a: { $ref: '#/$defs/pin', description: 'A' } }, $defs: { pin: { type: 'string', 'x-secret': true } } }],
  ['prefixItems', { properties: { a: { type: 'array', description: 'A', prefixItems: [{ type: 'string', 'x-secret': true }] } } }],
])('a secret behind %s, which no mask would find, is refused at registration', (_keyword, rest) => {
  const { registry } = makePipeline();
  const secretive = { ...dim, definition: { ...dim.definition, name: 'secretive', parameters: { type: 'object', ...rest } } };
  expect(() => registry.register(secretive)).toThrow('x-secret is followed through');
  const answering = { ...dim, definition: { ...dim.definition, name: 'answering', returns: { type: 'object', ...rest } } };
  expect(() => registry.register(answering)).toThrow('x-secret is followed through');
});
