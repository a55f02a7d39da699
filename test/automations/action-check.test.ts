import { expect, test } from 'vitest';
import { checkActions } from '../../src/automations/automation-access.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { agent, listAuthorizer, makeTool, NO_OTHERS } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { makePeer, toolOf } from '../tools/registry/remote-tools-fake.ts';

const parameters = { type: 'object', required: ['device_id'], properties: { device_id: { type: 'string', description: 'Which' } } };
const dim = toolOf(['hub-2'], { namespace: 'matter', name: 'dim', parameters, requires: { permissions: ['device:control:{device_id}'] } });
const ports = {
  authorizer: listAuthorizer,
  registry: { resolve: () => dim, hubsOf: () => [] },
  mesh: NO_OTHERS,
  validator: new SchemaValidator(),
  clock: new ManualClock(),
};

test('an action of another hub is checked for its parameters and for any permission on the tool', () => {
  const check = (params: object, ...permissions: readonly string[]) =>
    checkActions([{ tool: 'matter:dim', params: { ...params }, on_error: 'stop' }], agent(...permissions), ports);
  expect(() => check({ device_id: 'Attic lamp' }, 'device:control:attic-lamp')).not.toThrow();
  expect(() => check({ device_id: 'Attic lamp' }, 'device:read:attic-lamp')).toThrow('would lack');
  expect(() => check({ lamp: 'Attic lamp' }, 'device:control:attic-lamp')).toThrow('device_id');
});

test('the error for a tool that the agent may not see says that it is missing with these permissions', () => {
  const resolve = () => {
    throw new AtmoError('TOOL_NOT_FOUND', 'There is no tool "matter:dim"');
  };
  const check = () =>
    checkActions([{ tool: 'matter:dim', params: {}, on_error: 'stop' }], agent('device:read:hall-lamp'), {
      ...ports,
      registry: { ...ports.registry, resolve },
    });
  expect(check).toThrow('actions/0 (matter:dim), with the permissions of this agent: There is no tool');
});

test('an action may name a device that another hub has, where the agent may know of it', () => {
  const canonicalize = () => {
    throw new AtmoError('DEVICE_NOT_FOUND', 'There is no such device here');
  };
  const own = makeTool({
    namespace: 'matter',
    name: 'dim',
    parameters,
    requires: { permissions: ['device:control:{device_id}'] },
    canonicalize,
  });
  const device = { id: 'attic-lamp', name: 'Attic lamp', type: 'on_off_light', isReachable: true };
  const peers = [makePeer('hub-2', { devices: [device], isReachable: false }), makePeer('hub-3')];
  const mesh = { view: { peers: () => peers as never } };
  const check = (text: string, permission: string, hubs: readonly string[] = ['hub-2']) =>
    checkActions([{ tool: 'matter:dim', params: { device_id: text }, on_error: 'stop' }], agent(permission), {
      ...ports,
      mesh,
      registry: { resolve: () => own, hubsOf: () => hubs as never },
    });
  for (const text of ['attic-lamp', 'Attic lamp']) expect(() => check(text, 'device:control:attic-lamp')).not.toThrow();
  expect(() => check('Attic lamp', 'device:control:hall-lamp')).toThrow('no such device');
  expect(() => check('Cellar lamp', 'device:control:*')).toThrow('no such device');
  expect(() => check('Attic lamp', 'device:control:*', ['hub-3'])).toThrow('no such device');
});
