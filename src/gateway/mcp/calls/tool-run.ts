import type { JsonObject } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import type { McpCaller } from '../mcp-feature.ts';

/** A tool, and what to call it with. */
export interface ToolRun {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  /** `typed` where the client was given an output schema to hold the result against. */
  readonly listing: 'typed' | 'open';
}

/** Runs a tool for a client and answers the `CallToolResult`, or what the client's era has instead of one. A failed call is a result too. */
export type ToolRunner = (run: ToolRun, caller: McpCaller) => Promise<JsonObject>;
