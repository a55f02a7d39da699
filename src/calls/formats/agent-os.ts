import { AtmoError, isErrorCode } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { normalizeDefinition } from '../../tools/definition/public-definition.ts';
import { type ToolResult, unwrapResult } from '../../tools/definition/tool-class.ts';
import { type RegisteredTool, TOOL_CATEGORIES, type ToolContext, type ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { toolId } from '../../tools/definition/tool-names.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { CallAnswer } from '../request-and-answer.ts';

/** The data of an AgentOS `ITool`. `requiredCapabilities` are the rights that a caller needs; this project calls them permissions. */
export interface AgentOsTool {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly requiredCapabilities?: readonly string[] | undefined;
  readonly category?: string | undefined;
  readonly version?: string | undefined;
  readonly hasSideEffects?: boolean | undefined;
}

/** The context that an AgentOS tool receives when it runs (`ToolExecutionContext`). */
export interface AgentOsContext {
  readonly gmiId: string;
  /** The role in the caller's token, or the caller's id if the token has no role. */
  readonly personaId: string;
  /** The caller's id and the data that the embedding program passed with the call. */
  readonly userContext: JsonObject & { readonly userId: string };
  readonly correlationId: string;
  readonly sessionData: JsonObject;
}

/** The result of an AgentOS tool's own check of its arguments. */
export interface ArgumentsCheck {
  readonly isValid: boolean;
  readonly errors?: readonly string[];
}

/** An AgentOS tool with the function that runs it (`ITool`). */
export interface ExecutableAgentOsTool extends AgentOsTool {
  execute(args: JsonObject, context: AgentOsContext): Promise<ExecutionResult>;
  /** Is called after the schema check and before `execute`. */
  validateArgs?(args: JsonObject): Promise<ArgumentsCheck>;
  /** Releases the tool's resources; is called when the tool is removed and when the hub stops. */
  shutdown?(): Promise<void>;
}

const CAPABILITY_PREFIX = 'capability:';

/**
 * Converts an AgentOS tool to a definition. The namespace is `agentos` if the tool's id has none. A missing `hasSideEffects` counts as
 * true, because the tool may have side effects. An unknown category becomes a tag. Permissions lose the prefix `capability:`.
 */
export function fromAgentOs(tool: AgentOsTool): ToolDefinition {
  const category = TOOL_CATEGORIES.find((known) => known === tool.category);
  const namespace = /^([a-z][a-z0-9-]{0,31}):/.exec(tool.id)?.[1] ?? 'agentos';
  return normalizeDefinition({
    name: tool.name,
    namespace,
    ...(tool.version !== undefined && { version: tool.version }),
    title: tool.displayName,
    description: tool.description,
    parameters: tool.inputSchema,
    ...(tool.outputSchema && { returns: tool.outputSchema }),
    requires: { permissions: (tool.requiredCapabilities ?? []).map(toPermission) },
    execution: { side_effects: tool.hasSideEffects ?? true },
    ...(category && { category }),
    ...(!category && tool.category !== undefined && { tags: [tool.category] }),
  });
}

/** Converts an AgentOS tool to a tool for the registry. */
export function fromExecutableAgentOs(tool: ExecutableAgentOsTool): RegisteredTool {
  const definition = fromAgentOs(tool);
  return {
    id: toolId(definition),
    definition,
    handler: async (params, context): Promise<Json> => {
      await refuseArguments(tool, params);
      const result = await tool.execute(params, agentOsContext(context));
      if (result.success && result.contentType !== undefined) context.contentType(result.contentType);
      if (result.success && result.details) context.details(result.details);
      return unwrapResult(fromExecutionResult(result));
    },
    ...(tool.shutdown && { shutdown: () => tool.shutdown?.() ?? Promise.resolve() }),
  };
}

async function refuseArguments(tool: ExecutableAgentOsTool, params: JsonObject): Promise<void> {
  const check = await tool.validateArgs?.(params);
  if (!check || check.isValid) return;
  const reasons = check.errors?.join('; ') || 'the tool gave no reason';
  throw new AtmoError('VALIDATION_ERROR', `The tool ${tool.name} refuses these arguments: ${reasons}`);
}

/** Registers an AgentOS tool. The tool's AgentOS id (`web-search-tool-v1.2`) becomes an alias. @internal */
export function registerAgentOs(registry: ToolRegistry, tool: ExecutableAgentOsTool): RegisteredTool {
  const registered = fromExecutableAgentOs(tool);
  registry.register(registered);
  if (tool.id !== registered.id) registry.alias(tool.id, registered.id);
  return registered;
}

function toPermission(capability: string): string {
  return capability.startsWith(CAPABILITY_PREFIX) ? capability.slice(CAPABILITY_PREFIX.length) : capability;
}

function agentOsContext({ agentId, role, traceId, sessionId, callerData = {} }: ToolContext): AgentOsContext {
  return {
    gmiId: agentId,
    personaId: role ?? agentId,
    userContext: { ...callerData.user, userId: agentId },
    correlationId: traceId,
    sessionData: { ...callerData.session, sessionId },
  };
}

/** Base class for a tool in the form of AgentOS (`Tool`): the constructor takes all properties, and the subclass implements `execute`. */
export abstract class AgentOsBaseTool implements ExecutableAgentOsTool {
  declare readonly id: string;
  declare readonly name: string;
  declare readonly displayName: string;
  declare readonly description: string;
  declare readonly inputSchema: JsonObject;
  declare readonly outputSchema: JsonObject | undefined;
  declare readonly requiredCapabilities: readonly string[] | undefined;
  declare readonly category: string | undefined;
  declare readonly version: string | undefined;
  declare readonly hasSideEffects: boolean | undefined;

  constructor(properties: AgentOsTool) {
    Object.assign(this, properties);
  }

  abstract execute(args: JsonObject, context: AgentOsContext): Promise<ExecutionResult>;

  /** Subclasses override this method for checks beyond the schema. */
  async validateArgs(_args: JsonObject): Promise<ArgumentsCheck> {
    return { isValid: true };
  }

  /** Subclasses override this method to release resources. */
  async shutdown(): Promise<void> {}

  /** Returns the definition for a model that calls the tool. */
  getDefinitionForLLM(): { readonly name: string; readonly description: string; readonly parameters: JsonObject } {
    const { name, description, inputSchema: parameters } = this;
    return { name, description, parameters };
  }
}

const JSON_TYPE = 'application/json';

/** The result of a tool in the form of AgentOS (`ToolExecutionResult`). */
export interface ExecutionResult {
  readonly success: boolean;
  readonly output?: Json;
  readonly error?: string;
  readonly contentType?: string;
  readonly details?: JsonObject;
}

/** The origin of an answer: the tool, the program's cache, or a test. */
export type ResponseSource = 'tool' | 'cache' | 'mock';

/** A normalised answer with its hash and its origin. */
export interface ToolResponse {
  readonly data: Json;
  /** BLAKE3 hash (hex) of `data` in canonical form (RFC 8785). */
  readonly response_hash: string;
  readonly metadata: {
    readonly source: ResponseSource | 'error';
    readonly normalized: true;
    readonly duration_ms: number;
    readonly extra: JsonObject;
  };
}

/** Converts an answer to a `ToolResponse`. `data` is the result or the error. `source` is the origin of a result: tool, cache or test. */
export function toToolResponse(answer: CallAnswer, source: ResponseSource = 'tool'): ToolResponse {
  const { response_hash, request_id, trace_id, execution } = answer;
  const { duration_ms, ...where } = execution;
  const isError = answer.status === 'error';
  return {
    data: isError ? { ...answer.error } : answer.result,
    response_hash,
    metadata: { source: isError ? 'error' : source, normalized: true, duration_ms, extra: { request_id, trace_id, ...where } },
  };
}

/** Converts an answer to a `ToolResult`, the result type of tools that are written as classes. */
export function toToolResult(answer: CallAnswer): ToolResult {
  if (answer.status === 'success') return { success: true, result: answer.result };
  return { success: false, error: answer.error.message, error_code: answer.error.code };
}

/** Converts an answer to an `ExecutionResult` of AgentOS. */
export function toExecutionResult(answer: CallAnswer): ExecutionResult {
  if (answer.status === 'success') {
    const { result: output, content_type: contentType = JSON_TYPE, details } = answer;
    return { success: true, output, contentType, ...(details && { details }) };
  }
  return { success: false, error: answer.error.message, details: { code: answer.error.code, ...answer.error.details } };
}

/** Converts the result of an AgentOS tool to a `ToolResult`, the result type of tools that are written as classes. */
export function fromExecutionResult(result: ExecutionResult): ToolResult {
  if (result.success) return { success: true, result: result.output ?? null };
  const { code, ...others } = result.details ?? {};
  const isKnown = isErrorCode(code);
  // A code that is not an error code of this project stays in the details.
  const details = isKnown ? others : (result.details ?? {});
  return {
    success: false,
    error: result.error ?? 'The tool failed and gave no reason',
    ...(isKnown && { error_code: code }),
    ...(Object.keys(details).length > 0 && { details }),
  };
}
