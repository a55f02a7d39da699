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

/** The caller of a tool. Its token replaces gmiId, personaId and personaCapabilities of AgentOS. */
interface Caller {
  /** The owner's token, or an `at1.` token that is not bound to a key of the caller. */
  readonly token: string;
}

/** A model's tool call, with its caller. */
export interface ToolCallDetails extends Caller, Pick<CallRequest, 'sessionId' | 'timeoutMs' | 'signal'> {
  readonly toolCallRequest: ModelCall;
  /** Id of the trace to which the call belongs. */
  readonly correlationId?: string;
  /** Data about the user. AgentOS tools receive it with the caller's id, and receive `sessionData` with the session's id. */
  readonly userContext?: JsonObject;
  readonly sessionData?: JsonObject;
}

/** A tool call by name, with its caller. */
export interface ToolCall
  extends Caller,
    Pick<CallRequest, 'tool' | 'params' | 'sessionId' | 'timeoutMs' | 'signal' | 'traceId' | 'callerData'> {}

/** A tool as `listAvailableTools` returns it. */
export interface ToolDefinitionForLLM {
  /** Name for models. It consists of `[a-z0-9_]` and is unique on this hub. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** Tells whether a call would be permitted. If not, `reason` is the error that the caller would get. */
export interface PermissionCheckResult {
  readonly isAllowed: boolean;
  readonly reason?: string;
}

/** A tool in any form that a program with an embedded hub can register. */
export type AnyTool = RegisteredTool | ToolClass | ExecutableAgentOsTool;

/** Registers a tool of a program. Throws CONFLICT or VALIDATION_ERROR like the registry. @internal */
export function registerAnyTool(registry: ToolRegistry, tool: AnyTool): ToolId {
  if ('inputSchema' in tool) return registerAgentOs(registry, tool).id;
  const registered = tool instanceof ToolClass ? fromToolClass(tool) : tool;
  registry.register(registered);
  return registered.id;
}

interface OrchestratorCollaborators {
  readonly pipeline: Pick<ToolCaller, 'call' | 'offeredTo' | 'preflight' | 'preflightTool'>;
  readonly registry: ToolRegistry;
  /** The callable tools of this hub and of other hubs. */
  readonly tools: Pick<ToolDirectory, 'all' | 'modelName'>;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly capabilities: Pick<CapabilityCatalogue, 'add'>;
}

interface OrchestratorOptions {
  readonly orchestratorId: string;
  readonly isDynamicRegistrationAllowed: boolean;
}

/**
 * The methods with which a program uses the tools of its embedded hub, named as in AgentOS. Every call passes the same pipeline as a call
 * over HTTP. Only `registerTool`, `registerCapability` and `unregisterTool` throw errors, and `call` rejects for an invalid token.
 */
export class ToolOrchestrator {
  readonly orchestratorId: string;
  readonly #collaborators: OrchestratorCollaborators;
  readonly #isRegistrationAllowed: boolean;

  /** @internal The hub creates the orchestrator. */
  constructor(collaborators: OrchestratorCollaborators, { orchestratorId, isDynamicRegistrationAllowed }: OrchestratorOptions) {
    this.#collaborators = collaborators;
    this.orchestratorId = orchestratorId;
    this.#isRegistrationAllowed = isDynamicRegistrationAllowed;
  }

  /** Runs a model's call. A refused or failed call does not reject: its result contains the call's id and the error. */
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
   * Calls a tool by name and resolves to the answer, even if the call fails. `toToolResponse`, `toToolResult` and `toExecutionResult`
   * convert an answer. Rejects with UNAUTHENTICATED if the token is missing, and with TOKEN_INVALID or TOKEN_EXPIRED if it is not valid.
   */
  async call({ token, ...call }: ToolCall): Promise<CallAnswer> {
    return this.#collaborators.pipeline.call({ ...call, principal: await this.#principalOf({ token }) });
  }

  /** Returns the tools that the caller may call, sorted by id; an empty list for an invalid token. */
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

  /**
   * Returns whether the pipeline would permit a call, and the reason for a refusal. Without `params`, returns whether the pipeline would
   * permit some call of the tool.
   */
  async isExecutionAllowed(asked: Caller & { readonly tool: string; readonly params?: JsonObject }): Promise<PermissionCheckResult> {
    const { token, params, tool } = asked;
    const { pipeline } = this.#collaborators;
    try {
      const request = { tool, principal: await this.#principalOf({ token }) };
      const verdict = await (params === undefined ? pipeline.preflightTool(request) : pipeline.preflight({ ...request, params }));
      return verdict.allowed ? { isAllowed: true } : { isAllowed: false, reason: `${verdict.error.code}: ${verdict.error.message}` };
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      return { isAllowed: false, reason: `${code}: ${message}` };
    }
  }

  /** Adds a tool. Throws NOT_SUPPORTED if the configuration forbids it, and CONFLICT or VALIDATION_ERROR like the registry. */
  registerTool(tool: AnyTool): ToolId {
    this.#requireRegistration();
    return registerAnyTool(this.#collaborators.registry, tool);
  }

  /**
   * Adds a capability of the hub with the tools that need it; both are announced to the mesh. Throws like `registerTool`, and
   * CONFIG_INVALID if a listed tool has no handler.
   */
  registerCapability(handler: CapabilityHandler): readonly ToolId[] {
    this.#requireRegistration();
    const tools = toolsOfCapability(handler);
    const { type, description } = handler.capability;
    this.#collaborators.capabilities.add({ type, description: () => description });
    for (const tool of tools) this.#collaborators.registry.register(tool);
    return tools.map(({ id }) => id);
  }

  /** Removes a tool. Returns false if there is no such tool. Throws NOT_SUPPORTED if the configuration forbids the removal. */
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
      'This hub adds and removes no tools while it runs; set tools.dynamic_registration in the configuration, or use the manifest',
    );
  }
}
