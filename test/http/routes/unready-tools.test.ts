import { expect, test } from 'vitest';
import { unconfigured } from '../../../src/tools/definition/tool-definition.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { modernClient, resultOf } from '../../mcp/mcp-clients.ts';
import { ask, makeHttpApi } from '../http-fixture.ts';

const SETTING = 'set connectors.email in the configuration';

/** A hub whose owner configured no mail. */
function makeOffice() {
  const setup = makeHttpApi();
  const mail = makeTool({ name: 'send_email', description: 'Sends a mail', metadata: { title: 'Send a mail' } });
  setup.registry.register(unconfigured(mail, SETTING));
  setup.addTool({ name: 'send_note', description: 'Sends a note', metadata: { title: 'Send a note' } });
  return setup;
}

const namesIn = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);

test('a list for people tells what is not configured, and what to set', async () => {
  const { httpApi } = makeOffice();
  const { json } = await ask(httpApi, '/api/v1/tools');
  expect(json.tools).toEqual([
    expect.objectContaining({ name: 'send_email', available: false, missing_setting: SETTING }),
    expect.objectContaining({ name: 'send_note', available: true }),
  ]);
  expect(json.tools[1]).not.toHaveProperty('missing_setting');
});

test('a list tells what no hub can run, and why', async () => {
  const { httpApi, addTool } = makeOffice();
  addTool({ name: 'render', requires: { gpu: true } });
  const { json } = await ask(httpApi, '/api/v1/tools');
  expect(json.tools.find(({ name }: { name: string }) => name === 'render')).toMatchObject({
    available: false,
    unavailable_reason: 'no hub can run it: this hub has no GPU',
  });
  expect((await ask(httpApi, '/api/v1/tools/render')).json).toMatchObject({ available: false });
  const { json: monitor } = await ask(httpApi, '/api/tools');
  expect(monitor.tools.find(({ id }: { id: string }) => id.includes('render'))).toMatchObject({ available: false });
});

test('a list for models has what works alone, unless it is asked for', async () => {
  const { httpApi } = makeOffice();
  for (const format of ['openai', 'anthropic', 'mcp']) {
    const namesOf = async (more: string) =>
      (await ask(httpApi, `/api/v1/tools?format=${format}${more}`)).json.tools.map(
        (tool: { name?: string; function?: { name: string } }) => tool.name ?? tool.function?.name,
      );
    expect(await namesOf('')).toEqual(['send_note']);
    expect(await namesOf('&unavailable=true')).toEqual(['send_email', 'send_note']);
  }
  expect(Object.keys((await ask(httpApi, '/openapi.json?tools=true')).json.paths).join()).not.toContain('send_email');
});

test('a search finds what works, and tells beside it what would fit better once it is configured', async () => {
  const { httpApi } = makeOffice();
  const { json } = await ask(httpApi, '/api/v1/tools?q=send+a+mail');
  expect(namesIn(json.tools)).toEqual(['send_note']);
  expect(json.near_misses[0]).toMatchObject({
    name: 'send_email',
    available: false,
    reasons: expect.arrayContaining([`not configured: ${SETTING}`]),
  });
  expect((await ask(httpApi, '/api/v1/tools?q=send+a+mail&format=openai')).json.tools).toHaveLength(1);
});

test('agents over MCP see the same', async () => {
  const { httpApi } = makeOffice();
  const listed = await (await modernClient(httpApi, { path: '/mcp/devices' })).listTools();
  expect(namesIn(listed.tools)).toEqual(['send_note']);
  const client = await modernClient(httpApi);
  expect(await resultOf(client, 'search_tools', { query: 'send a mail' })).toMatchObject({
    tools: [{ name: 'send_note' }],
    near_misses: [{ name: 'send_email', available: false, why: expect.arrayContaining([`not configured: ${SETTING}`]) }],
  });
  expect(await resultOf(client, 'describe_tool', { names: ['send_email'] })).toMatchObject({
    tools: [{ name: 'send_email', available: false }],
  });
});
