// The public interface of the library: a program starts a hub inside itself and adds tools. Anything else may change at any time;
// docs/embedding.md lists the interface too.

// Tools as classes in AgentOS' form, and the forms of an answer.
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
// A model's call, and the result for the model.
export type { ModelCall, ModelCallResult } from './calls/formats/model-calls.ts';
// The whole answer of a call.
export type { CallAnswer } from './calls/request-and-answer.ts';
// `hub.orchestrator`: calls tools, lists them and takes more of them; with its parameters and results.
export type {
  AnyTool,
  PermissionCheckResult,
  ToolCall,
  ToolCallDetails,
  ToolDefinitionForLLM,
  ToolOrchestrator,
} from './calls/tool-orchestrator.ts';
// The hub's clock: the machine's, or one that a program passes.
export { type Clock, systemClock } from './core/clock.ts';
// The class of all errors, and the closed table of their codes.
export { AtmoError, ERROR_CODES, type ErrorBody, type ErrorCode } from './core/errors.ts';
// The id of a tool, as registering returns it.
export type { ToolId } from './core/ids.ts';
// Values and schemas of parameters and results.
export type { Json, JsonObject, JsonSchema } from './core/json.ts';
// The log: lines of JSON on stderr, or wherever `write` puts them.
export { createLogger, type Logger, type LogLevel } from './core/logger.ts';
// The configuration: a file and variables, checked.
export { type HubConfig, loadConfig } from './hub/config/config.ts';
// The hub: starts and stops, and has a URL and an orchestrator in between.
export { Hub, type HubOptions } from './hub/hub.ts';
// Tools as functions; the parameters have the types of their schema.
export { createJsonSchema, defineTool, type Parameter, p, type ToolDeclaration } from './tools/definition/define-tool.ts';
// Tools as classes, and capabilities of the hub that consist of them.
export { type CapabilityHandler, capabilityOf, ToolClass, type ToolResult } from './tools/definition/tool-class.ts';
// A question of a running tool to the person behind its caller, and the answer. A registered tool, and the context of its handler.
export type {
  RegisteredTool,
  ToolAnswer,
  ToolContext,
  ToolDefinition,
  ToolHandler,
  ToolQuestion,
} from './tools/definition/tool-definition.ts';
