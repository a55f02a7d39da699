import { AtmoError, invalidInput } from '../../core/errors.ts';
import { type JsonObject, objectOf } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { toPublicDefinition } from '../../tools/definition/public-definition.ts';
import { type RegisteredTool, TOOL_CATEGORIES } from '../../tools/definition/tool-definition.ts';
import { toAnthropic, toMcp, toOpenAi, toStrictOpenAi } from '../../tools/formats/model-apis.ts';
import type { CapabilityCatalogue } from '../../tools/registry/capability-catalogue.ts';
import type { ToolDirectoryFilter } from '../../tools/registry/tool-directory.ts';
import type { EntityMatch, HomeSearchResult, HomeToolMatch, ToolMatch } from '../../tools/search/home-search.ts';
import type { CallPort } from '../ports.ts';
import { type Answer, json } from '../server/answer.ts';
import { requireScope } from '../server/http-app.ts';
import { field, type QueryOf } from '../server/query.ts';
import { defineRoute, type Route, type RouteRequest } from '../server/route.ts';
import type { ToolCatalogue } from '../tool-catalogue.ts';
import type { VisibleHome } from '../visible-home.ts';
import { answerOfTool, bareAnswer, toolRoute } from './call-request.ts';

/** Formats in which tools can be listed: those of model APIs, and MCP. */
const TOOL_FORMATS = ['openai', 'anthropic', 'mcp'] as const;
/** A key of `EXPORTERS`: one of TOOL_FORMATS, or OpenAI's strict mode. */
type ToolFormat = keyof typeof EXPORTERS;

const EXPORTERS = { openai: toOpenAi, 'strict openai': toStrictOpenAi, anthropic: toAnthropic, mcp: toMcp };

interface ToolStatus {
  readonly modelName: string;
  /** Why no call of the tool can run now; undefined if calls can run. */
  readonly obstacle: string | undefined;
}

/** Returns a tool in the API's format: definition, id, name for models, availability, missing setting, and the other hubs that have it. */
function toolView(tool: RegisteredTool, { modelName, obstacle }: ToolStatus): JsonObject {
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

/** Makes the public form of each tool only once, since definitions never change. */
const publicForm = oncePerObject((tool: RegisteredTool): JsonObject => objectOf(toPublicDefinition(tool.definition).tool));

const FORMAT = field.choice('the form that a model API takes, instead of our own', TOOL_FORMATS);
const STRICT = field.flag('with format=openai: parameters for the strict mode, where what may be left out is null');
const NODE = field.text('only tools that this hub has, by id or name; with it also those that a tool here has the name of');
const LIST_QUERY = {
  q: field.text('best matches for a sentence, ranked'),
  device: field.text('only tools of this device, by id or unique name'),
  area: field.text('only tools of devices in this area'),
  capability: field.text('only tools that need this capability'),
  category: field.choice('only this category', TOOL_CATEGORIES),
  created_by: field.choice('only tools of this origin', ['system', 'agent']),
  node: NODE,
  format: FORMAT,
  strict: STRICT,
  unavailable: field.flag('with format: also tools that the owner has not configured; without format these are listed, as not available'),
  limit: field.integer('at most this many, 100 by default', 1, 1_000),
  cursor: field.integer('`next_cursor` of the page before', 0, 1_000_000),
};
type ListQuery = QueryOf<typeof LIST_QUERY>;

interface ToolRouteCollaborators {
  readonly catalogue: ToolCatalogue;
  readonly home: VisibleHome;
}

/** Returns the routes that list, search and describe tools. */
export function toolRoutes(collaborators: ToolRouteCollaborators): readonly Route[] {
  const { catalogue } = collaborators;
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/tools',
      isDocument: true,
      summary: 'The tools in the order of their ids, or ranked when `q` is given',
      query: LIST_QUERY,
      answers: { 200: { description: 'one page of tools', schema: { $ref: '#/components/schemas/ToolPage' } } },
      handle(request, query) {
        const format = formatOf(query);
        if (query.q !== undefined) return json(rankedTools(collaborators, request, query));
        const isReadyOnly = format !== undefined && query.unavailable !== true;
        const isDefaultVersionOnly = format !== undefined;
        const own = listFilter(collaborators, request, query);
        const filter = { ...own, isReadyOnly, isDefaultVersionOnly, limit: query.limit ?? 100, offset: query.cursor ?? 0 };
        const page = catalogue.page(request.principal, filter);
        return json({
          tools: page.tools.map((tool) => formattedTool(catalogue, tool, format)),
          total: page.total,
          next_cursor: page.nextOffset === undefined ? undefined : String(page.nextOffset),
        });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/tools/:id',
      summary: 'One tool by id, name, alias or model name',
      query: { format: FORMAT, strict: STRICT, node: NODE },
      answers: { 200: { description: 'tool', schema: { $ref: '#/components/schemas/ToolInSomeForm' } } },
      handle: (request, { node, ...form }) =>
        json(formattedTool(catalogue, catalogue.resolve(request.principal, request.path.id ?? '', node), formatOf(form))),
    }),
  ];
}

/** Returns the filter of a list. Throws an error for an unknown device, since an empty list would hide a spelling mistake. */
function listFilter({ home }: ToolRouteCollaborators, { principal }: RouteRequest, query: ListQuery): ToolDirectoryFilter {
  const { device, area, capability, category, created_by: createdBy, node } = query;
  return {
    ...(device !== undefined && { device: home.deviceId(principal, device) }),
    ...(area !== undefined && { isInArea: (own: string) => home.isInArea(own, area) }),
    ...(capability !== undefined && { capability }),
    ...(category !== undefined && { category }),
    ...(createdBy !== undefined && { createdBy }),
    ...(node !== undefined && { node }),
  };
}

/** Returns the tools that match the sentence `q` best, with scores and reasons, and the tools that almost match it. */
function rankedTools(collaborators: ToolRouteCollaborators, request: RouteRequest, query: ListQuery): object {
  const { catalogue } = collaborators;
  const wanted = { text: query.q ?? '', limit: query.limit ?? 20 };
  const found = catalogue.find(request.principal, wanted, listFilter(collaborators, request, query));
  const { matches, nearMisses, isUnsure: unsure } = found;
  const format = formatOf(query);
  if (format !== undefined) {
    const isMeant = catalogue.defaultVersionFor(request.principal);
    return { tools: matches.filter(({ tool }) => isMeant(tool)).map(({ tool }) => formattedTool(catalogue, tool, format)), unsure };
  }
  const view = ({ tool, score, confidence, reasons, params }: HomeToolMatch) => ({
    ...formattedTool(catalogue, tool, undefined),
    score,
    confidence,
    reasons,
    ...(params && { suggested_parameters: params }),
  });
  return {
    tools: matches.map(view),
    unsure,
    ...clarificationView(found),
    near_misses: nearMisses.map(view),
    readings: found.readings.map(entityView),
    devices: found.devices.map(entityView),
    areas: found.areas.map(entityView),
  };
}

/** Returns hints beside the matches: the candidates if the sentence is ambiguous, and a note if its language is unknown. */
function clarificationView({ whichOne, isForAll, note }: Pick<HomeSearchResult, 'whichOne' | 'isForAll' | 'note'>) {
  const candidate = ({ tool: { id, definition }, confidence }: ToolMatch) => {
    const { title, device = '', area = null } = definition.metadata;
    return { tool: id, title, device, area, confidence };
  };
  const which = { question: isForAll ? 'All of them?' : 'Which one?', candidates: whichOne.map(candidate) };
  return { ...(whichOne.length > 1 && { which_one: which }), ...(note !== undefined && { note }) };
}

/** Returns a matching device, sensor or area in the API's format. */
export function entityView({ id, name, area, node, score, confidence, reasons }: EntityMatch) {
  return { id, name, ...(area !== undefined && { area }), ...(node !== undefined && { node }), score, confidence, reasons: [...reasons] };
}

function formatOf({ format, strict = false }: Pick<ListQuery, 'format' | 'strict'>): ToolFormat | undefined {
  if (!strict) return format;
  if (format === 'openai') return 'strict openai';
  throw new AtmoError('VALIDATION_ERROR', 'strict goes with format=openai: the other forms have no such mode');
}

function formattedTool(catalogue: ToolCatalogue, tool: RegisteredTool, format: ToolFormat | undefined): object {
  const name = catalogue.modelName(tool);
  if (format !== undefined) return EXPORTERS[format](tool.definition, name);
  return toolView(tool, { modelName: name, obstacle: catalogue.obstacleTo(tool) });
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const MAX_QUERY = 1_000;
const TEXT_LIST = { type: 'array', items: { type: 'string' } };
const DISCOVER_ANSWER = {
  anyOf: [
    { $ref: '#/components/schemas/ToolMatches' },
    {
      type: 'object',
      required: ['registered', 'known', 'waiting'],
      properties: { registered: TEXT_LIST, known: TEXT_LIST, waiting: TEXT_LIST },
    },
  ],
};
const DISCOVER_BODY = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'what is to be done, in a sentence', maxLength: MAX_QUERY },
    limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    capability: { type: 'string' },
    category: { enum: TOOL_CATEGORIES },
    node: { type: 'string', description: 'id or name of the hub that has to have it' },
  },
};

interface DiscoverCollaborators extends ToolRouteCollaborators {
  readonly pipeline: Pick<CallPort, 'call'>;
}

/**
 * Returns the discovery route. With a sentence, it finds tools of all hubs. Without a body, it calls `hub:discover_tools`, which registers
 * missing tools of the hub, of its board and of the bootstrap file.
 */
export function discoverRoutes(collaborators: DiscoverCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/discover',
      summary:
        'With `query` the tools of all hubs that fit a sentence, best first, with scores and why; without a body seed discovery: what the hub brings or finds on its board is registered where it is missing',
      body: DISCOVER_BODY,
      answers: { 200: { description: 'matches, or what was registered', schema: DISCOVER_ANSWER } },
      async handle(request) {
        if (Object.keys(request.body).length === 0) return discoverSeed(collaborators.pipeline, request);
        const { query, limit = DEFAULT_LIMIT, ...filter } = request.body;
        if (typeof query !== 'string' || query === '' || query.length > MAX_QUERY)
          throw invalidInput(`query has to be a sentence of at most ${MAX_QUERY} characters that says what is to be done`);
        if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
          throw invalidInput(`limit has to be a whole number from 1 to ${MAX_LIMIT}`);
        return json(rankedTools(collaborators, request, { q: query, limit, ...bodyFilter(filter) }));
      },
    }),
  ];
}

async function discoverSeed(pipeline: Pick<CallPort, 'call'>, request: RouteRequest): Promise<Answer> {
  requireScope(request.header('x-caller-scopes'), 'invoke_tool');
  return bareAnswer(await answerOfTool(pipeline, request, { tool: 'hub:discover_tools', params: {} }), request);
}

function bodyFilter({ capability, category, node, ...unknown }: JsonObject) {
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw invalidInput(`${name} is not known; known are ${Object.keys(DISCOVER_BODY.properties).join(', ')}`);
  const known = TOOL_CATEGORIES.find((one) => one === category);
  if (category !== undefined && known === undefined) throw invalidInput(`category has to be one of ${TOOL_CATEGORIES.join(', ')}`);
  if (!isTextOrAbsent(capability)) throw invalidInput('capability has to be a text');
  if (!isTextOrAbsent(node)) throw invalidInput('node has to be the id or name of a hub');
  return { ...(capability !== undefined && { capability }), ...(known && { category: known }), ...(node !== undefined && { node }) };
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

const STEP_TOOL = { type: 'string', description: 'Name of the tool that the step calls' };
const PARAMETER_TYPES = { type: 'object', description: 'Parameter to type word (`int`, `string?`), or a JSON Schema' };

/** Schema of the body that registers a tool. The body is a tool in the format of the HTTP tool service, and can have `steps` or `exec`. */
const REGISTRATION_BODY = {
  type: 'object',
  required: ['description'],
  properties: {
    id: { type: 'string', description: 'Name of the tool; of an agent in the namespace agent, of the owner in custom' },
    name: { type: 'string', description: 'Title; in the public definition the name' },
    description: { type: 'string', description: 'What it does, for people and models' },
    input_schema: PARAMETER_TYPES,
    output_schema: PARAMETER_TYPES,
    permissions: { type: 'array', items: { type: 'string' }, description: 'What its caller needs beside what the steps need' },
    safety_level: { enum: ['low', 'medium', 'high'], description: 'high: a person approves each call' },
    steps: {
      type: 'array',
      maxItems: 16,
      description: 'The calls, in order; {"$param": "x"} is a parameter of the tool, {"$result": "0/x"} of the result of step 0',
      items: { type: 'object', required: ['tool'], properties: { tool: STEP_TOOL, params: { type: 'object' } } },
    },
    result: { description: 'The answer, with references; the result of the last step when absent' },
    exec: {
      type: 'object',
      description:
        'A program in place of steps (docs/sandbox.md): it runs in the sandbox, for makers who may run programs; the tool is listed as unavailable, with the reason, and answers NOT_CONFIGURED while the hub has no sandbox for it',
    },
  },
  example: {
    id: 'good_night',
    name: 'Good night',
    description: 'Turns a light off.',
    input_schema: {},
    steps: [{ tool: 'turn_off_light', params: { device_id: '<device id>' } }],
  },
};

const REGISTRATION_ROUTES = [
  toolRoute({
    method: 'POST',
    path: '/api/v1/tools',
    summary: 'Register a tool that calls tools which are there; who asks is who made it',
    tool: 'hub:register_tool',
    body: REGISTRATION_BODY,
    status: 201,
    params: ({ body }) => ({ tool: body }),
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/tools/:id',
    summary: 'Remove a registered tool: an agent its own, the owner any; what the hub brings cannot be removed',
    tool: 'hub:remove_tool',
    params: ({ path }) => ({ tool_id: path.id ?? '' }),
  }),
];

/** Returns the routes that register and remove tools. Each route calls one tool. */
export function registrationRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return REGISTRATION_ROUTES.map((route) => route(pipeline));
}

interface CapabilityCollaborators {
  readonly capabilities: CapabilityCatalogue;
  readonly home: VisibleHome;
  readonly catalogue: ToolCatalogue;
}

/** Returns the route that lists this hub's capabilities. */
export function capabilityRoutes({ capabilities, home, catalogue }: CapabilityCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities',
      isDocument: true,
      summary: 'What this hub has, with the tools that need it and the devices that come with it, as far as the caller may see them',
      answers: { 200: { description: 'capabilities', schema: { $ref: '#/components/schemas/Capabilities' } } },
      handle: ({ principal }) => json({ capabilities: capabilities.list(home.directory(principal), catalogue.visibleTo(principal)) }),
    }),
  ];
}
