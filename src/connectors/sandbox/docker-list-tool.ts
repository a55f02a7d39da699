import { defineTool } from '../../tools/definition/define-tool.ts';
import { notConfigured, withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { ContainerEngine } from './container-engine.ts';

const SETTING = 'set connectors.sandbox.container_engine in the configuration';

/** The containers or images of the board (source 003, seed tools). */
export function dockerListTool(engine: ContainerEngine | undefined): RegisteredTool {
  const tool = defineTool(
    {
      name: 'docker_list',
      title: 'List containers or images',
      description:
        'Lists the containers of this board with image and state, or its images. Use it to see what runs. Example: {"type": "containers"}.',
      category: 'querying',
      hasSideEffects: false,
      permissions: ['docker:use'],
      timeoutMs: 15_000,
      tags: ['container'],
      parameters: { type: p.enum(['containers', 'images'], { description: 'What to list', default: 'containers' }) },
      returns: { type: 'object', required: ['items'], properties: { items: { type: 'array', items: { type: 'string' } } } },
      examples: [{ description: 'What runs', params: { type: 'containers' } }],
    },
    async ({ type }, { signal }) => {
      if (!engine) throw notConfigured('docker_list', SETTING);
      return { items: await engine.list(type, signal) };
    },
  );
  return engine ? tool : withoutSetting(tool, SETTING);
}
