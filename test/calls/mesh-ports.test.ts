import { describe, expect, test } from 'vitest';
import { type MeshPorts, MeshProxy } from '../../src/calls/mesh-ports.ts';
import type { HubId } from '../../src/core/ids.ts';
import { RemoteToolsFake, toolOf } from '../tools/registry/remote-tools-fake.ts';

const tool = toolOf(['hub-2'], { namespace: 'lab' });

function look() {
  const gone = { id: 'hub-3' as HubId, name: 'attic' };
  const tools = Object.assign(new RemoteToolsFake([tool]), { departedHubs: () => [gone] });
  const state: { ports: MeshPorts | undefined } = { ports: undefined };
  const meshProxy = new MeshProxy(() => state.ports);
  return { join: () => (state.ports = { ...meshProxy, tools }), meshProxy, gone };
}

describe('the mesh ports of a hub that joins and leaves', () => {
  test('tells what the mesh does as soon as the hub is in one: the tools, and the hubs that had one and are gone', () => {
    const { join, meshProxy, gone } = look();
    join();
    expect(meshProxy.tools.all()).toEqual([tool]);
    expect(meshProxy.tools.resolve('lab:probe', {})).toBe(tool);
    expect(meshProxy.tools.hubsWith(tool.id)).toEqual(['hub-2']);
    expect(meshProxy.tools.departedHubs('lab:other', {})).toEqual([gone]);
  });

  test('is empty without a mesh, and what is asked of another hub is NODE_UNAVAILABLE', async () => {
    const { meshProxy } = look();
    expect([meshProxy.tools.all(), meshProxy.tools.resolve('lab:probe', {}), meshProxy.tools.departedHubs('lab:probe', {})]).toEqual([
      [],
      undefined,
      [],
    ]);
    expect([meshProxy.view.meshId, meshProxy.view.peers()]).toEqual([undefined, []]);
    expect(() => meshProxy.tools.modelName(tool)).toThrowError(expect.objectContaining({ code: 'NODE_UNAVAILABLE' }));
  });
});
