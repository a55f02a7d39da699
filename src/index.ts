// The public interface of the library, for programs that embed a hub and add tools. Everything else may change at any time.
// docs/embedding.md also lists this interface.

// Classes and types of tools that are written for AgentOS, and functions that convert an answer to other forms.
export {
  AgentOsBaseTool,
  type AgentOsContext,
  type AgentOsTool,
  type ArgumentsCheck,
  type ExecutableAgentOsTool,
  type ExecutionResult,
  type ResponseSource,
  type ToolResponse,
  toExecutionResult,
  toToolResponse,
  toToolResult,
} from './calls/formats/agent-os.ts';
// Types of a tool call that a language model made, and of the result that the model gets.
export type { ModelCall, ModelCallResult } from './calls/formats/model-calls.ts';
// The complete answer to a call.
export type { CallAnswer } from './calls/request-and-answer.ts';
// Types of `hub.orchestrator`, which calls, lists and adds tools.
export type {
  AnyTool,
  PermissionCheckResult,
  ToolCall,
  ToolCallDetails,
  ToolDefinitionForLLM,
  ToolOrchestrator,
} from './calls/tool-orchestrator.ts';
// The type of the hub's clock, and the machine's clock, which a hub uses by default.
export { type Clock, systemClock } from './core/clock.ts';
// The class of all errors, and the table of all error codes.
export { AtmoError, ERROR_CODES, type ErrorBody, type ErrorCode } from './core/errors.ts';
// The type of a tool's id. The registration of a tool returns its id.
export type { ToolId } from './core/ids.ts';
// Types of JSON values and of JSON Schemas, for parameters and results.
export type { Json, JsonObject, JsonSchema } from './core/json.ts';
// A logger. It writes lines of JSON to stderr, or passes them to the function `write`.
export { createLogger, type Logger, type LogLevel } from './core/logger.ts';
// The configuration. `loadConfig` reads it from a file and environment variables, and checks it.
export { type HubConfig, loadConfig } from './hub/config/config.ts';
// The hub. A program can start and stop it, and read its URL and orchestrator.
export { Hub, type HubOptions } from './hub/hub.ts';
// Tools as functions. The schema determines the types of the parameters that the handler gets.
export { createJsonSchema, defineTool, type Parameter, p, type ToolDeclaration } from './tools/definition/define-tool.ts';
// Tools as classes, and capabilities of a hub that consist of such tools.
export { type CapabilityHandler, capabilityOf, ToolClass, type ToolResult } from './tools/definition/tool-class.ts';
// Types of a registered tool and its handler, of the context that the handler gets, and of a question to the person who made the call.
export type {
  RegisteredTool,
  ToolAnswer,
  ToolContext,
  ToolDefinition,
  ToolHandler,
  ToolQuestion,
} from './tools/definition/tool-definition.ts';
