import { describe, expect, test } from 'vitest';
import { type MeshPorts, MeshProxy } from '../../src/calls/mesh-ports.ts';
import type { HubId } from '../../src/core/ids.ts';
import { RemoteToolsFake, toolOf } from '../tools/registry/remote-tools-fake.ts';

const tool = toolOf(['hub-2'], { namespace: 'lab' });

function look() {
  const gone = { id: 'hub-3' as HubId, name: 'attic' };
  const tools = Object.assign(new RemoteToolsFake([tool]), { departedHubs: () => [gone] });
  const state: { ports: MeshPorts | undefined } = { ports: undefined };
  const outlook = new MeshProxy(() => state.ports);
  return { join: () => (state.ports = { ...outlook, tools }), outlook, gone };
}

describe('the outlook on other hubs', () => {
  test('tells what the mesh does as soon as the hub is in one: the tools, and the hubs that had one and are gone', () => {
    const { join, outlook, gone } = look();
    join();
    expect(outlook.tools.all()).toEqual([tool]);
    expect(outlook.tools.resolve('lab:probe', {})).toBe(tool);
    expect(outlook.tools.hubsWith(tool.id)).toEqual(['hub-2']);
    expect(outlook.tools.departedHubs('lab:other', {})).toEqual([gone]);
  });

  test('is empty without a mesh, and what is asked of another hub is NODE_UNAVAILABLE', async () => {
    const { outlook } = look();
    expect([outlook.tools.all(), outlook.tools.resolve('lab:probe', {}), outlook.tools.departedHubs('lab:probe', {})]).toEqual([
      [],
      undefined,
      [],
    ]);
    expect([outlook.view.meshId, outlook.view.peers()]).toEqual([undefined, []]);
    expect(() => outlook.tools.modelName(tool)).toThrowError(expect.objectContaining({ code: 'NODE_UNAVAILABLE' }));
  });
});
