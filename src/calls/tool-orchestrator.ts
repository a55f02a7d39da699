import type { Authenticator, Principal } from '../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { ToolId } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import { type CapabilityHandler, fromToolClass, ToolClass, toolsOfCapability } from '../tools/definition/tool-class.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { toAnthropic } from '../tools/formats/model-apis.ts';
import type { CapabilityCatalogue } from '../tools/registry/capability-catalogue.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import { type ExecutableAgentOsTool, registerAgentOs } from './formats/agent-os.ts';
import { fromModelCall, type ModelCall, type ModelCallResult, toModelCallResult } from './formats/model-calls.ts';
import type { CallAnswer, CallRequest, ToolCaller } from './request-and-answer.ts';

/** Who calls: its token says what AgentOS passes as gmiId, personaId and personaCapabilities. */
interface Caller {
  /** `at1.` text of a token that is bound to no key of the caller's own, or the owner's. */
  readonly token: string;
}

/** A model's call and who makes it. */
export interface ToolCallDetails extends Caller, Pick<CallRequest, 'sessionId' | 'timeoutMs' | 'signal'> {
  readonly toolCallRequest: ModelCall;
  /** Trace of which the call is a part. */
  readonly correlationId?: string;
  /** What AgentOS tools get of the user and the session beside their ids. */
  readonly userContext?: JsonObject;
  readonly sessionData?: JsonObject;
}

/** A call by name and who makes it. */
export interface ToolCall
  extends Caller,
    Pick<CallRequest, 'tool' | 'params' | 'sessionId' | 'timeoutMs' | 'signal' | 'traceId' | 'callerData'> {}

/** A tool as `listAvailableTools` returns it. */
export interface ToolDefinitionForLLM {
  /** `[a-z0-9_]`, unique on this hub. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** A tool in any of the forms that a program may write it in. */
export type AnyTool = RegisteredTool | ToolClass | ExecutableAgentOsTool;

/** Registers a tool of a program, whatever its form. CONFLICT, VALIDATION_ERROR as the registry says. @internal */
export function registerAnyTool(registry: ToolRegistry, tool: AnyTool): ToolId {
  if ('inputSchema' in tool) return registerAgentOs(registry, tool).id;
  const registered = tool instanceof ToolClass ? fromToolClass(tool) : tool;
  registry.register(registered);
  return registered.id;
}

interface OrchestratorCollaborators {
  readonly pipeline: Pick<ToolCaller, 'call' | 'offeredTo' | 'preflight' | 'preflightTool'>;
  readonly registry: ToolRegistry;
  /** What calls may name: those of the registry and of other hubs. */
  readonly tools: Pick<ToolDirectory, 'all' | 'modelName'>;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly capabilities: Pick<CapabilityCatalogue, 'add'>;
}

interface OrchestratorOptions {
  /** Id of the hub. */
  readonly orchestratorId: string;
  readonly isDynamicRegistrationAllowed: boolean;
}

/**
 * The hub's tools for a program that runs a hub inside itself, in the words of AgentOS. It is a door like
 * the others: every call goes through the one pipeline. Only `registerTool` and `unregisterTool` throw.
 */
export class ToolOrchestrator {
  readonly orchestratorId: string;
  readonly #collaborators: OrchestratorCollaborators;
  readonly #isRegistrationAllowed: boolean;

  /** @internal A program gets its orchestrator from the hub. */
  constructor(collaborators: OrchestratorCollaborators, options: OrchestratorOptions) {
    this.#collaborators = collaborators;
    this.orchestratorId = options.orchestratorId;
    this.#isRegistrationAllowed = options.isDynamicRegistrationAllowed;
  }

  /** Runs a model's call; what is refused or fails is a result too, under the id of the call. */
  async processToolCall(details: ToolCallDetails): Promise<ModelCallResult> {
    const { toolCallRequest, token, correlationId: traceId, userContext: user, sessionData: session, ...limits } = details;
    const callerData = { ...(user && { user }), ...(session && { session }) };
    try {
      const principal = await this.#principalOf({ token });
      const request = { ...limits, ...fromModelCall(toolCallRequest), principal, callerData, ...(traceId !== undefined && { traceId }) };
      return toModelCallResult(toolCallRequest, await this.#collaborators.pipeline.call(request));
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      return { tool_call_id: toolCallRequest.id, success: false, output: null, error: `${code}: ${message}` };
    }
  }

  /**
   * Calls a tool by its name and resolves to the whole answer, from which `toToolResponse`, `toToolResult` and `toExecutionResult` make
   * other forms. Rejects with UNAUTHENTICATED, TOKEN_INVALID or TOKEN_EXPIRED alone: whatever becomes of the call is in the answer.
   */
  async call({ token, ...call }: ToolCall): Promise<CallAnswer> {
    return this.#collaborators.pipeline.call({ ...call, principal: await this.#principalOf({ token }) });
  }

  /** The tools of which the caller may make some call, in the order of their ids; none for a token that does not count. */
  async listAvailableTools(caller: Caller): Promise<readonly ToolDefinitionForLLM[]> {
    const principal = await this.#principalOf(caller).catch(() => undefined);
    if (!principal) return [];
    const { tools, pipeline } = this.#collaborators;
    const offered = tools.all().filter(pipeline.offeredTo(principal));
    return offered.map((tool) => {
      const { name, description, input_schema: inputSchema } = toAnthropic(tool.definition, tools.modelName(tool));
      return { name, description, inputSchema };
    });
  }

  /** Whether a call would be let through, and why not; without `params`, whether any call of the tool could be. */
  async isExecutionAllowed(asked: Caller & { readonly tool: string; readonly params?: JsonObject }): Promise<PermissionCheckResult> {
    const { token, ...question } = asked;
    try {
      const principal = await this.#principalOf({ token });
      return await new ExecutionPermission(this.#collaborators).isExecutionAllowed({ ...question, principal });
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      return { isAllowed: false, reason: `${code}: ${message}` };
    }
  }

  /** Adds a tool while the hub runs. NOT_SUPPORTED where the configuration forbids it; CONFLICT, VALIDATION_ERROR as the registry says. */
  registerTool(tool: AnyTool): ToolId {
    this.#requireRegistration();
    return registerAnyTool(this.#collaborators.registry, tool);
  }

  /**
   * Adds something that the hub has from now on, with the tools that need it; hubs of the mesh hear of both. Errors as `registerTool`;
   * CONFIG_INVALID when a listed tool has no handler.
   */
  registerCapability(handler: CapabilityHandler): readonly ToolId[] {
    this.#requireRegistration();
    const tools = toolsOfCapability(handler);
    const { type, description } = handler.capability;
    this.#collaborators.capabilities.add({ type, description: () => description });
    for (const tool of tools) this.#collaborators.registry.register(tool);
    return tools.map(({ id }) => id);
  }

  /** Removes a tool, which then gives back what it holds; false when there was none. NOT_SUPPORTED as for `registerTool`. */
  unregisterTool(id: ToolId): boolean {
    this.#requireRegistration();
    return this.#collaborators.registry.unregister(id);
  }

  async #principalOf({ token }: Caller): Promise<Principal> {
    const { principal } = await this.#collaborators.authenticator.authenticate({ bearer: token, operation: 'in process' });
    return principal;
  }

  #requireRegistration(): void {
    if (this.#isRegistrationAllowed) return;
    throw new AtmoError(
      'NOT_SUPPORTED',
      'This hub takes and gives up no tools while it runs; set tools.dynamic_registration in the configuration, or use the manifest',
    );
  }
}

/** What is asked: a tool by name, for a caller, with parameters when they are known already. @internal */
export interface PermissionCheckContext {
  readonly principal: Principal;
  readonly tool: string;
  readonly params?: JsonObject;
}

/** Whether the call would be let through; the reason is what the caller of the tool would be told. */
export interface PermissionCheckResult {
  readonly isAllowed: boolean;
  readonly reason?: string;
}

/** Says beforehand what the pipeline would decide; it has no rules of its own. @internal */
export class ExecutionPermission {
  readonly #pipeline: Pick<ToolCaller, 'preflight' | 'preflightTool'>;

  constructor(collaborators: { readonly pipeline: Pick<ToolCaller, 'preflight' | 'preflightTool'> }) {
    this.#pipeline = collaborators.pipeline;
  }

  /** Without parameters: whether there is any call of the tool that the caller may make. */
  async isExecutionAllowed({ params, ...request }: PermissionCheckContext): Promise<PermissionCheckResult> {
    const verdict = await (params === undefined ? this.#pipeline.preflightTool(request) : this.#pipeline.preflight({ ...request, params }));
    if (verdict.allowed) return { isAllowed: true };
    return { isAllowed: false, reason: `${verdict.error.code}: ${verdict.error.message}` };
  }
}
