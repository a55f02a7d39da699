import { describe, expect, test } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts';
import type { RunningHub } from '../running-hub.ts';
import { type NamedHome, type ReadTool, textMistakes, textProblems } from '../tool-text-mistakes.ts';
import type { OwnedHome } from './owned-home.ts';

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly metadata: { readonly title?: string; readonly examples?: readonly { readonly params: JsonObject }[] };
}

/** What a model reads of the home: of every device's tools, of the hub's own, and of the sensors. */
export function describeTexts(ownedHome: () => OwnedHome): void {
  describe('what a model reads', () => {
    test('has examples that its own schema accepts, names nothing that the home lacks, and quotes what others wrote', async () => {
      const { hub } = ownedHome();
      const tools = await everyTool(hub);
      const home = await namedHome(hub, tools);
      expect(tools.length).toBeGreaterThan(350);
      expect(tools.flatMap((tool) => textMistakes(tool, home))).toEqual([]);
    });

    test('is so of the tools and resources over MCP too', async () => {
      const { hub } = ownedHome();
      const home = await namedHome(hub, await everyTool(hub));
      const mcp = await mcpSession(hub);
      const { tools } = await mcp('tools/list');
      const forms = (tools as readonly (JsonObject & ReadTool)[]).map(({ inputSchema, ...form }) => ({
        ...form,
        parameters: inputSchema as JsonObject,
        examples: [],
      }));
      expect(forms.map(({ name }) => name)).toContain('home_overview');
      expect(forms.flatMap((form) => textMistakes(form, home))).toEqual([]);
      const { resourceTemplates } = await mcp('resources/templates/list');
      const { prompts } = await mcp('prompts/list');
      const texts = [resourceTemplates, prompts].flatMap((list) => JSON.stringify(list));
      expect(texts.flatMap((text) => textProblems(text.replaceAll('\\"', '"'), { ...home, foreign: [] }))).toEqual([]);
    });

    test('quotes the name of the device in the title of each of its sensors', async () => {
      const { hub } = ownedHome();
      const home = await namedHome(hub, []);
      const { sensors } = (await hub.get('/api/v1/sensors')) as unknown as { sensors: readonly { title: string }[] };
      expect(sensors.length).toBeGreaterThan(100);
      expect(sensors.flatMap(({ title }) => textProblems(title, home))).toEqual([]);
    });
  });
}

async function everyTool(hub: RunningHub): Promise<readonly ReadTool[]> {
  const listed: ReadTool[] = [];
  for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
    const page = (await hub.get(`/api/v1/tools?limit=100&cursor=${cursor}`)) as unknown as {
      tools: readonly ListedTool[];
      next_cursor?: string;
    };
    listed.push(
      ...page.tools.map(({ name, description, parameters, metadata: { title, examples = [] } }) => ({
        name,
        ...(title !== undefined && { title }),
        description,
        parameters,
        examples: examples.map(({ params }) => params),
      })),
    );
    cursor = page.next_cursor;
  }
  return listed;
}

async function namedHome(hub: RunningHub, tools: readonly ReadTool[]): Promise<NamedHome> {
  const { devices } = (await hub.get('/api/v1/devices')) as unknown as { devices: readonly { id: string; name: string; area?: string }[] };
  const { sensors } = (await hub.get('/api/v1/sensors')) as unknown as { sensors: readonly { id: string }[] };
  const parts = tools.flatMap(({ description }) => /For its part "([^"]+)"/.exec(description)?.[1] ?? []);
  return {
    foreign: [...new Set([...devices.flatMap(({ name, area }) => [name, ...(area === undefined ? [] : [area])]), ...parts])],
    ids: new Set([...devices, ...sensors].map(({ id }) => id)),
    tools: new Set(tools.map(({ name }) => name)),
  };
}

/** Requests of a client in a session of its own; answers their results. */
async function mcpSession(hub: RunningHub): Promise<(method: string) => Promise<JsonObject>> {
  const ask = (method: string, params: JsonObject, session?: string) =>
    hub.request('/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const greeting = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'reader', version: '1.0.0' } };
  const session = (await ask('initialize', greeting)).headers.get('mcp-session-id') ?? '';
  return async (method) => {
    const text = await (await ask(method, {}, session)).text();
    const message: unknown = JSON.parse(text.slice(text.indexOf('{')));
    if (isJsonObject(message as JsonObject) && isJsonObject((message as JsonObject).result))
      return (message as JsonObject).result as JsonObject;
    throw new Error(`${method} answered ${text.slice(0, 400)}`);
  };
}
