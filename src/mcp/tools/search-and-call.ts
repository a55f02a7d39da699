import { previewRisk } from '../../calls/call-preview.ts';
import type { Authorizer, Principal } from '../../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ReadRateLimiter } from '../../http/server/rate-limits.ts';
import type { ToolCatalogue } from '../../http/tool-catalogue.ts';
import { p } from '../../tools/definition/define-tool.ts';
import { needsApproval, type RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { ToolDirectory } from '../../tools/registry/tool-directory.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { isSchemaObject } from '../../tools/schema/schema-walk.ts';
import { LISTED_FROM } from '../../tools/search/confidence.ts';
import type { EntityMatch, HomeSearchResult, HomeToolMatch, ToolMatch } from '../../tools/search/home-search.ts';
import { successResult } from '../calls/tool-result.ts';
import type { McpCaller, ToolRunner } from '../mcp-feature.ts';
import { type HomeTool, homeTool } from './home-tool.ts';
import { toolForm } from './tool-form.ts';

const MAX_DESCRIBED = 8;
const MAX_FOUND = 20;
const MAX_NEAR = 3;
/** Maximum number of readings, devices and areas in a result. */
const MAX_ENTITIES = 4;

/** The parts of the hub that are needed to search and describe tools. */
export interface SearchParts extends NamedToolParts {
  /** Returns the matching tools that the caller may use, best first. Also returns devices, areas and sensors that `text` names. */
  find(principal: Principal, text: string, limit: number): HomeSearchResult;
}

/** Returns `search_tools` and `describe_tool`. */
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
      await catalogue.whole(principal, undefined, { sentence: query });
      const found = find(principal, query, limit);
      const view = (match: HomeToolMatch) => foundView(catalogue, match);
      const near = found.nearMisses.slice(0, MAX_NEAR).map(view);
      return successResult({
        tools: found.matches.map(view),
        unsure: found.isUnsure,
        ...clarificationOf(catalogue, found),
        ...(near.length > 0 && { near_misses: near }),
      });
    },
  );
}

/** Returns hints about a sentence: candidates if several devices fit, and the readings, devices and areas that the sentence names. */
function clarificationOf(catalogue: ToolCatalogue, { whichOne, isForAll, note, readings, devices, areas }: HomeSearchResult): JsonObject {
  const candidates = whichOne.map(({ tool }: ToolMatch) => {
    const { device = '', area } = tool.definition.metadata;
    return { name: catalogue.modelName(tool), device, ...(area !== undefined && { area }) };
  });
  const read = readings.filter(isListed).slice(0, MAX_ENTITIES);
  const lists = {
    readings: read.map((one) => ({ ...entityOf(one), call_with: 'read_sensor', arguments: { sensor: one.id } })),
    devices: devices.filter(isListed).slice(0, MAX_ENTITIES).map(entityOf),
    areas: areas.filter(isListed).slice(0, MAX_ENTITIES).map(entityOf),
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

function entityOf({ id, name, area, node, confidence }: EntityMatch): JsonObject {
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
    ...availabilityOf(catalogue, tool),
    ...(params && { with: params }),
    score: Math.round(score * 100) / 100,
    confidence,
    why: [...reasons],
  };
}

/** Returns why a call of the tool would fail now. Returns an empty object if the call would run. */
function availabilityOf(catalogue: ToolCatalogue, tool: RegisteredTool): JsonObject {
  const obstacle = catalogue.obstacleTo(tool);
  return obstacle === undefined ? {} : { available: false, unavailable_reason: obstacle };
}

/** Returns the description of a tool, or the candidates if its name is unknown or ambiguous. */
async function described(parts: NamedToolParts, principal: Principal, name: string): Promise<JsonObject> {
  const { catalogue } = parts;
  try {
    const tool = await toolNamed(parts, principal, name);
    const { icons: _, ...form } = toolForm(tool, catalogue.modelName(tool));
    return { ...form, call_with: proxyOf(tool), ...availabilityOf(catalogue, tool) };
  } catch (thrown) {
    const { code, message, details } = toAtmoError(thrown).toBody();
    return { name, error: { code, message, details } };
  }
}

const MAX_CHOICES = 8;

/** Returns the parameters of a tool on one line, such as `brightness: 0..100 %, seconds?: number s`; `?` marks optional parameters. */
function argumentHint({ properties, required }: JsonSchema): string {
  if (!isSchemaObject(properties)) return '';
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties)
    .map(([name, schema]) => `${name}${needed.has(name) ? '' : '?'}: ${isSchemaObject(schema) ? valueHint(schema) : 'any'}`)
    .join(', ');
}

function valueHint(schema: JsonSchema): string {
  const unit = typeof schema['x-unit'] === 'string' ? ` ${schema['x-unit']}` : '';
  if (Array.isArray(schema.enum)) return choices(schema.enum);
  if (schema.minimum !== undefined && schema.maximum !== undefined) return `${schema.minimum}..${schema.maximum}${unit}`;
  return `${typeof schema.type === 'string' ? schema.type : 'any'}${unit}`;
}

function choices(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_CHOICES).map(String).join('|');
  return values.length > MAX_CHOICES ? `${shown}|…` : shown;
}

/** The parts of the hub that find tools by name. */
export interface NamedToolParts {
  readonly catalogue: ToolCatalogue;
  readonly reads: Pick<ReadRateLimiter, 'take'>;
}

/** Returns the tool with this name. Rejects with TOOL_NOT_FOUND or AMBIGUOUS_TOOL. Each rejection counts against the read limit. */
export async function toolNamed({ catalogue, reads }: NamedToolParts, principal: Principal, name: string): Promise<RegisteredTool> {
  await catalogue.whole(principal, name);
  const tool = catalogue.known(principal, name);
  if (tool) return tool;
  reads.take(principal);
  return catalogue.resolve(principal, name);
}

/** The parts of the hub that call tools by name. */
export interface ProxyParts extends NamedToolParts {
  readonly tools: ToolDirectory;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  readonly run: ToolRunner;
}

/** Tools of the default view that call any other tool. There is one for each kind of effect, so that hosts can allow each separately. */
export type ProxyName = 'read_tool' | 'control_tool' | 'sensitive_tool';

const PARAMETERS = {
  name: p.string({ description: 'Name of a tool, from search_tools', maxLength: 160 }),
  arguments: p.record({ description: 'Its arguments', default: {} }),
};

/** Returns `read_tool`, `control_tool` and `sensitive_tool`. If a call belongs to another of the three, its error names the right one. */
export function proxyTools(parts: ProxyParts): readonly HomeTool[] {
  const through = (proxy: ProxyName) => (params: { readonly name: string; readonly arguments: JsonObject }, caller: McpCaller) =>
    callThrough(proxy, parts, { ...params, caller });
  return [
    homeTool(
      {
        name: 'read_tool',
        title: 'Read with a tool',
        description: 'Runs a tool that only reads. Example: {"name": "<name from search_tools>", "arguments": {}}.',
        parameters: PARAMETERS,
      },
      through('read_tool'),
    ),
    homeTool(
      {
        name: 'control_tool',
        title: 'Control with a tool',
        description:
          'Runs a tool that changes something and is not dangerous. Example: {"name": "<name from search_tools>", "arguments": {"brightness": 40}}.',
        parameters: PARAMETERS,
        effect: 'acts',
      },
      through('control_tool'),
    ),
    homeTool(
      {
        name: 'sensitive_tool',
        title: 'Ask for something dangerous',
        description:
          'Runs a dangerous tool (unlock, open a garage, reset). A person has to approve each call: the first answer is APPROVAL_REQUIRED; repeat the call within 10 minutes of the approval, or let it wait as a job. You cannot approve.',
        parameters: {
          ...PARAMETERS,
          wait_for_approval: p.boolean({
            description: 'true: waits as a job, which runs once approved; ask job_status',
            default: false,
          }),
        },
        effect: 'endangers',
      },
      ({ wait_for_approval: waits, ...params }, caller) =>
        callThrough('sensitive_tool', parts, { ...params, caller, ...(waits && { waitsForApproval: true as const }) }),
    ),
  ];
}

/** Returns the proxy tool for a definition. If the parameters make a call dangerous, `callThrough` requires `sensitive_tool` instead. */
export function proxyOf({ definition }: Pick<RegisteredTool, 'definition'>): ProxyName {
  if (needsApproval(definition)) return 'sensitive_tool';
  return definition.execution.hasSideEffects ? 'control_tool' : 'read_tool';
}

interface ProxiedCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly caller: McpCaller;
  readonly waitsForApproval?: true;
}

async function callThrough(
  proxy: ProxyName,
  parts: ProxyParts,
  { name, arguments: params, caller, waitsForApproval }: ProxiedCall,
): Promise<JsonObject> {
  const tool = await toolNamed(parts, caller.principal, name);
  const ports = { registry: parts.tools, validator: parts.validator, authorizer: parts.authorizer };
  const risk = previewRisk(ports, { tool: tool.id, params, viewer: caller.principal });
  const fitting = risk === 'dangerous' ? 'sensitive_tool' : proxyOf(tool);
  if (fitting === proxy) return parts.run({ tool, params, listing: 'open', ...(waitsForApproval && { waitsForApproval }) }, caller);
  throw new AtmoError(
    'VALIDATION_ERROR',
    `${parts.catalogue.modelName(tool)} ${WHY[fitting]}; call it by ${fitting} with the same arguments`,
    {
      call_with: fitting,
    },
  );
}

const WHY: Readonly<Record<ProxyName, string>> = {
  read_tool: 'only reads',
  control_tool: 'changes something and is not dangerous',
  sensitive_tool: 'is dangerous with these arguments',
};
