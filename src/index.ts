// The public interface of the library, for programs that embed a hub and add tools. Everything else may change at any time.
// docs/embedding.md lists the interface too.

// Tools written as classes for AgentOS, and functions that convert an answer to other forms.
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
// A tool call that a language model made, and the result that the model gets.
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
// The hub's clock, which is the machine's clock unless a program passes another one.
export { type Clock, systemClock } from './core/clock.ts';
// The class of all errors, and the closed table of their codes.
export { AtmoError, ERROR_CODES, type ErrorBody, type ErrorCode } from './core/errors.ts';
// The id of a tool, which registration returns.
export type { ToolId } from './core/ids.ts';
// Values and schemas of parameters and results.
export type { Json, JsonObject, JsonSchema } from './core/json.ts';
// The log. It writes lines of JSON to stderr, or to the function `write`.
export { createLogger, type Logger, type LogLevel } from './core/logger.ts';
// The configuration, read from a file and environment variables, and checked.
export { type HubConfig, loadConfig } from './hub/config/config.ts';
// The hub. A program can start and stop it, and read its URL and orchestrator.
export { Hub, type HubOptions } from './hub/hub.ts';
// Tools as functions. The parameters of the handler get their types from the schema.
export { createJsonSchema, defineTool, type Parameter, p, type ToolDeclaration } from './tools/definition/define-tool.ts';
// Tools as classes, and capabilities of a hub that consist of such tools.
export { type CapabilityHandler, capabilityOf, ToolClass, type ToolResult } from './tools/definition/tool-class.ts';
// Types of a registered tool and its handler: the context that the handler gets, and a question to the person behind the caller.
export type {
  RegisteredTool,
  ToolAnswer,
  ToolContext,
  ToolDefinition,
  ToolHandler,
  ToolQuestion,
} from './tools/definition/tool-definition.ts';
