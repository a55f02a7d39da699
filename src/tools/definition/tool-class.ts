import { AtmoError, isErrorCode } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { sharedValidator } from '../schema/schema-validator.ts';
import { normalizeDefinition } from './public-definition.ts';
import type { RegisteredTool, ToolContext, ToolDefinition } from './tool-definition.ts';
import { toolId } from './tool-names.ts';

/** The result of a call to a tool that is a class. */
export type ToolResult =
  | { readonly success: true; readonly result: Json }
  | { readonly success: false; readonly error: string; readonly error_code?: string; readonly details?: JsonObject };

/** Base class for tools written as classes. `defineTool` is the shorter form. */
export abstract class ToolClass {
  /** The definition, either in the public form or as returned by `normalizeDefinition`. */
  abstract readonly definition: unknown;

  abstract execute(params: JsonObject, context: ToolContext): Promise<ToolResult>;

  /** Returns the parameters with defaults. Throws VALIDATION_ERROR if they do not match the schema. An override must call this first. */
  async validate(params: JsonObject): Promise<JsonObject> {
    return sharedValidator.parameters(normalizeDefinition(this.definition).parameters, params);
  }

  /** Releases the tool's resources. Called when the tool is removed and when the hub stops. */
  async shutdown(): Promise<void> {}

  getDefinitionForLLM(): { readonly name: string; readonly description: string; readonly parameters: ToolDefinition['parameters'] } {
    const { name, description, parameters } = normalizeDefinition(this.definition);
    return { name, description, parameters };
  }
}

/** Converts a `ToolClass` for the registry. Each call runs `validate` first. Failures are thrown with an error code of the hub. */
export function fromToolClass(tool: ToolClass): RegisteredTool {
  const definition = normalizeDefinition(tool.definition);
  return {
    id: toolId(definition),
    definition,
    handler: async (params, context) => unwrapResult(await tool.execute(await tool.validate(params), context)),
    shutdown: () => tool.shutdown(),
  };
}

/** Returns the value of a successful result. For a failure, throws its error code; SERVICE_REFUSED replaces an unknown error code. */
export function unwrapResult(result: ToolResult): Json {
  if (result.success) return result.result;
  throw new AtmoError(isErrorCode(result.error_code) ? result.error_code : 'SERVICE_REFUSED', result.error, result.details);
}

/** A capability of the hub, with handlers for its tools. */
export interface CapabilityHandler {
  /** The capability that the tools require, such as `vision`. */
  readonly capability: { readonly type: string; readonly description: string };
  readonly tools: readonly ToolDefinition[];
  getToolHandler(name: string): ToolClass | undefined;
}

/** Returns the tools of a capability. Each tool requires the capability. Throws CONFIG_INVALID if a listed tool has no handler. */
export function toolsOfCapability(handler: CapabilityHandler): readonly RegisteredTool[] {
  return handler.tools.map((definition) => {
    const toolHandler = handler.getToolHandler(definition.name);
    if (!toolHandler) {
      throw new AtmoError('CONFIG_INVALID', `The capability ${handler.capability.type} lists ${definition.name} and has no handler for it`);
    }
    return requiring(handler.capability.type, fromToolClass(toolHandler));
  });
}

/** Returns a capability handler whose tools are classes. */
export function capabilityOf(capability: CapabilityHandler['capability'], handlers: readonly ToolClass[]): CapabilityHandler {
  const byName = new Map(handlers.map((handler) => [normalizeDefinition(handler.definition).name, handler]));
  return {
    capability,
    tools: handlers.map((handler) => normalizeDefinition(handler.definition)),
    getToolHandler: (name) => byName.get(name),
  };
}

function requiring(capability: string, tool: RegisteredTool): RegisteredTool {
  const { requires } = tool.definition;
  const capabilities = [...new Set([capability, ...requires.capabilities])];
  return { ...tool, definition: { ...tool.definition, requires: { ...requires, capabilities } } };
}
