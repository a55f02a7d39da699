import { expect, test } from 'vitest';
import { checkActions } from '../../src/agents/action-check.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { toolOf } from '../tools/remote-tools-fake.ts';
import { agent, listAuthorizer } from '../tools/tool-room.ts';

const parameters = { type: 'object', required: ['device_id'], properties: { device_id: { type: 'string', description: 'Which' } } };
const dim = toolOf(['hub-2'], { namespace: 'matter', name: 'dim', parameters, requires: { permissions: ['device:control:{device_id}'] } });
const ports = { authorizer: listAuthorizer, registry: { resolve: () => dim }, validator: new SchemaValidator() };

test('an action of another hub is held against what is known of it here: its parameters, and the permission for anything at all', () => {
  const check = (params: object, ...permissions: readonly string[]) =>
    checkActions([{ tool: 'matter:dim', params: { ...params }, on_error: 'stop' }], agent(...permissions), ports);
  expect(() => check({ device_id: 'Attic lamp' }, 'device:control:attic-lamp')).not.toThrow();
  expect(() => check({ device_id: 'Attic lamp' }, 'device:read:attic-lamp')).toThrow('would lack');
  expect(() => check({ lamp: 'Attic lamp' }, 'device:control:attic-lamp')).toThrow('device_id');
});
