import type { Principal } from '../../../core/access/principal.ts';
import { toAtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { p } from '../../../tools/schema/parameter-builder.ts';
import type { ToolMatch, ToolSearchResult } from '../../../tools/search/search.ts';
import type { ToolCatalogue } from '../../tools/tool-catalogue.ts';
import { successResult } from '../calls/tool-result.ts';
import { argumentHint } from './argument-hint.ts';
import { type HomeTool, homeTool } from './home-tool.ts';
import { proxyOf } from './proxy-tools.ts';
import { toolForm } from './tool-form.ts';

const MAX_DESCRIBED = 8;
const MAX_FOUND = 20;
/** How many of what almost fitted are told. */
const MAX_NEAR = 3;

/** What tools are found and described with. */
export interface SearchParts {
  readonly catalogue: ToolCatalogue;
  /** The tools that this caller may use and that fit a sentence, best first. */
  find(principal: Principal, text: string, limit: number): ToolSearchResult;
}

/** `search_tools` and `describe_tool`. */
export function searchTools(parts: SearchParts): readonly HomeTool[] {
  return [searchTool(parts), describeTool(parts)];
}

function searchTool({ catalogue, find }: SearchParts): HomeTool {
  return homeTool(
    {
      name: 'search_tools',
      title: 'Find tools',
      description:
        'Finds tools of the home from a sentence: devices, sensors, the hub itself. Each answer says which tool calls it and what arguments it takes. Example: {"query": "dim the lamp in the study"}',
      parameters: {
        query: p.string({ description: 'What is to be done, in any words', minLength: 1, maxLength: 400 }),
        limit: p.integer({ description: 'At most this many', minimum: 1, maximum: MAX_FOUND, default: 6 }),
      },
    },
    ({ query, limit }, { principal }) => {
      const { matches, nearMisses } = find(principal, query, limit);
      const view = (match: ToolMatch) => foundView(catalogue, match);
      const near = nearMisses.slice(0, MAX_NEAR).map(view);
      return successResult({ tools: matches.map(view), ...(near.length > 0 && { near_misses: near }) });
    },
  );
}

function describeTool({ catalogue }: SearchParts): HomeTool {
  return homeTool(
    {
      name: 'describe_tool',
      title: 'Describe tools',
      description: 'Tells the whole description and the schemas of tools. Example: {"names": ["desk_lamp_set_color"]}',
      parameters: {
        names: p.array(p.string({ description: 'Name from search_tools', maxLength: 160 }), {
          description: 'Which tools',
          minItems: 1,
          maxItems: MAX_DESCRIBED,
        }),
      },
    },
    ({ names }, { principal }) => successResult({ tools: names.map((name) => described(catalogue, principal, name)) }),
  );
}

function foundView(catalogue: ToolCatalogue, { tool, score, reasons }: ToolMatch): JsonObject {
  const { title, device, area } = tool.definition.metadata;
  return {
    name: catalogue.modelName(tool),
    title,
    ...(device !== undefined && { device }),
    ...(area !== undefined && { area }),
    call_with: proxyOf(tool),
    arguments: argumentHint(tool.definition.parameters),
    ...(!catalogue.isAvailable(tool) && { available: false }),
    score: Math.round(score * 100) / 100,
    why: [...reasons],
  };
}

/** A name that fits none or several is told with its candidates, beside those that were found. */
function described(catalogue: ToolCatalogue, principal: Principal, name: string): JsonObject {
  try {
    const tool = catalogue.resolve(principal, name);
    const { icons: _, ...form } = toolForm(tool, catalogue.modelName(tool));
    return { ...form, call_with: proxyOf(tool), ...(!catalogue.isAvailable(tool) && { available: false }) };
  } catch (thrown) {
    const { code, message, details } = toAtmoError(thrown).toBody();
    return { name, error: { code, message, details } };
  }
}
