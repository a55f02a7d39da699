import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { normalizeDefinition } from '../definition/normalize-definition.ts';
import { CATEGORIES, type RegisteredTool, type ToolContext, type ToolDefinition } from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-name.ts';
import { copyJsonObject, RESULT_LIMITS } from '../schema/plain-json.ts';
import type { ToolRegistry } from '../tool-registry.ts';
import { type ExecutionResult, fromExecutionResult } from './result-forms.ts';
import { unwrapResult } from './tool-handler.ts';

/** The data of an AgentOS `ITool` (source 002 §2.1). Its `requiredCapabilities` are rights of the caller: our permissions. */
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

/** AgentOS ToolExecutionContext (source 002 §2.4). */
export interface AgentOsContext {
  readonly gmiId: string;
  /** The role that the caller's token was minted for; its id when it has none. */
  readonly personaId: string;
  /** With what the program gave along for the call. */
  readonly userContext: JsonObject & { readonly userId: string };
  readonly correlationId: string;
  readonly sessionData: JsonObject;
}

/** What an AgentOS tool finds in its arguments beyond their schema. */
export interface ArgumentsCheck {
  readonly isValid: boolean;
  readonly errors?: readonly string[];
}

/** An AgentOS tool with the function that runs it (`ITool`, source 002 §2.1). */
export interface ExecutableAgentOsTool extends AgentOsTool {
  execute(args: JsonObject, context: AgentOsContext): Promise<ExecutionResult>;
  /** Asked after the schema and before `execute`. */
  validateArgs?(args: JsonObject): Promise<ArgumentsCheck>;
  /** Gives back what the tool holds; called when it is removed and when the hub stops. */
  shutdown?(): Promise<void>;
}

const CAPABILITY_PREFIX = 'capability:';

/** A definition as AgentOS lists it; permissions become its capabilities, under the prefix that `fromAgentOs` takes off again. */
export function toAgentOs(definition: ToolDefinition): AgentOsTool {
  const { name, version, description, requires, metadata, execution } = definition;
  return {
    id: toolId(definition),
    name,
    displayName: metadata.title,
    description,
    inputSchema: copyJsonObject(definition.parameters, RESULT_LIMITS),
    outputSchema: copyJsonObject(definition.returns, RESULT_LIMITS),
    requiredCapabilities: requires.permissions.map((permission) => `${CAPABILITY_PREFIX}${permission}`),
    category: metadata.category,
    version,
    hasSideEffects: execution.hasSideEffects,
  };
}

/**
 * A definition in our namespace `agentos` unless the id says another. A missing `hasSideEffects` counts as true (the
 * original's default is unsafe); a category that is none of ours becomes a tag.
 */
export function fromAgentOs(tool: AgentOsTool): ToolDefinition {
  const category = CATEGORIES.find((known) => known === tool.category);
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

/** An AgentOS tool as the registry takes it. */
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

/** Registers an AgentOS tool; its own id (`web-search-tool-v1.2`) becomes an alias. */
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
