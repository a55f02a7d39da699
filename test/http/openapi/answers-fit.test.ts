import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import type { EndpointDescription } from '../../../src/core/devices/device-model.ts';
import { EVENT_TYPES } from '../../../src/core/events.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { ask, makeDevice, makeHttpApi, makeReading, TOKEN } from '../http-fixture.ts';

function makeHome() {
  const setup = makeHttpApi();
  const { directory, readings, clock, capabilities, registry } = setup;
  const device = makeDevice('hall-lamp', { name: 'Lamp', area: 'Hall', lastSeenMs: clock.now() - 4_000, softwareVersion: '1.1' });
  directory.devices = [device, makeDevice('porch', { reachability: 'unreachable' })];
  const cluster = { id: 6, name: 'OnOff', revision: 6, features: ['LT'], attributes: [], commands: [], events: [] };
  const endpoints = [{ endpoint: 1, deviceTypes: [{ id: 256, name: 'OnOffLight' }], tags: [], clusters: [cluster] }];
  directory.descriptions.set('hall-lamp', { device, endpoints: endpoints as unknown as readonly EndpointDescription[] });
  readings.readings = [makeReading('hall-lamp/temperature', 21.5, clock.now() - 9_000), makeReading('porch/temperature', 3, 0)];
  readings.points = [{ atMs: clock.now() - 60_000, value: 20 }];
  capabilities.add({ type: 'matter_bridge', description: () => 'bridge', hasDevices: true });
  registry.register(
    makeTool({
      name: 'lamp_on',
      namespace: 'matter',
      permissions: ['device:control:hall-lamp'],
      execution: { side_effects: true, async_allowed: true },
      metadata: { device: 'hall-lamp', category: 'acting', tags: ['light'] },
    }),
  );
  setup.addTool({ name: 'bridge', requires: { capabilities: ['matter_bridge'] } });
  setup.addTool({ name: 'broken', handler: async () => Promise.reject(new Error('bug')) });
  return setup;
}

/** Checks answers by the document that the hub gives of itself. */
async function checkerOf({ httpApi }: ReturnType<typeof makeHome>) {
  const { json: document } = await ask(httpApi, '/openapi.json');
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'hub');
  return async (method: string, [path, asked]: readonly [string, string], body?: unknown) => {
    const answer = await ask(httpApi, asked, { method, ...(body !== undefined && { body }) });
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    const operation = document.paths[path][method.toLowerCase()];
    const response = operation.responses[answer.status] ?? operation.responses.default;
    const place = response.$ref ?? `#/paths/${escaped(path)}/${method.toLowerCase()}/responses/${answer.status}`;
    const validate = ajv.compile({ $ref: `hub${place}/content/${escaped(type)}/schema` });
    validate(answer.json);
    return { status: answer.status, problems: validate.errors ?? [] };
  };
}

function escaped(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'));
}

describe('answers', () => {
  test.each<[string, string, string, unknown?]>([
    ['GET', '/healthz', '/healthz'],
    ['GET', '/api/v1/tools', '/api/v1/tools?limit=1'],
    ['GET', '/api/v1/tools', '/api/v1/tools?q=lamp'],
    ['GET', '/api/v1/tools', '/api/v1/tools?format=openai'],
    ['GET', '/api/v1/tools', '/api/v1/tools?format=anthropic'],
    ['GET', '/api/v1/tools', '/api/v1/tools?format=mcp'],
    ['GET', '/api/v1/tools/{id}', '/api/v1/tools/lamp_on'],
    ['GET', '/api/v1/tools/{id}', '/api/v1/tools/lamp_on?format=openai'],
    ['POST', '/api/v1/tools/discover', '/api/v1/tools/discover', { query: 'lamp' }],
    ['POST', '/api/v1/tools/{id}/invoke', '/api/v1/tools/lamp_on/invoke', {}],
    ['POST', '/api/v1/tools/{id}/invoke', '/api/v1/tools/lamp_on/invoke?async=true', {}],
    ['POST', '/api/v1/tool-calls', '/api/v1/tool-calls', { id: 'a', type: 'function', function: { name: 'lamp_on', arguments: '{}' } }],
    ['POST', '/api/v1/tool-calls', '/api/v1/tool-calls', [{ id: 'a', type: 'tool_use', name: 'nothing', input: {} }]],
    ['GET', '/api/v1/jobs', '/api/v1/jobs'],
    ['GET', '/api/v1/capabilities', '/api/v1/capabilities'],
    ['GET', '/api/v1/devices', '/api/v1/devices'],
    ['GET', '/api/v1/devices/{id}', '/api/v1/devices/hall-lamp?describe=true'],
    ['GET', '/api/v1/areas', '/api/v1/areas'],
    ['GET', '/api/v1/sensors', '/api/v1/sensors'],
    ['GET', '/api/v1/sensors/{id}/readings', '/api/v1/sensors/hall-lamp/temperature/readings?every=5m'],
    ['GET', '/api/tools', '/api/tools'],
    ['GET', '/api/tools/usage', '/api/tools/usage'],
  ])('of %s %s (%s) are as the document says', async (method, path, asked, body) => {
    const setup = makeHome();
    await ask(setup.httpApi, '/api/v1/tools/broken/invoke', { body: {} });
    await ask(setup.httpApi, '/api/v1/tools/lamp_on/invoke?async=true', { body: {} });
    const check = await checkerOf(setup);
    const { status, problems } = await check(method, [path, asked], body);
    expect(problems).toEqual([]);
    expect([200, 202]).toContain(status);
  });

  test.each<[string, string, string, number, unknown?]>([
    ['GET', '/api/v1/tools', '/api/v1/tools?colour=red', 400],
    ['GET', '/api/v1/tools/{id}', '/api/v1/tools/nothing', 404],
    ['GET', '/api/v1/devices/{id}', '/api/v1/devices/nothing', 404],
    ['POST', '/api/v1/tools/discover', '/api/v1/tools/discover', 400, { query: 7 }],
    ['POST', '/api/v1/tools/discover', '/api/v1/tools/discover', 400, { query: 'x'.repeat(1_001) }],
    ['POST', '/api/v1/tools/{id}/invoke', '/api/v1/tools/lamp_on/invoke', 400, '['],
    ['GET', '/api/v1/jobs/{id}', '/api/v1/jobs/nothing', 404],
  ])('of %s %s (%s) that are refused are problems', async (method, path, asked, status, body) => {
    const check = await checkerOf(makeHome());
    expect(await check(method, [path, asked], body)).toEqual({ status, problems: [] });
  });

  test.each(['broken', 'bridge'])('of a call of %s that fails are the envelope with its error', async (tool) => {
    const check = await checkerOf(makeHome());
    const { status, problems } = await check('POST', ['/api/v1/tools/{id}/invoke', `/api/v1/tools/${tool}/invoke`], {});
    expect(problems).toEqual([]);
    expect(status).toBeGreaterThanOrEqual(500);
  });

  test('that are errors have one place for code, message, details and retryable, whatever was refused', async () => {
    const { httpApi } = makeHome();
    const lamp = '/api/v1/tools/lamp_on/invoke';
    const answers = await Promise.all([
      ask(httpApi, '/api/v1/tools/nothing/invoke', { body: {} }),
      ask(httpApi, lamp, { body: {}, token: 'guess' }),
      ask(httpApi, lamp, { body: '[' }),
      ask(httpApi, lamp, { method: 'GET' }),
      ask(httpApi, '/api/v1/devices/nothing'),
      ask(httpApi, '/nowhere'),
    ]);
    const error = { code: expect.any(String), message: expect.any(String), details: expect.any(Object), retryable: expect.any(Boolean) };
    for (const { json } of answers) expect(json).toMatchObject({ error });
    expect(answers.map(({ json }) => json.error.code)).toEqual([
      'TOOL_NOT_FOUND',
      'TOKEN_INVALID',
      'VALIDATION_ERROR',
      'NOT_SUPPORTED',
      'DEVICE_NOT_FOUND',
      'NOT_FOUND',
    ]);
    const { json: document } = await ask(httpApi, '/openapi.json');
    const { content } = document.components.responses.RefusedCall400;
    for (const type of ['application/json', 'application/problem+json']) {
      const name = content[type].schema.$ref.split('/').at(-1);
      expect(document.components.schemas[name].allOf[0]).toEqual({ $ref: '#/components/schemas/Failure' });
    }
    expect(document.components.schemas.Failure).toMatchObject({
      required: ['error'],
      properties: { error: { $ref: '#/components/schemas/ToolError' } },
    });
  });

  test('an event is as the document says', async () => {
    const { httpApi, events, heard } = makeHome();
    events.emit('hub.warning', 'test', { reason: 'none' });
    const { json: document } = await ask(httpApi, '/openapi.json', { token: TOKEN });
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'hub');
    expect(ajv.compile({ $ref: 'hub#/components/schemas/Event' })(heard.at(-1))).toBe(true);
    expect(document.components.schemas.Event.properties.type.enum).toEqual(EVENT_TYPES);
  });
});
