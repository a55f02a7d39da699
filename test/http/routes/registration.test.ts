import { describe, expect, test } from 'vitest';
import { registrationTools } from '../../../src/calls/builtin/registration-tools.ts';
import { SeedDiscovery } from '../../../src/calls/registration/seed-discovery.ts';
import { ToolRecordStore } from '../../../src/calls/registration/tool-record.ts';
import { ToolRegistrar } from '../../../src/calls/registration/tool-registrar.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ReservedNames } from '../../../src/tools/manifest/record-file.ts';
import { agent, makeTool, owner } from '../../calls/pipeline-fixture.ts';
import { record } from '../../calls/registration/registrar-fixture.ts';
import { programsFake } from '../../tools/programs/program-sandbox-fake.ts';
import { ask, authenticatorOf, makeHttpApi } from '../http-fixture.ts';

const MAKER = 'maker-secret';
const OTHER = 'other-secret';
const READER = 'reader-secret';
const PROGRAMMER = 'programmer-secret';
const ADMIN = 'admin-secret';
const CALLER = 'caller-secret';

function makeHub(options: { readonly allowed?: readonly string[] } = {}) {
  let registrar: ToolRegistrar | undefined;
  const registrations = {
    record: (id: string) => registrar?.record(id),
    isManagedBy: (by: Principal, id: string) => registrar?.isManagedBy(by, id) ?? false,
  };
  const authenticator = authenticatorOf({
    [MAKER]: agent('tool:register', 'sensor:read:*'),
    [OTHER]: { ...agent('tool:register', 'sensor:read:*'), id: 'agent-2' },
    [PROGRAMMER]: { ...agent('tool:register', 'proc:exec'), id: 'programmer' },
    [ADMIN]: { ...agent('admin:hub', 'proc:exec'), id: 'admin' },
    [CALLER]: { ...agent('proc:exec'), id: 'caller' },
    [READER]: { ...agent('sensor:read:*'), id: 'reader' },
  });
  const setup = makeHttpApi({ authenticator, registrations });
  const { store, clock, registry, pipeline, validator, tools, collaborators } = setup;
  const records = new ToolRecordStore({ store, logger: silentLogger });
  const own = {
    programs: programsFake(),
    authorizer: collaborators.authorizer,
    records,
    isClaimed: () => false,
    isReserved: () => false,
    logger: silentLogger,
  };
  const parts = { registry, tools, validator, pipeline, clock, ...own };
  registrar = new ToolRegistrar(parts, options);
  const builtIn = [makeTool({ name: 'basic' })];
  const seed = new SeedDiscovery({
    ...parts,
    registrar,
    builtIn,
    probe: async () => [],
    parts: async () => [],
    bootstrap: () => ({ records: [], leftOut: [] }),
    report: () => undefined,
    reserved: new ReservedNames(),
    owner,
  });
  for (const tool of registrationTools({
    registrar,
    discover: () => seed.discover(),
    obstacleTo: (tool) => setup.pipeline.obstacleTo(tool),
  }))
    registry.register(tool);
  setup.addTool({ name: 'temperature', permissions: ['sensor:read:hall/temperature'], handler: async () => ({ celsius: 21 }) });
  const register = (body: JsonObject, token?: string) =>
    ask(setup.httpApi, '/api/v1/tools', { body, ...(token !== undefined && { token }) });
  return { ...setup, register };
}

const hall = record('hall_now', [{ tool: 'temperature' }], { result: { hall: { $result: '0/celsius' } } });
const read = `/api/v1/tools/hall_now/invoke`;

describe('POST /api/v1/tools', () => {
  test('registers, lists, describes, calls and removes, in the form of the HTTP tool service', async () => {
    const { httpApi, register, clock } = makeHub();
    const made = await register({ ...hall, created_by: 'system', created_at: '2001-01-01T00:00:00Z' }, MAKER);
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: 'agent:hall_now@1.0.0',
        created_by: 'agent',
        made_by: 'agent-1',
        created_at: new Date(clock.now()).toISOString(),
        permissions: ['sensor:read:hall/temperature'],
        available: true,
      },
    ]);
    expect((await ask(httpApi, read, { body: {}, token: READER })).json.result).toEqual({ hall: 21 });
    expect((await ask(httpApi, '/api/v1/tools/hall_now')).json).toMatchObject({ id: made.json.id, metadata: { created_by: 'agent' } });
    const listed = await ask(httpApi, '/api/tools?created_by=agent');
    expect(listed.json.tools).toEqual([
      {
        id: made.json.id,
        name: 'hall_now',
        description: 'Does what a test wants. Calls core:temperature.',
        input_schema: {},
        output_schema: {},
        permissions: ['sensor:read:hall/temperature'],
        safety_level: 'low',
        created_by: 'agent',
        created_at: made.json.created_at,
        category: 'managing',
        available: true,
      },
    ]);
    const exec = { type: 'cmd', cmd: '/usr/bin/wc', args: ['-w', '--', '{file}'] };
    const program = {
      id: 'words',
      name: 'Words',
      description: 'Counts words.',
      input_schema: { file: 'string' },
      safety_level: 'low',
      exec,
    };
    expect((await register({ ...program, permissions: ['proc:exec'] })).status).toBe(201);
    const { tools } = (await ask(httpApi, '/api/tools?created_by=system')).json as { tools: JsonObject[] };
    expect(tools.filter((tool) => 'exec' in tool)).toMatchObject([{ id: 'custom:words@1.0.0', exec }]);
    expect((await ask(httpApi, '/api/v1/tools/hall_now', { method: 'DELETE', token: MAKER })).json).toEqual({ removed: made.json.id });
    expect((await ask(httpApi, read, { body: {} })).status).toBe(404);
    expect((await ask(httpApi, '/api/tools?created_by=agent')).json.tools).toEqual([]);
  });

  test('shows the program of a tool in the list to the owner, to administrators and to its maker alone', async () => {
    const { httpApi, register } = makeHub({ allowed: ['*'] });
    const words = { name: 'Words', description: 'Counts words.', input_schema: {}, safety_level: 'low', permissions: ['proc:exec'] };
    const exec = { type: 'cmd', cmd: '/usr/bin/wc', args: ['-w'] };
    expect((await register({ ...words, id: 'of_owner', exec })).status).toBe(201);
    expect((await register({ ...words, id: 'of_agent', exec }, PROGRAMMER)).status).toBe(201);
    const shownTo = async (token?: string) => {
      const { tools } = (await ask(httpApi, '/api/tools', token === undefined ? {} : { token })).json as { tools: JsonObject[] };
      const listed = tools.filter(({ id }) => /:of_/.test(String(id)));
      return listed.map((tool) => [String(tool.id).split(/[:@]/)[1], 'exec' in tool]).toSorted();
    };
    const all = [
      ['of_agent', true],
      ['of_owner', true],
    ];
    const none = [
      ['of_agent', false],
      ['of_owner', false],
    ];
    expect([await shownTo(), await shownTo(ADMIN)]).toEqual([all, all]);
    expect(await shownTo(PROGRAMMER)).toEqual([
      ['of_agent', true],
      ['of_owner', false],
    ]);
    expect(await shownTo(CALLER)).toEqual(none);
  });

  test('tells what is wrong as a problem, with the place', async () => {
    const { register } = makeHub();
    const wrong = await register(record('x', [{ tool: 'temperature', params: { a: 1 } }], { input_schema: { a: 'datetime' } }));
    expect([wrong.status, wrong.json.code, wrong.json.details.pointer]).toEqual([400, 'VALIDATION_ERROR', '/input_schema/a']);
    const unknown = await register(record('x', [{ tool: 'temperatur' }]));
    expect([unknown.status, unknown.json.details.suggestions]).toEqual([404, ['temperature']]);
    await register(hall);
    expect((await register(hall)).status).toBe(409);
  });

  test('takes the permission tool:register, and the scope invoke_tool where scopes are named', async () => {
    const { httpApi, register } = makeHub();
    expect((await register(hall, READER)).json.code).toBe('TOOL_NOT_FOUND');
    const headers = { 'x-caller-scopes': 'read_registry' };
    expect((await ask(httpApi, '/api/v1/tools', { body: hall, headers })).status).toBe(403);
    expect((await ask(httpApi, '/api/v1/tools/hall_now', { method: 'DELETE', headers })).status).toBe(403);
    const scoped = (scopes: string) => ask(httpApi, '/api/v1/tools', { body: hall, headers: { 'x-caller-scopes': scopes } });
    for (const scopes of ['', 'invoke_tools', 'no_invoke_tool', 'invoke_tool:x', '*'])
      expect([scopes, (await scoped(scopes)).status]).toEqual([scopes, 403]);
    expect((await scoped('read_registry , invoke_tool')).status).toBe(201);
  });

  test('who somebody is stands in the token: X-Agent-ID and X-Project-ID make nobody of anybody', async () => {
    const { httpApi, register } = makeHub();
    await register(hall);
    const headers = { 'x-agent-id': 'owner', 'x-project-id': 'house' };
    const { json } = await ask(httpApi, '/api/v1/tools', { body: { ...hall, id: 'mine' }, token: MAKER, headers });
    expect(json).toMatchObject({ made_by: 'agent-1', created_by: 'agent' });
    await ask(httpApi, read, { body: {}, token: READER, headers });
    expect((await ask(httpApi, '/api/tools/usage')).json.recent[0]).toMatchObject({ tool: 'custom:hall_now@1.0.0', agent: 'reader' });
  });
});

describe('DELETE /api/v1/tools/{id}', () => {
  test('is 403 for what the hub brings, and for what others made', async () => {
    const { httpApi, register } = makeHub();
    const remove = (id: string, token?: string) =>
      ask(httpApi, `/api/v1/tools/${id}`, { method: 'DELETE', ...(token !== undefined && { token }) });
    await register(hall, MAKER);
    expect((await remove('temperature')).status).toBe(403);
    expect((await remove('agent:hall_now@1.0.0', OTHER)).status).toBe(403);
    expect((await remove('nothing')).status).toBe(404);
    expect((await remove('agent:hall_now@1.0.0')).status).toBe(200);
  });
});

describe('POST /api/v1/tools/discover', () => {
  test('without a sentence registers what is missing of what the hub brings', async () => {
    const { httpApi, registry, heard } = makeHub();
    const first = await ask(httpApi, '/api/v1/tools/discover', { method: 'POST' });
    expect([first.status, first.json]).toEqual([
      200,
      { registered: ['core:basic@1.0.0'], known: [], waiting: [], left_out: [], board: [] },
    ]);
    expect(registry.has('core:basic')).toBe(true);
    expect(heard.at(-1)).toMatchObject({ type: 'agi.tool.result', subject: 'hub:discover_tools@1.0.0' });
    expect((await ask(httpApi, '/api/v1/tools/discover', { body: {} })).json).toMatchObject({
      registered: [],
      known: ['core:basic@1.0.0'],
    });
  });

  test('with a sentence looks only where the filters let it', async () => {
    const { httpApi, addTool } = makeHub();
    addTool({ name: 'temperature_log', description: 'Keeps each temperature', metadata: { category: 'computing' } });
    const found = async (extra: object) => {
      const { json } = await ask(httpApi, '/api/v1/tools/discover', { body: { query: 'temperature', ...extra } });
      return json.tools?.map(({ id, score }: { id: string; score: number }) => [id, score > 0]) ?? json.detail;
    };
    expect(await found({})).toHaveLength(2);
    expect(await found({ category: 'computing' })).toEqual([['core:temperature_log@1.0.0', true]]);
    expect(await found({ capability: 'gpu' })).toEqual([]);
    expect(await found({ limit: 1 })).toHaveLength(1);
    expect(await found({ category: 'gardening' })).toContain('category has to be one of');
  });

  test('registering is calling: a reader, and a caller that narrows itself to reading, may not', async () => {
    const { httpApi } = makeHub();
    const discover = (extra: object) => ask(httpApi, '/api/v1/tools/discover', { method: 'POST', ...extra });
    expect((await discover({ token: READER })).status).toBe(404);
    expect((await discover({ headers: { 'x-caller-scopes': 'read_registry' } })).json.details.required).toEqual(['invoke_tool']);
    expect((await discover({ body: { query: 'temperature' }, headers: { 'x-caller-scopes': 'read_registry' } })).status).toBe(200);
  });
});
