import type { Json, JsonObject } from '../core/json.ts';
import { normalizeDefinition } from './normalize-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from './plain-json.ts';
import { type ExecutionResult, fromExecutionResult } from './result-forms.ts';
import { CATEGORIES, type RegisteredTool, type ToolContext, type ToolDefinition } from './tool-definition.ts';
import { unwrapResult } from './tool-handler.ts';
import { toolId } from './tool-name.ts';
import type { ToolRegistry } from './tool-registry.ts';

/** The data of an AgentOS `ITool` (source 002 §2.1). Its `requiredCapabilities` are rights of the caller: our permissions. */
export interface AgentOsTool {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly requiredCapabilities?: readonly string[];
  readonly category?: string;
  readonly version?: string;
  readonly hasSideEffects?: boolean;
}

/** AgentOS ToolExecutionContext (source 002 §2.4). */
export interface AgentOsContext {
  readonly gmiId: string;
  readonly personaId: string;
  readonly userContext: { readonly userId: string };
  readonly correlationId: string;
  readonly sessionData: JsonObject;
}

/** An AgentOS tool with the function that runs it. */
export interface ExecutableAgentOsTool extends AgentOsTool {
  execute(args: JsonObject, context: AgentOsContext): Promise<ExecutionResult>;
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
    handler: async (params, context): Promise<Json> =>
      unwrapResult(fromExecutionResult(await tool.execute(params, agentOsContext(context)))),
  };
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

function agentOsContext(context: ToolContext): AgentOsContext {
  const { agentId, traceId, sessionId } = context;
  return { gmiId: agentId, personaId: agentId, userContext: { userId: agentId }, correlationId: traceId, sessionData: { sessionId } };
}
