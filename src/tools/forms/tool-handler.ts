import { AtmoError, isErrorCode } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { normalizeDefinition } from '../definition/normalize-definition.ts';
import type { RegisteredTool, ToolContext, ToolDefinition } from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-name.ts';
import { SchemaValidator } from '../schema/schema-validator.ts';

/** What a class tool answers (source 000 §9, ToolResult). */
export type ToolResult =
  | { readonly success: true; readonly result: Json }
  | { readonly success: false; readonly error: string; readonly error_code?: string; readonly details?: JsonObject };

const sharedValidator = new SchemaValidator();

/** A tool as a class (source 000 §9, source 002 §2.2), beside the shorter `defineTool`. */
export abstract class ToolHandler {
  /** In the public form of source 000 §2, or the internal one after `normalizeDefinition`. */
  abstract readonly definition: unknown;

  abstract execute(params: JsonObject, context: ToolContext): Promise<ToolResult>;

  /** Checks parameters against the schema; throws VALIDATION_ERROR. Override to check more, and call this one first. */
  async validate(params: JsonObject): Promise<JsonObject> {
    return sharedValidator.parameters(normalizeDefinition(this.definition).parameters, params);
  }

  /** Gives back what the tool holds; called when it is removed and when the hub stops. */
  async shutdown(): Promise<void> {}

  /** What a model needs to call the tool (source 002 §2.2). */
  getDefinitionForLLM(): { readonly name: string; readonly description: string; readonly parameters: ToolDefinition['parameters'] } {
    const { name, description, parameters } = normalizeDefinition(this.definition);
    return { name, description, parameters };
  }
}

/** A class tool as the registry takes it: validated by its own `validate`, its failures as errors of the one table. */
export function fromToolHandler(tool: ToolHandler): RegisteredTool {
  const definition = normalizeDefinition(tool.definition);
  return {
    id: toolId(definition),
    definition,
    handler: async (params, context) => unwrapResult(await tool.execute(await tool.validate(params), context)),
    shutdown: () => tool.shutdown(),
  };
}

/** The result itself; an unsuccessful one is thrown with its own code where the table has it: it is what the tool says, and no bug. */
export function unwrapResult(result: ToolResult): Json {
  if (result.success) return result.result;
  throw new AtmoError(isErrorCode(result.error_code) ? result.error_code : 'SERVICE_REFUSED', result.error, result.details);
}
