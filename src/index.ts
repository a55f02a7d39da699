export { type HubConfig, loadConfig } from './config.ts';
export { AtmoError, ERROR_CODES, type ErrorBody, type ErrorCode } from './core/errors.ts';
export type { Json, JsonObject, JsonSchema } from './core/json.ts';
export { Hub } from './hub.ts';
export { defineTool } from './tools/define-tool.ts';
export { p } from './tools/parameter-builder.ts';
export type { RegisteredTool, ToolContext, ToolDefinition, ToolHandler } from './tools/tool-definition.ts';
