import { expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import { withoutSetting } from '../../src/tools/missing-setting.ts';
import { makeRoom, makeTool, owner } from './tool-room.ts';

test('a tool without its setting says what to set, whatever it would make of the parameters', async () => {
  const { registry, pipeline } = makeRoom();
  const tool = makeTool({
    canonicalize: () => {
      throw new AtmoError('NOT_FOUND', 'There is no camera hall');
    },
    effects: () => [{ permission: 'admin:never', risk: 'dangerous', target: 'probe' }],
  });
  registry.register(withoutSetting(tool, 'set connectors.cameras in the configuration'));
  expect(await pipeline.call({ principal: owner, tool: 'probe', params: {} })).toMatchObject({
    error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('set connectors.cameras') },
  });
});
