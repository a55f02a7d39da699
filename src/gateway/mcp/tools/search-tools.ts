import type { Principal } from '../../../core/access/principal.ts';
import { toAtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import { p } from '../../../tools/schema/parameter-builder.ts';
import { LISTED_FROM } from '../../../tools/search/confidence.ts';
import type { HomeSearchResult, HomeToolMatch } from '../../../tools/search/home-search.ts';
import type { EntityMatch, ToolMatch } from '../../../tools/search/search.ts';
import type { ToolCatalogue } from '../../tools/tool-catalogue.ts';
import { successResult } from '../calls/tool-result.ts';
import { argumentHint } from './argument-hint.ts';
import { type HomeTool, homeTool } from './home-tool.ts';
import { type NamedToolParts, proxyOf, toolNamed } from './proxy-tools.ts';
import { toolForm } from './tool-form.ts';

const MAX_DESCRIBED = 8;
const MAX_FOUND = 20;
/** How many of what almost fitted are told. */
const MAX_NEAR = 3;
/** How many readings, devices and areas are told beside the tools. */
const MAX_THINGS = 4;

/** What tools are found and described with. */
export interface SearchParts extends NamedToolParts {
  /** The tools that this caller may use and that fit a sentence, best first, and the things that it is about. */
  find(principal: Principal, text: string, limit: number): HomeSearchResult;
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
        'Finds tools of the home from a sentence: devices, sensors, the hub itself. Each answer says which tool calls it and what arguments it takes. Example: {"query": "dim the lights"}',
      parameters: {
        query: p.string({ description: 'What is to be done, in any words', minLength: 1, maxLength: 400 }),
        limit: p.integer({ description: 'At most this many', minimum: 1, maximum: MAX_FOUND, default: 6 }),
      },
    },
    async ({ query, limit }, { principal }) => {
      await catalogue.whole(principal);
      const found = find(principal, query, limit);
      const view = (match: HomeToolMatch) => foundView(catalogue, match);
      const near = found.nearMisses.slice(0, MAX_NEAR).map(view);
      return successResult({
        tools: found.matches.map(view),
        unsure: found.isUnsure,
        ...asideOf(catalogue, found),
        ...(near.length > 0 && { near_misses: near }),
      });
    },
  );
}

/** Which of several devices may be meant, what can be read, and what else of the home a sentence is about. */
function asideOf(catalogue: ToolCatalogue, { whichOne, isForAll, note, readings, devices, areas }: HomeSearchResult): JsonObject {
  const candidates = whichOne.map(({ tool }: ToolMatch) => {
    const { device = '', area } = tool.definition.metadata;
    return { name: catalogue.modelName(tool), device, ...(area !== undefined && { area }) };
  });
  const read = readings.filter(isListed).slice(0, MAX_THINGS);
  const lists = {
    readings: read.map((one) => ({ ...thingOf(one), call_with: 'read_sensor', arguments: { sensor: one.id } })),
    devices: devices.filter(isListed).slice(0, MAX_THINGS).map(thingOf),
    areas: areas.filter(isListed).slice(0, MAX_THINGS).map(thingOf),
  };
  return {
    ...(candidates.length > 1 && { which_one: { question: isForAll ? 'All of them?' : 'Which one?', candidates } }),
    ...(note !== undefined && { note }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
  };
}

function isListed({ confidence }: EntityMatch): boolean {
  return confidence >= LISTED_FROM;
}

function thingOf({ id, name, area, node, confidence }: EntityMatch): JsonObject {
  return { id, name, ...(area !== undefined && { area }), ...(node !== undefined && { node }), confidence };
}

function describeTool(parts: SearchParts): HomeTool {
  return homeTool(
    {
      name: 'describe_tool',
      title: 'Describe tools',
      description: 'Tells the whole description and the schemas of tools. Example: {"names": ["<name from search_tools>"]}.',
      parameters: {
        names: p.array(p.string({ description: 'Name from search_tools', maxLength: 160 }), {
          description: 'Which tools',
          minItems: 1,
          maxItems: MAX_DESCRIBED,
        }),
      },
    },
    async ({ names }, { principal }) => successResult({ tools: await Promise.all(names.map((name) => described(parts, principal, name))) }),
  );
}

function foundView(catalogue: ToolCatalogue, { tool, score, confidence, reasons, params }: HomeToolMatch): JsonObject {
  const { title, device, area } = tool.definition.metadata;
  return {
    name: catalogue.modelName(tool),
    title,
    ...(device !== undefined && { device }),
    ...(area !== undefined && { area }),
    call_with: proxyOf(tool),
    arguments: argumentHint(tool.definition.parameters),
    ...standingOf(catalogue, tool),
    ...(params && { with: params }),
    score: Math.round(score * 100) / 100,
    confidence,
    why: [...reasons],
  };
}

/** Nothing where a call would run now. */
function standingOf(catalogue: ToolCatalogue, tool: RegisteredTool): JsonObject {
  const obstacle = catalogue.obstacleTo(tool);
  return obstacle === undefined ? {} : { available: false, unavailable_reason: obstacle };
}

/** A name that fits none or several is told with its candidates, beside those that were found. */
async function described(parts: NamedToolParts, principal: Principal, name: string): Promise<JsonObject> {
  const { catalogue } = parts;
  try {
    const tool = await toolNamed(parts, principal, name);
    const { icons: _, ...form } = toolForm(tool, catalogue.modelName(tool));
    return { ...form, call_with: proxyOf(tool), ...standingOf(catalogue, tool) };
  } catch (thrown) {
    const { code, message, details } = toAtmoError(thrown).toBody();
    return { name, error: { code, message, details } };
  }
}
