import { describe, expect, test } from 'vitest';
import { defineTool, p } from '../../../src/tools/definition/define-tool.ts';
import { emitToolChanges, type ToolChange, ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makePipeline, makeTool } from '../../calls/pipeline-fixture.ts';

function registryWith(...tools: readonly Parameters<typeof makeTool>[0][]): ToolRegistry {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  for (const tool of tools) registry.register(makeTool(tool));
  return registry;
}

const code = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

test('examples of tools from outside are checked; those of our own compile nothing at a start', () => {
  const validator = new SchemaValidator();
  const registry = new ToolRegistry({ validator });
  const declaration = { name: 'own', title: 'Own', description: 'Answers', category: 'computing', hasSideEffects: false } as const;
  const parameters = { count: p.integer({ description: 'How many' }) };
  const examples = [{ description: 'One', params: { count: 1 } }];
  registry.register(defineTool({ ...declaration, parameters, examples }, async () => ({})));
  expect(validator.stats.compilations).toBe(0);
  const metadata = { examples: [{ description: 'One', params: { count: 'one' } }] };
  const outside = { type: 'object', properties: { count: { type: 'integer', description: 'How many' } } };
  expect(code(() => registry.register(makeTool({ name: 'outside', parameters: outside, metadata })))).toMatchObject({
    code: 'VALIDATION_ERROR',
  });
});

describe('resolving', () => {
  test('a bare name means the core tool, newest version', () => {
    const registry = registryWith(
      { name: 'notify' },
      { name: 'notify', version: '1.10.0' },
      { name: 'notify', version: '1.9.0' },
      { name: 'notify', namespace: 'custom', version: '9.0.0' },
    );
    expect(registry.resolve('notify').id).toBe('core:notify@1.10.0');
    expect(registry.resolve('custom:notify').id).toBe('custom:notify@9.0.0');
  });

  test('without a core tool a bare name means the only match, else AMBIGUOUS_TOOL lists them', () => {
    const registry = registryWith(
      { name: 'on', namespace: 'matter' },
      { name: 'only', namespace: 'matter' },
      { name: 'on', namespace: 'zwave' },
    );
    expect(registry.resolve('only').id).toBe('matter:only@1.0.0');
    expect(code(() => registry.resolve('on'))).toMatchObject({
      code: 'AMBIGUOUS_TOOL',
      details: { candidates: ['matter:on', 'zwave:on'] },
    });
  });

  test('a version or range in the name or beside it picks among versions', () => {
    const registry = registryWith({ version: '1.0.0' }, { version: '1.4.0' }, { version: '2.0.0' }, { version: '3.0.0-rc.1' });
    expect(registry.resolve('probe@1.0.0').id).toBe('core:probe@1.0.0');
    expect(registry.resolve('probe@^1.0.0').id).toBe('core:probe@1.4.0');
    expect(registry.resolve('probe', { versionRange: '>=1.0.0' }).id).toBe('core:probe@2.0.0');
    expect(registry.resolve('probe@3.0.0-rc.1').id).toBe('core:probe@3.0.0-rc.1');
    expect(registry.resolve('probe').id).toBe('core:probe@2.0.0');
    expect(code(() => registry.resolve('probe@^4.0.0'))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
  });

  test('an unknown name suggests the nearest ones, and never throws anything else', () => {
    const registry = registryWith({ name: 'kitchen_light_on', namespace: 'matter' }, { name: 'echo' });
    expect(code(() => registry.resolve('kitchen_ligth_on'))).toMatchObject({
      code: 'TOOL_NOT_FOUND',
      details: { suggestions: ['kitchen_light_on'] },
    });
    expect(code(() => registry.resolve('kitchn'))).toMatchObject({ details: { suggestions: ['kitchen_light_on'] } });
    for (const odd of ['', '@', '::', 'x@@1', '😀', 'a'.repeat(5_000)]) {
      expect(code(() => registry.resolve(odd))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
    }
  });

  test('what is not visible is neither found nor suggested nor makes a name ambiguous', () => {
    const registry = registryWith({ name: 'on', namespace: 'matter' }, { name: 'on', namespace: 'zwave' });
    const isVisible = (tool: { readonly definition: { readonly namespace: string } }) => tool.definition.namespace === 'zwave';
    expect(registry.resolve('on', { isVisible }).id).toBe('zwave:on@1.0.0');
    expect(code(() => registry.resolve('matter:on', { isVisible }))).toMatchObject({
      code: 'TOOL_NOT_FOUND',
      details: { suggestions: ['zwave:on'] },
    });
  });

  test('aliases lead to a tool until they are removed, and never hide one', () => {
    const registry = registryWith({ name: 'control_matter_device', namespace: 'matter' }, { name: 'echo' });
    registry.alias('matter_command', 'matter:control_matter_device');
    registry.alias('echo', 'matter:control_matter_device');
    expect(registry.resolve('matter_command').id).toBe('matter:control_matter_device@1.0.0');
    expect(registry.resolve('echo').id).toBe('core:echo@1.0.0');
    expect(registry.removeAlias('matter_command')).toBe(true);
    expect(code(() => registry.resolve('matter_command'))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
  });

  test('what a tool was called before means it with and without its namespace and version, until the tool is gone', () => {
    const registry = registryWith({ name: 'nightstand_on', namespace: 'matter', aliases: ['bedroom_on'] }, { name: 'echo' });
    for (const name of ['bedroom_on', 'matter:bedroom_on', 'matter:bedroom_on@1.0.0', 'bedroom_on@^1.0.0']) {
      expect(registry.resolve(name).id).toBe('matter:nightstand_on@1.0.0');
    }
    for (const name of ['core:bedroom_on', 'matter:bedroom_on@2.0.0']) {
      expect(code(() => registry.resolve(name))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
    }
    registry.unregister(registry.resolve('bedroom_on').id);
    expect(code(() => registry.resolve('bedroom_on'))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
  });

  test('the model-facing name leads back to its tool', () => {
    const long = `a_${'very_'.repeat(12)}long_name`;
    const registry = registryWith({ name: long, namespace: 'matter' }, { name: 'Search.Web' });
    for (const { tool } of registry.list().tools.map((listed) => ({ tool: listed }))) {
      expect(registry.resolve(registry.modelName(tool)).id).toBe(tool.id);
    }
  });
});

describe('registering', () => {
  test('the same id twice is a conflict unless it replaces', () => {
    const registry = registryWith({});
    expect(code(() => registry.register(makeTool({})))).toMatchObject({ code: 'CONFLICT' });
    const replacement = makeTool({ description: 'Another' });
    registry.register(replacement, { replace: true });
    expect(registry.size).toBe(1);
    expect(registry.resolve('probe').definition.description).toBe('Another');
  });

  test('a removed tool is gone everywhere, its other versions stay', () => {
    const registry = registryWith({}, { version: '1.1.0' });
    expect(registry.unregister(registry.resolve('probe').id)).toBe(true);
    expect(registry.resolve('probe').id).toBe('core:probe@1.0.0');
    registry.unregister(registry.resolve('probe').id);
    expect(registry.list().total).toBe(0);
    expect(code(() => registry.resolve('probe'))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
  });

  test('listeners hear what comes and goes until they stop', () => {
    const registry = registryWith();
    const heard: ToolChange[] = [];
    const stop = registry.onChange((change) => heard.push(change));
    registry.register(makeTool({}));
    registry.register(makeTool({}), { replace: true });
    stop();
    registry.unregister(registry.resolve('probe').id);
    expect(heard.map((change) => change.kind)).toEqual(['added', 'removed', 'added']);
  });

  test('what comes and goes is told as events', () => {
    const { registry, events, heard } = makePipeline();
    emitToolChanges(registry, events);
    registry.register(makeTool({}));
    registry.register(makeTool({ name: 'own', metadata: { created_by: 'agent' } }));
    registry.unregister(registry.resolve('probe').id);
    expect(heard.map(({ type, subject }) => `${type} ${subject}`)).toEqual([
      'agi.tool.discovered core:probe@1.0.0',
      'agi.tool.created core:own@1.0.0',
      'agi.tool.removed core:probe@1.0.0',
    ]);
  });

  test('a removed tool, and at the end every tool, gives back what it holds', async () => {
    const registry = registryWith();
    const ended: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      const shutdown = async () => {
        ended.push(name);
        if (name === 'b') throw new Error('stuck');
      };
      registry.register({ ...makeTool({ name }), shutdown });
    }
    registry.unregister(registry.resolve('a').id);
    expect(ended).toEqual(['a']);
    await registry[Symbol.asyncDispose]();
    expect(ended).toEqual(['a', 'b', 'c']);
    expect(registry.size).toBe(0);
  });

  test('by setting, a parameter without description stops the registration', () => {
    const tool = makeTool({ parameters: { type: 'object', properties: { x: { type: 'string' } } } });
    const lenient = new ToolRegistry({ validator: new SchemaValidator() });
    expect(lenient.register(tool)).toMatchObject([{ severity: 'warning', pointer: '/parameters/properties/x' }]);
    const strict = new ToolRegistry({ validator: new SchemaValidator() }, { onWarning: 'error' });
    expect(code(() => strict.register(tool))).toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

describe('listing', () => {
  const registry = registryWith(
    { name: 'b', requires: ['vision'], metadata: { category: 'sensing', device: 'cam', area: 'hall' } },
    { name: 'a', requires: ['vision', 'gpu'], metadata: { category: 'computing', created_by: 'agent' } },
    { name: 'c', title: 'Kitchen lamp', metadata: { category: 'sensing' } },
  );
  const names = (filter: Parameters<ToolRegistry['list']>[0]) => registry.list(filter).tools.map((tool) => tool.definition.name);

  test('is sorted and filtered by capability, category, device, area, author and words', () => {
    expect(names({})).toEqual(['a', 'b', 'c']);
    expect(names({ capability: 'vision' })).toEqual(['a', 'b']);
    expect(names({ category: 'sensing' })).toEqual(['b', 'c']);
    expect(names({ device: 'cam' })).toEqual(['b']);
    expect(names({ isInArea: (area) => area === 'hall' })).toEqual(['b']);
    expect(names({ createdBy: 'agent' })).toEqual(['a']);
    expect(names({ text: 'lamp KITCHEN' })).toEqual(['c']);
    expect(registry.listByCapability('gpu')).toHaveLength(1);
    expect(registry.listByCategory('sensing')).toHaveLength(2);
  });

  test('is paged', () => {
    expect(registry.list({ limit: 2 })).toMatchObject({ total: 3, nextOffset: 2 });
    expect(names({ offset: 2, limit: 2 })).toEqual(['c']);
    expect(registry.list({ offset: 2, limit: 2 }).nextOffset).toBeUndefined();
    expect(code(() => registry.list({ limit: 0 }))).toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});
