import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../../src/auth/grant-authorizer.ts';
import type { CallRouter } from '../../../src/calls/pipeline-context.ts';
import { NO_GROUPS, type ResourceGroups } from '../../../src/core/auth/permission.ts';
import type { PeerDevice } from '../../../src/core/mesh-view.ts';
import { RemoteDeviceGroups } from '../../../src/profiles/home/device-groups.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { canSeeTool, mayCallTool } from '../../../src/tools/definition/tool-permissions.ts';
import { agent, codeOf, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { makePeer, RemoteToolsFake, toolOf } from '../../tools/registry/remote-tools-fake.ts';

const device = (id: string, type: string): PeerDevice => ({ id, name: id, type, isReachable: true });

/** The tool of a device, which needs the right to control it. */
function deviceTool(hub: string, id: string, area = 'Kitchen'): RegisteredTool {
  return toolOf([hub], {
    namespace: 'matter',
    name: `use_${id}`,
    requires: { permissions: [`device:control:${id}`] },
    metadata: { device: id, area },
  });
}

/** This hub beside two others, each of which tells of devices and has a tool for each. */
function house(told: Readonly<Record<string, readonly PeerDevice[]>>, { groups = NO_GROUPS as ResourceGroups, area = 'Kitchen' } = {}) {
  const peers = Object.entries(told).map(([id, devices]) => makePeer(id, { devices }));
  const remote = new RemoteToolsFake(Object.entries(told).flatMap(([hub, devices]) => devices.map(({ id }) => deviceTool(hub, id, area))));
  const elsewhere = new RemoteDeviceGroups(() => ({ view: { peers: () => peers as never }, tools: remote }));
  const authorizer = new GrantAuthorizer({ groups, elsewhere, validity: { isStillValid: () => true } });
  return { remote, elsewhere, authorizer, peers };
}

describe('grants by type and area on devices of other hubs', () => {
  const told = { 'hub-2': [device('d1', 'dimmable_light'), device('d2', 'door_lock')] };

  test.each([
    ['device:control:@type/light', ['matter:use_d1@1.0.0']],
    ['device:control:@type/dimmable-light', ['matter:use_d1@1.0.0']],
    ['device:control:@type/lock', ['matter:use_d2@1.0.0']],
    ['device:control:@area/kitchen', ['matter:use_d1@1.0.0', 'matter:use_d2@1.0.0']],
    ['device:control:@area/bath', []],
    ['device:control:@type/thermostat', []],
    ['sensor:read:@type/light', []],
  ])('%s shows the tools of these alone', (grant, expected) => {
    const { remote, authorizer } = house(told);
    const may = remote.all().filter((tool) => mayCallTool(tool, agent(grant), authorizer));
    const sees = remote.all().filter((tool) => canSeeTool(tool, agent(grant), authorizer));
    expect(may.map(({ id }) => id)).toEqual(expected);
    expect(sees.map(({ id }) => id)).toEqual(expected);
  });

  test('areas count also of a hub that does not list its devices', () => {
    const { authorizer, elsewhere } = house({ 'hub-2': [] });
    expect(elsewhere.isMember('d1', { by: 'area', name: 'kitchen' }, ['hub-2'])).toBe(false);
    const quiet = new RemoteDeviceGroups(() => ({
      view: { peers: () => [makePeer('hub-2', { devices: [] })] as never },
      tools: new RemoteToolsFake([deviceTool('hub-2', 'd1', 'Living Room')]),
    }));
    expect(quiet.isMember('d1', { by: 'area', name: 'living-room' }, ['hub-2'])).toBe(true);
    expect(quiet.isMember('d1', { by: 'type', name: 'light' }, ['hub-2'])).toBe(false);
    expect(mayCallTool(deviceTool('hub-2', 'd1'), agent('device:control:@type/light'), authorizer)).toBe(false);
  });

  test('the announcements of a hub count for no device of another hub, nor of this one', () => {
    const { remote, authorizer } = house({
      'hub-2': [device('d1', 'door_lock')],
      'hub-3': [device('d1', 'on_off_light'), device('safe', 'on_off_light')],
    });
    const lights = agent('device:control:@type/light');
    const [lock, pretended] = remote.all();
    expect([lock, pretended].map((tool) => tool && mayCallTool(tool, lights, authorizer))).toEqual([false, true]);
    // The lock of this hub has the id that the other hub gives a light.
    expect(authorizer.authorize(lights, ['device:control:safe']).allowed).toBe(false);
    expect(authorizer.canSee(lights, 'device:read:safe')).toBe(false);
  });

  test('and a device of this hub makes nothing of its id elsewhere visible', () => {
    const { remote, authorizer } = house(
      { 'hub-2': [device('d1', 'door_lock')] },
      { groups: { isMember: (resource) => resource === 'd1' } },
    );
    const [lock] = remote.all();
    expect(authorizer.authorize(agent('device:control:@type/light'), ['device:control:d1']).allowed).toBe(true);
    expect(lock && canSeeTool(lock, agent('device:control:@type/light'), authorizer)).toBe(false);
  });

  test('a device that gets another type is seen as that from the next announcement on', () => {
    const devices: PeerDevice[] = [device('d1', 'on_off_light')];
    const remote = new RemoteToolsFake([deviceTool('hub-2', 'd1')]);
    let tools: readonly RegisteredTool[] = remote.all();
    const view = { peers: () => [makePeer('hub-2', { devices })] as never };
    const elsewhere = new RemoteDeviceGroups(() => ({ view, tools: { all: () => tools } }));
    const isLight = () => elsewhere.isMember('d1', { by: 'type', name: 'light' }, ['hub-2']);
    expect(isLight()).toBe(true);
    devices[0] = device('d1', 'door_lock');
    tools = [...tools];
    expect(isLight()).toBe(false);
  });

  test('the call goes there, where the other hub decides', async () => {
    const { remote, authorizer, peers } = house(told);
    const asked: string[] = [];
    const router: CallRouter = {
      forward: async (hub, { tool }) => {
        asked.push(`${hub} ${tool.id}`);
        return { result: {}, nodeId: hub, hops: 1 };
      },
    };
    const { pipeline } = makePipeline({ remote, authorizer, router, mesh: { peers: () => peers } });
    const call = (tool: string, principal = agent('device:control:@type/light')) => pipeline.call({ principal, tool, params: {} });
    expect(codeOf(await call('use_d1'))).toBe('success');
    expect(codeOf(await call('use_d2'))).toBe('TOOL_NOT_FOUND');
    expect(codeOf(await call('use_d2', owner))).toBe('success');
    expect(asked).toEqual(['hub-2 matter:use_d1@1.0.0', 'hub-2 matter:use_d2@1.0.0']);
  });
});
