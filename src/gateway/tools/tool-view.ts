import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toPublicDefinition } from '../../tools/forms/public-definition.ts';
import { toAnthropic, toMcp, toOpenAi, toStrictOpenAi } from '../../tools/forms/tool-export.ts';

/** Forms of other systems in which tools can be listed. */
export const TOOL_FORMATS = ['openai', 'anthropic', 'mcp'] as const;
/** One of them, or OpenAI's with parameters for its strict mode. */
export type ToolFormat = keyof typeof EXPORTERS;

const EXPORTERS = { openai: toOpenAi, 'strict openai': toStrictOpenAi, anthropic: toAnthropic, mcp: toMcp };
/** Definitions never change, so that their public form is made once. */
const publicForms = new WeakMap<RegisteredTool, JsonObject>();

/** What a list says of a tool beside its definition. */
interface ToolStanding {
  readonly modelName: string;
  /** Why no call would run now. */
  readonly obstacle: string | undefined;
}

/** A tool as the API tells it: the public definition of source 000 §2 with its id, the name for models, whether it can be called now or why not, what to configure first, and the hubs that have it where this one has not. */
export function toolView(tool: RegisteredTool, { modelName, obstacle }: ToolStanding): JsonObject {
  const nodes = tool.hubs?.();
  const missingSetting = obstacle === undefined ? undefined : tool.missingSetting?.();
  return {
    id: tool.id,
    ...publicForm(tool),
    model_name: modelName,
    available: obstacle === undefined,
    ...(obstacle !== undefined && { unavailable_reason: obstacle }),
    ...(missingSetting !== undefined && { missing_setting: missingSetting }),
    ...(nodes && { nodes }),
  };
}

/** A tool in the form that a model API takes. */
export function exportedTool(tool: RegisteredTool, modelName: string, format: ToolFormat): object {
  return EXPORTERS[format](tool.definition, modelName);
}

function publicForm(tool: RegisteredTool): JsonObject {
  const known = publicForms.get(tool);
  if (known) return known;
  const { tool: inner } = toPublicDefinition(tool.definition);
  const form = isJsonObject(inner) ? inner : {};
  publicForms.set(tool, form);
  return form;
}
