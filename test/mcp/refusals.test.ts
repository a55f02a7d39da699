import { expect, test } from 'vitest';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import { ask, makeDevice, makeHttpApi } from '../http/http-fixture.ts';
import { modernClient } from './mcp-clients.ts';

const CALLED = {
  ...NO_HOME_NAMES,
  revision: 0,
  deviceAliases: () => [],
  areaNames: (area: string) => ({ aliases: area === 'Attic' ? ['Loft'] : [] }),
};

function makeHome() {
  const setup = makeHttpApi({ homeNames: CALLED });
  setup.directory.devices = [makeDevice('lamp', { area: 'Attic' }), makeDevice('fan', { area: 'Kitchen' })];
  setup.addTool({ name: 'lamp_on', namespace: 'matter', metadata: { device: 'lamp', area: 'Attic' } });
  return setup;
}

test.each([
  ['{"jsonrpc": "2.0"', -32_700],
  ['"ping"', -32_600],
])('the body %s is refused in the words of JSON-RPC', async (body, code) => {
  const { httpApi } = makeHome();
  const answer = await ask(httpApi, '/mcp', { body });
  expect([answer.status, answer.json]).toEqual([
    400,
    { jsonrpc: '2.0', id: null, error: { code, message: expect.any(String), data: expect.any(Object) } },
  ]);
  expect(answer.json.error.data).toMatchObject({ code: 'VALIDATION_ERROR', retryable: false });
  expect((await ask(httpApi, '/api/v1/tools/probe/invoke', { body })).json.code).toBe('VALIDATION_ERROR');
});

test('an area is known by any of its names, and one that is not there is told with those that are', async () => {
  const { httpApi } = makeHome();
  const client = await modernClient(httpApi, { path: '/mcp/areas/loft' });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['lamp_on']);
  const body = { jsonrpc: '2.0', id: 7, method: 'initialize', params: {} };
  const refused = await ask(httpApi, '/mcp/areas/kichen', { body });
  expect([refused.status, refused.json]).toEqual([
    404,
    {
      jsonrpc: '2.0',
      id: 7,
      error: {
        code: -32_602,
        message: 'There is no area "kichen"; there is "Kitchen"',
        data: {
          code: 'NOT_FOUND',
          message: 'There is no area "kichen"; there is "Kitchen"',
          details: { candidates: ['Kitchen'] },
          retryable: false,
        },
      },
    },
  ]);
});

test('an area that only another hub has is known by its tools', async () => {
  const { httpApi, addTool } = makeHome();
  addTool({ name: 'shed_lamp_on', namespace: 'matter', metadata: { device: 'shed-lamp', area: 'Shed' } });
  const client = await modernClient(httpApi, { path: '/mcp/areas/shed' });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['shed_lamp_on']);
});

test('a tool with a step that waits for people is told as destructive', async () => {
  const { httpApi, addTool } = makeHome();
  const composed = { namespace: 'agent', execution: { side_effects: true }, permissions: ['device:control:lamp'] };
  addTool({ ...composed, name: 'come_home', tags: ['composed', 'needs_approval'] });
  addTool({ ...composed, name: 'go_out', tags: ['composed'] });
  const client = await modernClient(httpApi, { path: '/mcp/devices' });
  const hints = (await client.listTools()).tools.map(({ name, annotations }) => [name, annotations?.destructiveHint]);
  expect(Object.fromEntries(hints)).toMatchObject({ come_home: true, go_out: false });
});
