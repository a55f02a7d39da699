import type { JsonObject, JsonSchema } from '../../core/json.ts';
import { isDestructive, type ToolDefinition } from '../definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../schema/plain-json.ts';
import { portableSchema, type SchemaUse, toStrictSchema } from './model-schemas.ts';

/** A tool in OpenAI's format, which LM Studio also uses. */
export interface OpenAiTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject; readonly strict?: boolean };
}

/** A tool in Anthropic's format. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject;
}

/** A tool in the format of the Model Context Protocol (MCP), with all of its four hints. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: {
    readonly title: string;
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

/** Maximum length of a description in characters. If one description is longer, OpenAI refuses the whole request. */
const OPENAI_DESCRIPTION_CHARS = 1_024;

/** Returns the tool in OpenAI's format. `name` is the tool's name for models, as the registry returns it. */
export function toOpenAi(definition: ToolDefinition, name: string): OpenAiTool {
  const description = shortened(definition.description, OPENAI_DESCRIPTION_CHARS);
  return { type: 'function', function: { name, description, parameters: schemaFor(definition.parameters, 'input') } };
}

/** Returns the tool for OpenAI's strict mode. `strict` is false if strict mode cannot express the parameters. */
export function toStrictOpenAi(definition: ToolDefinition, name: string): OpenAiTool {
  const tool = toOpenAi(definition, name);
  const parameters = toStrictSchema(tool.function.parameters);
  return { ...tool, function: { ...tool.function, ...(parameters && { parameters }), strict: parameters !== undefined } };
}

/** Returns the tool in Anthropic's format. `name` is the tool's name for models, as the registry returns it. */
export function toAnthropic(definition: ToolDefinition, name: string): AnthropicTool {
  return { name, description: definition.description, input_schema: schemaFor(definition.parameters, 'input') };
}

/** Returns the tool in MCP's format. It has an output schema only if the result is an object, since MCP allows only schemas of objects. */
export function toMcp(definition: ToolDefinition, name: string): McpTool {
  const { metadata, execution, requires, returns } = definition;
  return {
    name,
    title: metadata.title,
    description: definition.description,
    inputSchema: schemaFor(definition.parameters, 'input'),
    ...(returns.type === 'object' && { outputSchema: schemaFor(returns, 'output') }),
    annotations: {
      title: metadata.title,
      readOnlyHint: !execution.hasSideEffects,
      destructiveHint: isDestructive(definition),
      idempotentHint: execution.isIdempotent,
      openWorldHint: requires.network,
    },
  };
}

/** Shortens a text of more than `maxChars` and ends it with `…`. Cuts between words if possible, and never inside a surrogate pair. */
function shortened(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars - 1);
  const end = cut.lastIndexOf(' ');
  return `${(end > maxChars / 2 ? cut.slice(0, end) : cut).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function schemaFor(schema: JsonSchema, use: SchemaUse): JsonObject {
  return copyJsonObject(portableSchema(schema, use), RESULT_LIMITS);
}
