import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { generateClient, hasGenerator, typeErrors, type UseHub } from '../openapi-client/typed-client.ts';
import { RunningHub } from './running-hub.ts';

let stateDir: string;
let hub: RunningHub | undefined;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'registration-'));
});
afterEach(async () => {
  await hub?.[Symbol.asyncDispose]();
  hub = undefined;
  rmSync(stateDir, { recursive: true });
});

const JSON_TYPE = { 'content-type': 'application/json' };
const say: JsonObject = {
  id: 'say',
  name: 'Say',
  description: 'Says it again.',
  input_schema: { said: 'string' },
  steps: [{ tool: 'echo', params: { value: { words: { $param: 'said' } } } }],
};

async function start(env: Record<string, string> = {}): Promise<RunningHub> {
  hub = await RunningHub.start({ stateDir, env });
  return hub;
}

async function post(to: RunningHub, path: string, body: JsonObject, headers: Record<string, string> = {}) {
  const response = await to.request(path, { method: 'POST', body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } });
  return { status: response.status, json: (await response.json()) as JsonObject };
}

async function toolIds(of: RunningHub, path = '/api/v1/tools?limit=1000'): Promise<readonly string[]> {
  const { tools } = (await of.get(path)) as unknown as { tools: readonly { id: string }[] };
  return tools.map(({ id }) => id);
}

describe('a tool that is registered with a running hub', () => {
  test('is called by name, outlives a power cut, and is gone for good once it was removed', async () => {
    const first = await start();
    expect(await post(first, '/api/v1/tools', say)).toMatchObject({ status: 201, json: { id: 'custom:say@1.0.0', created_by: 'system' } });
    expect(await first.result('say', { said: 'hello' })).toEqual({ words: 'hello' });
    await first.kill();

    const second = await start();
    expect(await second.result('say', { said: 'again' })).toEqual({ words: 'again' });
    expect((await second.request('/api/v1/tools/say', { method: 'DELETE' })).status).toBe(200);
    expect(await toolIds(second)).not.toContain('custom:say@1.0.0');
    await second.stop();

    const third = await start();
    expect(await toolIds(third)).not.toContain('custom:say@1.0.0');
  });

  test('of an agent is its own: what it calls is judged by who calls, and every call is in the journal', async () => {
    const home = await start();
    const minted = await home.result('mint_token', { agent_id: 'helper', permissions: ['tool:register', 'sequence:run'] });
    const asHelper = { authorization: `Bearer ${minted.token}` };
    const made = await post(home, '/api/v1/tools', { ...say, created_by: 'system' }, asHelper);
    expect(made).toMatchObject({ status: 201, json: { id: 'agent:say@1.0.0', created_by: 'agent', made_by: 'helper' } });
    const owners = await post(home, '/api/v1/tools', { ...say, id: 'mint', steps: [{ tool: 'hub:mint_token' }] }, asHelper);
    expect(owners).toMatchObject({ status: 404, json: { code: 'TOOL_NOT_FOUND' } });
    expect(await toolIds(home, '/api/tools?created_by=agent')).toEqual(['agent:say@1.0.0']);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(await post(home, '/api/v1/tools/say/invoke', { said: 'x' }, { ...asHelper, traceparent })).toMatchObject({ status: 200 });
    const { rows } = (await home.get('/api/v1/audit?agent=helper&kind=intent')) as unknown as {
      rows: readonly { tool: string; trace: string }[];
    };
    expect(rows.slice(0, 2).map(({ tool, trace }) => [tool, trace])).toEqual([
      ['core:echo@1.0.0', '4bf92f3577b34da6a3ce929d0e0e4736'],
      ['agent:say@1.0.0', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ]);
    expect((await home.request('/api/v1/tools/echo', { method: 'DELETE' })).status).toBe(403);
    expect((await home.request('/api/v1/tools/say', { method: 'DELETE', headers: asHelper })).status).toBe(200);
  });

  test("of an agent takes no name that the owner's files give, also while what they describe cannot run", async () => {
    const waiting = { ...say, id: 'greet', steps: [{ tool: 'hall_lamp_turn_on' }] };
    writeFileSync(join(stateDir, 'tools_bootstrap.json'), JSON.stringify([waiting]), { mode: 0o600 });
    writeFileSync(join(stateDir, 'tools.yaml'), 'tools:\n  - name: bell\n    source: file:./absent.mjs\n', { mode: 0o600 });
    const home = await start({ ALLOWED_TOOL_PERMS: 'net:read, sensor:*' });
    const minted = await home.result('mint_token', { agent_id: 'helper', permissions: ['tool:register', 'sequence:run'] });
    const asHelper = { authorization: `Bearer ${minted.token}` };
    for (const id of ['greet', 'bell'])
      expect(await post(home, '/api/v1/tools', { ...say, id }, asHelper)).toMatchObject({ status: 409, json: { code: 'CONFLICT' } });
    expect(await post(home, '/api/v1/tools', say, asHelper)).toMatchObject({ status: 201 });
  });

  test('in a file that the configuration names and that is not there is missed by log and health, and by nothing else', async () => {
    hub = await RunningHub.start({ stateDir, config: { matter: { enabled: false }, tools: { manifest: 'mine.yaml' } } });
    const missing = `tools.manifest in the configuration names ${join(stateDir, 'mine.yaml')}, which does not exist`;
    expect(await hub.get('/healthz')).toMatchObject({ status: 'degraded', problems: [expect.stringContaining(missing)] });
    expect(hub.log.join('\n')).toContain(missing);
    expect(await hub.result('echo', { value: 1 })).toBe(1);
  });

  test('stands in the bootstrap file, or needs more than ALLOWED_TOOL_PERMS', async () => {
    writeFileSync(join(stateDir, 'tools_bootstrap.json'), JSON.stringify([say]), { mode: 0o600 });
    const home = await start({ ALLOWED_TOOL_PERMS: 'net:read, sensor:*' });
    expect(await home.result('say', { said: 'from the file' })).toEqual({ words: 'from the file' });
    const refused = await post(home, '/api/v1/tools', { ...say, id: 'files', steps: [], exec: { type: 'cmd', cmd: 'ls' } });
    expect(refused).toMatchObject({ status: 403, json: { details: { required: ['proc:exec'] } } });
    const kept = await post(home, '/api/v1/tools', { ...say, id: 'web', steps: [], permissions: ['net:read'] });
    expect(kept).toMatchObject({ status: 201, json: { available: false } });
    expect(await home.call('web', { said: 'x' })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
    const { json } = await post(home, '/api/v1/tools/discover', {});
    expect(json.known).toEqual(expect.arrayContaining(['core:echo@1.0.0', 'custom:say@1.0.0']));
    expect(json.waiting).toEqual([]);
  });
});

// The generator comes with the unit tests, which may ask the registry; here is no network.
test.skipIf(!hasGenerator())('a client made from the OpenAPI document of a running hub compiles and is understood', async () => {
  const home = await start();
  const folder = await generateClient(await home.get('/openapi.json'));
  try {
    expect(await typeErrors(folder)).toBe('');
    const { useHub } = (await import(join(folder, 'use-hub.ts'))) as { useHub: UseHub };
    const token = (await home.result('mint_token', { agent_id: 'client', permissions: ['tool:register', 'sequence:run', 'hub:read'] }))
      .token;
    expect(await useHub(home.url, String(token))).toMatchObject({
      status: 'ok',
      registered: 'agent:say@1.0.0',
      result: 'hello',
      refused: 'DEVICE_NOT_FOUND',
      removed: 'agent:say@1.0.0',
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
