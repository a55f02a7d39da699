import { describe, expect, it } from 'vitest';
import { makeHttpApi } from '../http/http-fixture.ts';
import { legacyClient, modernClient } from './mcp-clients.ts';

const ECHO = {
  name: 'echo',
  description: 'Says what it hears',
  parameters: { type: 'object', properties: { text: { type: 'string', description: 'What to say' } }, required: ['text'] },
  returns: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  handler: async (params: object) => params as { text: string },
};

describe('the MCP door', () => {
  it('lists and calls tools for a client of 2026-07-28', async () => {
    const { httpApi, addTool } = makeHttpApi();
    addTool(ECHO);
    const client = await modernClient(httpApi, { path: '/mcp/devices' });
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain('echo');
    const result = await client.callTool({ name: 'echo', arguments: { text: 'hello' } });
    expect(result.structuredContent).toEqual({ text: 'hello' });
    await client.close();
  });

  it('lists and calls tools for a client of 2025-11-25', async () => {
    const { httpApi, addTool } = makeHttpApi();
    addTool(ECHO);
    const client = await legacyClient(httpApi, { path: '/mcp/devices' });
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain('echo');
    const result = await client.callTool({ name: 'echo', arguments: { text: 'hello' } });
    expect(result.structuredContent).toEqual({ text: 'hello' });
    await client.close();
  });
});
