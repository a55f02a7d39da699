import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { AtmoError } from '../../src/core/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import type { DemoAgent } from './demo-world.ts';

/** An agent on this machine that speaks MCP with the hub through `atmo mcp`, by the official client. */
export class McpAgent implements DemoAgent {
  readonly #client = new Client({ name: 'demo', version: '1.0.0' });

  /** Starts the command and shakes hands with what answers. */
  static async connect(command: readonly [string, ...string[]], env: Record<string, string>): Promise<McpAgent> {
    const agent = new McpAgent();
    const [program, ...args] = command;
    await agent.#client.connect(new StdioClientTransport({ command: program, args, env, stderr: 'inherit' }));
    return agent;
  }

  async tools(): Promise<readonly string[]> {
    const { tools } = await this.#client.listTools();
    return tools.map(({ name }) => name);
  }

  async call(name: string, args: JsonObject): Promise<JsonObject> {
    const { structuredContent } = await this.#client.callTool({ name, arguments: args });
    if (isJsonObject(structuredContent)) return structuredContent;
    throw new AtmoError('INTERNAL_ERROR', `${name} answered no structured content`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}
