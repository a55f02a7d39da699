import { describe, expect, test } from 'vitest';
import { ask, makeDevice, makeHttpApi, makeReading } from '../http-fixture.ts';

/** The HTTP names that outside scripts rely on, each with a request that gets to it. */
const INTERFACES: [method: string, path: string, asked: string, query?: readonly string[]][] = [
  ['GET', '/healthz', '/healthz'],
  ['GET', '/metrics', '/metrics'],
  ['GET', '/openapi.json', '/openapi.json'],
  ['GET', '/llms.txt', '/llms.txt'],
  ['GET', '/api/v1/tools', '/api/v1/tools', ['q', 'device', 'capability', 'category', 'format', 'strict', 'limit', 'cursor']],
  ['GET', '/api/v1/tools/{id}', '/api/v1/tools/probe', ['format']],
  ['POST', '/api/v1/tools', '/api/v1/tools'],
  ['DELETE', '/api/v1/tools/{id}', '/api/v1/tools/probe'],
  ['POST', '/api/v1/tools/discover', '/api/v1/tools/discover'],
  ['POST', '/api/v1/tools/{id}/invoke', '/api/v1/tools/probe/invoke', ['async']],
  ['GET', '/api/v1/jobs/{id}', '/api/v1/jobs/x'],
  ['DELETE', '/api/v1/jobs/{id}', '/api/v1/jobs/x'],
  ['GET', '/api/v1/devices', '/api/v1/devices'],
  ['GET', '/api/v1/devices/{id}', '/api/v1/devices/lamp'],
  ['POST', '/api/v1/commission', '/api/v1/commission'],
  ['GET', '/api/v1/areas', '/api/v1/areas'],
  ['GET', '/api/v1/sensors', '/api/v1/sensors'],
  ['GET', '/api/v1/sensors/{id}/readings', '/api/v1/sensors/lamp/temperature/readings', ['since', 'every', 'agg']],
  ['GET', '/api/v1/approvals', '/api/v1/approvals'],
  ['GET', '/api/v1/approvals/{id}', '/api/v1/approvals/x'],
  ['POST', '/api/v1/approvals/{id}', '/api/v1/approvals/x'],
  ['POST', '/api/v1/tokens', '/api/v1/tokens'],
  ['GET', '/api/v1/mesh', '/api/v1/mesh'],
  ['GET', '/api/v1/audit', '/api/v1/audit'],
  ['GET', '/api/tools', '/api/tools', ['created_by']],
  ['GET', '/api/tools/usage', '/api/tools/usage'],
  ['POST', '/mcp', '/mcp'],
  ['POST', '/mcp/devices', '/mcp/devices'],
  ['POST', '/mcp/areas/{area}', '/mcp/areas/hall'],
];

function makeHome() {
  const setup = makeHttpApi();
  setup.addTool({ name: 'probe' });
  setup.directory.devices = [makeDevice('lamp')];
  setup.readings.readings = [makeReading('lamp/temperature', 20, setup.clock.now())];
  return setup;
}

describe('the names that outside scripts rely on', () => {
  test.each<[string, string, string, (readonly string[])?]>(INTERFACES)(
    '%s %s is a route, is described and answers',
    async (method, path, asked, query = []) => {
      const { httpApi } = makeHome();
      const { json: document } = await ask(httpApi, '/openapi.json');
      const operation = document.paths[path]?.[method.toLowerCase()];
      const names = operation?.parameters.map(({ name }: { name?: string }) => name);
      expect(names).toEqual(expect.arrayContaining([...query]));
      const answer = await ask(httpApi, asked, { method, ...(method === 'POST' && { body: {} }) });
      // What the door itself says of a path or method that it does not know.
      expect(answer.text).not.toContain('There is no "/');
      expect([405, 500]).not.toContain(answer.status);
    },
  );

  test('GET /api/v1/events is a stream', async () => {
    const { httpApi } = makeHome();
    const { json: document } = await ask(httpApi, '/openapi.json');
    expect(Object.keys(document.paths['/api/v1/events'].get.responses[200].content)).toEqual(['text/event-stream']);
  });

  test('GET /llms.txt needs no token, tells nothing of the home, and names only what there is', async () => {
    const { httpApi, addTool } = makeHome();
    const before = await ask(httpApi, '/llms.txt', { token: null });
    addTool({ name: 'secret_lamp' });
    const after = await ask(httpApi, '/llms.txt', { token: null });
    expect([before.status, before.headers.get('content-type'), after.text]).toEqual([200, 'text/plain; charset=utf-8', before.text]);
    const { json: document } = await ask(httpApi, '/openapi.json');
    const named = [...before.text.matchAll(/`(GET|POST) (\/[^`?: ]+)/g)].map(([, method = '', path = '']) => [
      method.toLowerCase(),
      path.replace(/\b(NAME|ID)\b/g, '{id}'),
    ]);
    expect(named.length).toBeGreaterThan(8);
    for (const [method = '', path = ''] of named) expect(document.paths[path], path).toHaveProperty(method);
  });
});
