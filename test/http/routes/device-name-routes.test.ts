import { expect, test } from 'vitest';
import { ask, makeHttpApi } from '../http-fixture.ts';

test.each([
  ['GET', '/api/v1/device-names?name=Lamp', 'list_device_names', undefined, { name: 'Lamp' }],
  ['GET', '/api/v1/device-names', 'list_device_names', undefined, {}],
  ['POST', '/api/v1/device-names/free', 'free_device_name', { name: 'Lamp', confirm: true }, { name: 'Lamp', confirm: true }],
  ['POST', '/api/v1/devices/lamp/rename', 'rename_device', { name: 'Sofa' }, { device_id: 'lamp', name: 'Sofa' }],
  ['GET', '/api/v1/recognised-devices', 'recognised_devices', undefined, {}],
  ['POST', '/api/v1/devices/lamp/restore', 'restore_device', { whole_node: true }, { device_id: 'lamp', whole_node: true }],
  [
    'POST',
    '/api/v1/areas/Kids%27%20room/rename',
    'rename_area',
    { name: 'Den', merge: true },
    { area: "Kids' room", name: 'Den', merge: true },
  ],
] as const)('%s %s is the call of hub:%s, whose result it answers', async (method, path, name, body, params) => {
  const { httpApi, addTool } = makeHttpApi();
  const seen: unknown[] = [];
  addTool({
    namespace: 'hub',
    name,
    parameters: { type: 'object' },
    handler: async (given) => {
      seen.push(given);
      return { former_names: ['Lamp'] };
    },
  });
  const answer = await ask(httpApi, path, { method, ...(body && { body }) });
  expect([answer.status, answer.json, seen]).toEqual([200, { former_names: ['Lamp'] }, [params]]);
});
