import { expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { unconfigured, whileConfigured } from '../../../src/tools/definition/tool-definition.ts';
import { agent, codeOf, makePipeline, makeTool, owner } from '../../calls/pipeline-fixture.ts';

test('a tool without its setting says what to set, whatever it would make of the parameters', async () => {
  const { registry, pipeline } = makePipeline();
  const tool = makeTool({
    canonicalize: () => {
      throw new AtmoError('NOT_FOUND', 'There is no camera hall');
    },
    effects: () => [{ permission: 'admin:never', risk: 'dangerous', target: 'probe' }],
  });
  registry.register(unconfigured(tool, 'set connectors.cameras in the configuration'));
  expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
    error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('set connectors.cameras') },
  });
});

test('a setting that comes to be missing while the hub runs is told, and nobody approves what cannot run', async () => {
  const { registry, pipeline } = makePipeline();
  let missing: string | undefined;
  const tool = makeTool({ effects: () => [{ permission: 'x:do', risk: missing ? 'dangerous' : 'low', target: 'probe' }] });
  registry.register(whileConfigured(tool, () => missing));
  const call = () => pipeline.call({ principal: owner, tool: 'probe', params: {} });
  expect([registry.find('probe')?.isAvailable?.(), codeOf(await call())]).toEqual([true, 'success']);
  missing = 'install bubblewrap';
  expect([registry.find('probe')?.isAvailable?.(), codeOf(await call())]).toEqual([false, 'NOT_CONFIGURED']);
});

test('a parameter that only the service can judge does not hide that it is missing', async () => {
  const { registry, pipeline } = makePipeline();
  const parameters = { type: 'object', required: ['path'], properties: { path: { type: 'string', description: 'Path' } } };
  const tool = makeTool({ parameters, requires: { permissions: ['fs:read:{path}'] } });
  registry.register(unconfigured(tool, 'set connectors.files.roots'));
  const call = (...permissions: string[]) => pipeline.call({ principal: agent(...permissions), tool: 'probe', params: { path: '.' } });
  expect([codeOf(await call('fs:read:*')), codeOf(await call('fs:write:*'))]).toEqual(['NOT_CONFIGURED', 'PERMISSION_DENIED']);
});
