export type { AgentOsContext, AgentOsTool, ArgumentsCheck, ExecutableAgentOsTool } from './calls/formats/agent-os.ts';
export {
  AgentOsBaseTool,
  type ExecutionResult,
  type ResponseSource,
  type ToolResponse,
  toExecutionResult,
  toToolResponse,
  toToolResult,
} from './calls/formats/agent-os.ts';
export type { ModelCall, ModelCallResult } from './calls/formats/model-calls.ts';
export type { CallAnswer } from './calls/request-and-answer.ts';
export type {
  AnyTool,
  PermissionCheckResult,
  ToolCall,
  ToolCallDetails,
  ToolDefinitionForLLM,
  ToolOrchestrator,
} from './calls/tool-orchestrator.ts';
export { systemClock } from './core/clock.ts';
export { AtmoError, ERROR_CODES, type ErrorBody, type ErrorCode } from './core/errors.ts';
export type { Json, JsonObject, JsonSchema } from './core/json.ts';
export { createLogger } from './core/logger.ts';
export { type HubConfig, loadConfig } from './hub/config/config.ts';
export { Hub } from './hub/hub.ts';
export { createJsonSchema, defineTool, p } from './tools/definition/define-tool.ts';
export { type CapabilityHandler, capabilityOf, ToolClass, type ToolResult } from './tools/definition/tool-class.ts';
export type { RegisteredTool, ToolContext, ToolDefinition, ToolHandler } from './tools/definition/tool-definition.ts';
