import { describe, expect, test } from 'vitest';
import { makePeer, RemoteToolsFake, toolOf } from '../../tools/registry/remote-tools-fake.ts';
import { codeOf, makePipeline, makeTool, owner } from '../pipeline-fixture.ts';

function makeHome(capabilities: readonly string[] = []) {
  const setup = makePipeline({ capabilities: () => capabilities });
  const add = (input: Parameters<typeof makeTool>[0]) => {
    const tool = makeTool(input);
    setup.registry.register(tool);
    return tool;
  };
  const addCalling = (name: string, step: string) => {
    const tool = { ...makeTool({ name }), innerCalls: () => [{ tool: step }] };
    setup.registry.register(tool);
    return tool;
  };
  return { ...setup, add, addCalling, obstacleTo: setup.pipeline.obstacleTo.bind(setup.pipeline) };
}

describe('what keeps a tool from running', () => {
  test('is nothing where a call would run', () => {
    const { add, addCalling, obstacleTo } = makeHome(['gpu', 'telescope']);
    expect(obstacleTo(add({ name: 'plain' }))).toBeUndefined();
    expect(obstacleTo(add({ name: 'picture', requires: { gpu: true, capabilities: ['telescope'] } }))).toBeUndefined();
    expect(obstacleTo(addCalling('both', 'plain'))).toBeUndefined();
  });

  test.each([
    ['a GPU', { requires: { gpu: true } }, 'no hub can run it: this hub has no GPU'],
    ['a capability', { requires: { capabilities: ['telescope'] } }, 'no hub can run it: this hub lacks telescope'],
    ['another hub', { routing: { node_affinity: ['attic'] } }, 'no hub can run it: this hub is none of attic'],
    ['its device', { metadata: { device: 'hall-lamp' }, isAvailable: () => false }, 'its device (hall-lamp) does not answer'],
  ])('is %s that is not there, as a call of it says too', async (_what, input, reason) => {
    const { add, obstacleTo, pipeline } = makeHome();
    const tool = add({ name: 'needy', ...input });
    expect(obstacleTo(tool)).toBe(reason);
    const answer = await pipeline.call({ principal: owner, tool: 'needy', params: {} });
    expect(['NO_CAPABLE_NODE', 'DEVICE_UNREACHABLE']).toContain(codeOf(answer));
  });

  test('is told of each hub by its name', () => {
    const tool = toolOf(['hub-2', 'hub-3'], { requires: { gpu: true } });
    const peers = [makePeer('hub-2', { name: 'attic' }), makePeer('hub-3', { isReachable: false, name: 'garage' })];
    const { pipeline } = makePipeline({ remote: new RemoteToolsFake([tool]), mesh: { peers: () => peers } });
    expect(pipeline.obstacleTo(tool)).toBe('no hub can run it: attic has no GPU; garage is not reachable');
  });

  test('is the obstacle of a tool that it calls, or that there is none, however deep', () => {
    const { add, addCalling, obstacleTo } = makeHome();
    add({ name: 'picture', requires: { gpu: true } });
    const inner = addCalling('inner', 'picture');
    const outer = addCalling('outer', 'inner');
    expect(obstacleTo(inner)).toBe('it calls picture: no hub can run it: this hub has no GPU');
    expect(obstacleTo(outer)).toBe('it calls inner: it calls picture: no hub can run it: this hub has no GPU');
    expect(obstacleTo(addCalling('lost', 'nothing'))).toBe('it calls nothing: there is no such tool now');
  });

  test('is looked for with an end where tools call each other', () => {
    const { addCalling, obstacleTo } = makeHome();
    addCalling('egg', 'hen');
    expect(obstacleTo(addCalling('hen', 'egg'))).toBeUndefined();
  });
});
