import { expect, test } from 'vitest';
import { rotateOwnerTool } from '../../../src/tools/builtin/hub-administration-tools.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

function makeRotation() {
  let rotations = 0;
  const approvals = {
    check: async () => ({ state: 'approved', approvalId: 'a', by: ['owner'] }) as const,
    peek: async () => ({ state: 'approved', approvalId: 'a', by: ['owner'] }) as const,
    giveBack: () => {},
    refusalOf: () => undefined,
    stillApprovedBy: () => [],
    withdraw: () => {},
  };
  const setup = makePipeline({ approvals });
  setup.registry.register(rotateOwnerTool({ rotate: () => rotations++ }));
  return { ...setup, rotations: () => rotations };
}

test("the owner's token is replaced by the owner alone, whatever others may", async () => {
  const { pipeline, rotations } = makeRotation();
  const admin = await pipeline.call({ principal: agent('admin:*'), tool: 'hub:rotate_owner', params: {} });
  expect([admin, rotations()]).toEqual([expect.objectContaining({ error: expect.objectContaining({ code: 'PERMISSION_DENIED' }) }), 0]);
  const own = await pipeline.call({ principal: owner, tool: 'hub:rotate_owner', params: {} });
  expect([own, rotations()]).toEqual([expect.objectContaining({ status: 'success', result: { success: true } }), 1]);
});

test('replacing it is dangerous', () => {
  expect(rotateOwnerTool({ rotate: () => {} }).definition.metadata.isDangerous).toBe(true);
});
