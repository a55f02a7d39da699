export { type HubConfig, loadConfig } from './config/config.ts';
export { AtmoError, ERROR_CODES, type ErrorBody, type ErrorCode } from './core/errors.ts';
export type { Json, JsonObject, JsonSchema } from './core/json.ts';
export { createLogger } from './core/logger.ts';
export { systemClock } from './core/time/clock.ts';
export { Hub } from './hub/hub.ts';
export type { CallAnswer } from './tools/calls/call-answer.ts';
export { defineTool } from './tools/definition/define-tool.ts';
export type { RegisteredTool, ToolContext, ToolDefinition, ToolHandler } from './tools/definition/tool-definition.ts';
export { AgentOsBaseTool } from './tools/forms/agent-os-base-tool.ts';
export type { AgentOsContext, AgentOsTool, ArgumentsCheck, ExecutableAgentOsTool } from './tools/forms/agent-os-tool.ts';
export { type CapabilityHandler, capabilityOf } from './tools/forms/capability-handler.ts';
export type { PermissionCheckResult } from './tools/forms/execution-permission.ts';
export type { ModelCall, ModelCallResult } from './tools/forms/model-call.ts';
export {
  type ExecutionResult,
  type ResponseSource,
  type ToolResponse,
  toExecutionResult,
  toToolResponse,
  toToolResult,
} from './tools/forms/result-forms.ts';
export { ToolHandler as ToolClass, type ToolResult } from './tools/forms/tool-handler.ts';
export type { AnyTool, ToolCall, ToolCallDetails, ToolDefinitionForLLM, ToolOrchestrator } from './tools/forms/tool-orchestrator.ts';
export { createJsonSchema, p } from './tools/schema/parameter-builder.ts';
