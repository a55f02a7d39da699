import { AtmoError, isErrorCode } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { SchemaValidator } from '../schema/schema-validator.ts';
import { normalizeDefinition } from './public-definition.ts';
import type { RegisteredTool, ToolContext, ToolDefinition } from './tool-definition.ts';
import { toolId } from './tool-names.ts';

/** The result of a class tool. */
export type ToolResult =
  | { readonly success: true; readonly result: Json }
  | { readonly success: false; readonly error: string; readonly error_code?: string; readonly details?: JsonObject };

const sharedValidator = new SchemaValidator();

/** A tool as a class; `defineTool` is the shorter form. */
export abstract class ToolClass {
  /** The definition in the public form, or the internal form from `normalizeDefinition`. */
  abstract readonly definition: unknown;

  abstract execute(params: JsonObject, context: ToolContext): Promise<ToolResult>;

  /** Checks parameters against the schema. Throws VALIDATION_ERROR. An override with further checks calls this method first. */
  async validate(params: JsonObject): Promise<JsonObject> {
    return sharedValidator.parameters(normalizeDefinition(this.definition).parameters, params);
  }

  /** Releases the tool's resources; is called when it is removed and when the hub stops. */
  async shutdown(): Promise<void> {}

  getDefinitionForLLM(): { readonly name: string; readonly description: string; readonly parameters: ToolDefinition['parameters'] } {
    const { name, description, parameters } = normalizeDefinition(this.definition);
    return { name, description, parameters };
  }
}

/** Returns a class tool for the registry: parameters pass its own `validate`, its failures become errors of the table. */
export function fromToolClass(tool: ToolClass): RegisteredTool {
  const definition = normalizeDefinition(tool.definition);
  return {
    id: toolId(definition),
    definition,
    handler: async (params, context) => unwrapResult(await tool.execute(await tool.validate(params), context)),
    shutdown: () => tool.shutdown(),
  };
}

/** Returns the result; throws a failure with its own code where the table of errors has it: the tool reports it, so it is no bug. */
export function unwrapResult(result: ToolResult): Json {
  if (result.success) return result.result;
  throw new AtmoError(isErrorCode(result.error_code) ? result.error_code : 'SERVICE_REFUSED', result.error, result.details);
}

/** A capability of the hub with its tools. */
export interface CapabilityHandler {
  /** The capability that the tool adds, such as `vision`. */
  readonly capability: { readonly type: string; readonly description: string };
  readonly tools: readonly ToolDefinition[];
  getToolHandler(name: string): ToolClass | undefined;
}

/** Returns the tools of a capability, each of which requires it. Throws CONFIG_INVALID if a listed tool has no handler. */
export function toolsOfCapability(handler: CapabilityHandler): readonly RegisteredTool[] {
  return handler.tools.map((definition) => {
    const toolHandler = handler.getToolHandler(definition.name);
    if (!toolHandler) {
      throw new AtmoError('CONFIG_INVALID', `The capability ${handler.capability.type} lists ${definition.name} and has no handler for it`);
    }
    return requiring(handler.capability.type, fromToolClass(toolHandler));
  });
}

/** Makes a capability of class tools. */
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
