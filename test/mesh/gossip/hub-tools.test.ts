import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { HubToolIndex } from '../../../src/mesh/gossip/hub-tool-index.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

const tool = fc.record({
  namespace: fc.constantFrom('core', 'matter', 'camera'),
  name: fc.constantFrom('snap', 'turn_on', 'Turn.On', 'a_name_that_is_too_long_for_models_to_use_it_whole'),
  version: fc.constantFrom('1.0.0', '1.2.0', '2.0.0', '2.1.0-rc.1'),
});
const names = [
  'snap',
  'core:snap',
  'matter:turn_on',
  'turn_on',
  'Turn.On',
  'camera:snap@^1.0.0',
  'snap@2',
  'turn_on@1.2.0',
  'nothing',
  '@',
  'x:y:z',
];

/** What a registry says: the id, `none`, or the unversioned names that fit. */
function answerOf(registry: ToolRegistry, name: string): unknown {
  try {
    return registry.resolve(name).id;
  } catch (error) {
    if (!(error instanceof AtmoError)) throw error;
    return error.code === 'AMBIGUOUS_TOOL' ? error.details.candidates : 'none';
  }
}

function sayingOf(found: readonly RegisteredTool[]): unknown {
  if (found.length > 1) return found.map(({ definition }) => `${definition.namespace}:${definition.name}`).sort();
  return found[0]?.id ?? 'none';
}

describe('HubToolIndex', () => {
  test('a name means what it means in a registry with the same tools', () => {
    fc.assert(
      fc.property(fc.uniqueArray(tool, { maxLength: 8, selector: (one) => JSON.stringify(one) }), (inputs) => {
        const tools = inputs.map((input) => makeTool(input));
        const registry = new ToolRegistry({ validator: new SchemaValidator() });
        for (const one of tools) registry.register(one);
        const index = new HubToolIndex(tools);
        const modelNames = tools.map((one) => registry.modelName(one));
        expect(tools.map((one) => index.modelName(one))).toEqual(modelNames);
        for (const name of [...names, ...modelNames]) expect(sayingOf(index.find(name, {}))).toEqual(answerOf(registry, name));
      }),
      { numRuns: 100 },
    );
  });

  test('does not find what the caller may not see', () => {
    const index = new HubToolIndex([makeTool({ name: 'snap' })]);
    expect(index.find('snap', { isVisible: () => false })).toEqual([]);
  });
});
