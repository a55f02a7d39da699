import { describe, expect, it } from 'vitest';
import { agent, makeTool } from '../calls/pipeline-fixture.ts';
import { ask, authenticatorOf, makeHttpApi } from '../http/http-fixture.ts';
import { homeWith } from './many-devices.ts';
import { legacyClient, modernClient } from './mcp-clients.ts';

const DEVICES = '/mcp/devices';

function lamp(index: number, extra: object = {}) {
  const device = `lamp-${index}`;
  return {
    name: `lamp_${index}_set`,
    namespace: 'matter',
    description: 'Sets a lamp',
    permissions: [`device:control:${device}`],
    metadata: { device, area: index % 2 === 0 ? 'Kitchen' : "Kids' room" },
    ...extra,
  };
}

type Listing = Awaited<ReturnType<Awaited<ReturnType<typeof modernClient>>['listTools']>>;

async function pagesOf(httpApi: ReturnType<typeof makeHttpApi>['httpApi'], path: string): Promise<readonly Listing[]> {
  const pages: Listing[] = [];
  let cursor: string | undefined;
  do {
    const params = { _meta: META, ...(cursor !== undefined && { cursor }) };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params };
    const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
    const { json } = await ask(httpApi, path, { headers, body });
    pages.push(json.result);
    cursor = json.result.nextCursor;
  } while (cursor !== undefined);
  return pages;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe('the list of all tools', () => {
  it('comes in pages of a hundred, in one order, each tool once', async () => {
    const { httpApi, addTool } = makeHttpApi();
    for (let index = 249; index >= 0; index--) addTool(lamp(index));
    const pages = await pagesOf(httpApi, DEVICES);
    expect(pages.map(({ tools }) => tools.length)).toEqual([100, 100, 50]);
    const names = pages.flatMap(({ tools }) => tools.map(({ name }) => name));
    expect(new Set(names).size).toBe(250);
    expect(await pagesOf(httpApi, DEVICES)).toEqual(pages);
    const other = makeHttpApi();
    for (let index = 0; index < 250; index++) other.addTool(lamp(index));
    const client = await modernClient(other.httpApi, { path: DEVICES });
    await client.callTool({ name: 'lamp_7_set', arguments: {} });
    expect(await pagesOf(other.httpApi, DEVICES)).toEqual(pages);
  });

  it('misses no other tool when one goes between two pages', async () => {
    const setup = makeHttpApi();
    for (let index = 100; index < 210; index++) setup.addTool(lamp(index));
    const client = await legacyClient(setup.httpApi, { path: DEVICES });
    const first = await client.listTools();
    setup.registry.unregister(makeTool(lamp(150)).id);
    const second = await client.listTools({ cursor: first.nextCursor });
    expect(second.tools).toHaveLength(10);
    expect(second.nextCursor).toBeUndefined();
  });

  it('refuses a cursor that it never gave', async () => {
    const { httpApi } = makeHttpApi();
    const client = await legacyClient(httpApi, { path: DEVICES });
    for (const cursor of ['100', 'x', Buffer.from('..').toString('base64url')]) {
      await expect(client.listTools({ cursor })).rejects.toMatchObject({ code: -32_602 });
    }
  });

  it('shows what the caller may use, and the newest of several versions', async () => {
    const setup = makeHttpApi({ authenticator: authenticatorOf({ narrow: agent('device:control:lamp-1') }) });
    setup.addTool(lamp(1));
    setup.addTool(lamp(1, { version: '1.1.0', description: 'Sets a lamp well' }));
    setup.addTool(lamp(2));
    const client = await modernClient(setup.httpApi, { path: DEVICES, token: 'narrow' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([['lamp_1_set', 'Sets a lamp well']]);
  });

  it('holds the tools of one area where that is asked for, however the area is written', async () => {
    const { httpApi, addTool } = makeHttpApi();
    for (const index of [1, 2, 3]) addTool(lamp(index));
    const client = await modernClient(httpApi, { path: `/mcp/areas/${encodeURIComponent("kids' ROOM")}` });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['lamp_1_set', 'lamp_3_set']);
    await expect(client.callTool({ name: 'lamp_2_set', arguments: {} })).rejects.toMatchObject({ code: -32_602 });
  });

  it('leaves the administration of the hub out', async () => {
    const { httpApi, addTool } = makeHttpApi();
    addTool({ name: 'list_rules', namespace: 'hub', description: 'Lists rules' });
    const client = await modernClient(httpApi, { path: DEVICES });
    expect((await client.listTools()).tools).toEqual([]);
  });

  it('answers an unknown name with those that are near, as an error of the protocol', async () => {
    const { httpApi, addTool } = makeHttpApi();
    addTool(lamp(1));
    const client = await legacyClient(httpApi, { path: DEVICES });
    const failed = await client.callTool({ name: 'lamp_1_sett', arguments: {} }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: -32_602, data: { code: 'TOOL_NOT_FOUND' } });
    expect(JSON.stringify(failed)).toContain('lamp_1_set');
  });
});

describe('tools as a model reads them', () => {
  it('have titles, typed parameters and answers, units in words, an example, all four hints and an icon', async () => {
    const { httpApi } = await homeWith(['Kitchen', 'DimmableLight'], ['Hall', 'DoorLock']);
    const { tools } = await (await modernClient(httpApi, { path: `${DEVICES}?schemas=full` })).listTools();
    for (const tool of tools) {
      expect(tool.name).toMatch(/^[a-z0-9_]{1,40}$/);
      expect(tool.title).not.toBe('');
      expect(Object.keys(tool.annotations ?? {}).sort()).toEqual(['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint']);
      expect(tool.icons?.[0]?.src).toMatch(/^data:image\/svg\+xml,%3Csvg[^<>"\s]+$/);
      expect(JSON.stringify(tool.inputSchema)).not.toContain('"x-');
    }
    const dim = tools.find(({ name }) => name.endsWith('set_brightness'));
    expect(dim?.description).toContain('Example: {"brightness":');
    expect(dim?.inputSchema.properties).toMatchObject({ brightness: { description: 'Brightness, 0 to 100 %. Example: 40' } });
    expect(dim?.outputSchema).toMatchObject({ type: 'object', required: expect.arrayContaining(['state']) });
    const unlock = tools.find(({ name }) => name.endsWith('_unlock'));
    expect(unlock?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });
});

describe('a list of every tool', () => {
  it('shows no schemas of answers and no icons but on request, in far fewer characters', async () => {
    const { httpApi } = await homeWith(['Kitchen', 'DimmableLight'], ['Hall', 'DoorLock'], ['Bath', 'Thermostat']);
    const listed = async (path: string) => (await (await modernClient(httpApi, { path })).listTools()).tools;
    const [short, full] = [await listed(DEVICES), await listed(`${DEVICES}?schemas=full`)];
    expect(short.map(({ name }) => name)).toEqual(full.map(({ name }) => name));
    expect(short.filter(({ outputSchema, icons }) => outputSchema !== undefined || icons !== undefined)).toEqual([]);
    expect(JSON.stringify(short).length).toBeLessThan(0.8 * JSON.stringify(full).length);
    expect((await listed('/mcp/areas/kitchen')).some(({ outputSchema }) => outputSchema !== undefined)).toBe(false);
    expect((await listed('/mcp/areas/kitchen?schemas=full')).some(({ outputSchema }) => outputSchema !== undefined)).toBe(true);
  });
});

describe('a unit that only we write', () => {
  it('is said in the description, once', async () => {
    const { httpApi, addTool } = makeHttpApi();
    const level = (description: string) => ({ type: 'number', description, 'x-unit': '%' });
    const properties = { said: level('Level in percent'), signed: level('0 to 100 %.'), silent: level('Level') };
    addTool({ ...lamp(1), parameters: { type: 'object', properties } });
    const { tools } = await (await modernClient(httpApi, { path: DEVICES })).listTools();
    expect(tools[0]?.inputSchema.properties).toEqual({
      said: { type: 'number', description: 'Level in percent' },
      signed: { type: 'number', description: '0 to 100 %.' },
      silent: { type: 'number', description: 'Level, in %' },
    });
  });
});

describe('a parameter that a client repeats in a header', () => {
  const region = { type: 'string', description: 'Region', 'x-mcp-header': 'Region' };
  const called = (httpApi: ReturnType<typeof makeHttpApi>['httpApi'], header?: string) =>
    ask(httpApi, DEVICES, {
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'lamp_1_set',
        ...(header !== undefined && { 'mcp-param-region': header }),
      },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta: META, name: 'lamp_1_set', arguments: { region: 'north' } } },
    });

  it('is refused before the tool runs where the two differ, or the header is missing', async () => {
    const { httpApi, addTool } = makeHttpApi();
    let runs = 0;
    addTool({ ...lamp(1), parameters: { type: 'object', properties: { region } }, handler: async () => ({ runs: ++runs }) });
    for (const header of [undefined, 'south', '=?base64?bm9ydG?=']) {
      expect(await called(httpApi, header)).toMatchObject({ status: 400, json: { error: { code: -32_020 } } });
    }
    expect(runs).toBe(0);
    expect(await called(httpApi, 'north')).toMatchObject({ status: 200 });
    expect(runs).toBe(1);
    const client = await modernClient(httpApi, { path: DEVICES });
    await client.listTools();
    expect(await client.callTool({ name: 'lamp_1_set', arguments: { region: 'Nørd' } })).toMatchObject({ structuredContent: { runs: 2 } });
  });

  it('is none where clients would leave the tool out for its header, or it is a secret', async () => {
    const { httpApi, addTool } = makeHttpApi();
    const properties = {
      region,
      twice: { ...region, 'x-mcp-header': 'REGION' },
      spaced: { ...region, 'x-mcp-header': 'my region' },
      listed: { type: 'array', items: { type: 'string' }, description: 'List', 'x-mcp-header': 'List' },
      pin: { ...region, 'x-mcp-header': 'Pin', 'x-secret': true },
    };
    addTool({ ...lamp(1), parameters: { type: 'object', properties } });
    const [page] = await pagesOf(httpApi, DEVICES);
    const { inputSchema } = page?.tools[0] ?? {};
    expect(JSON.stringify(inputSchema).match(/"x-[^,}]*/g)).toEqual(['"x-mcp-header":"Region"']);
  });
});

describe('failed calls', () => {
  const failing = {
    ...lamp(1),
    returns: { type: 'object', properties: { level: { type: 'number' } }, required: ['level'] },
    handler: async () => ({}),
  };

  it('are results with code, message and details for programs, in the modern era', async () => {
    const { httpApi, addTool } = makeHttpApi();
    addTool({
      ...failing,
      parameters: { type: 'object', properties: { level: { type: 'integer', description: 'Level' } }, required: ['level'] },
    });
    const client = await modernClient(httpApi, { path: DEVICES });
    await client.listTools();
    const result = await client.callTool({ name: 'lamp_1_set', arguments: {} });
    expect(result.structuredContent).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { problems: [expect.anything()] },
      retryable: false,
    });
    const { details } = result.structuredContent as { details: object };
    expect(result).toMatchObject({
      isError: true,
      content: [
        { type: 'text', text: expect.stringMatching(/^VALIDATION_ERROR: /) },
        { type: 'text', text: JSON.stringify(details) },
      ],
    });
  });

  it('are text alone for clients that would hold them against the output schema', async () => {
    const { httpApi, addTool } = makeHttpApi();
    addTool(failing);
    const client = await legacyClient(httpApi, { path: `${DEVICES}?schemas=full` });
    await client.listTools();
    const result = await client.callTool({ name: 'lamp_1_set', arguments: {} });
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: expect.stringMatching(/^RESULT_INVALID: /) }] });
    expect(result.structuredContent).toBeUndefined();
  });
});
