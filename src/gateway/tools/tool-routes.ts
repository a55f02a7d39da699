import { AtmoError } from '../../core/errors.ts';
import { CATEGORIES, type RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { KnownToolFilter } from '../../tools/elsewhere/known-tools.ts';
import type { HomeSearchResult, HomeToolMatch } from '../../tools/search/home-search.ts';
import type { EntityMatch, ToolMatch } from '../../tools/search/search.ts';
import type { CallerSight } from '../devices/caller-sight.ts';
import { json } from '../door/answer.ts';
import { field, type QueryOf } from '../door/query.ts';
import { type DoorRequest, defineRoute, type Route } from '../door/route.ts';
import type { ToolCatalogue } from './tool-catalogue.ts';
import { exportedTool, TOOL_FORMATS, type ToolFormat, toolView } from './tool-view.ts';

const FORMAT = field.choice('the form that a model API takes, instead of our own', TOOL_FORMATS);
const STRICT = field.flag('with format=openai: parameters for the strict mode, where what may be left out is null');
const NODE = field.text('only tools that this hub has, by id or name; with it also those that a tool here has the name of');
const LIST_QUERY = {
  q: field.text('best matches for a sentence, ranked'),
  device: field.text('only tools of this device, by id or unique name'),
  area: field.text('only tools of devices in this area'),
  capability: field.text('only tools that need this capability'),
  category: field.choice('only this category', CATEGORIES),
  created_by: field.choice('only tools of this origin', ['system', 'agent']),
  node: NODE,
  format: FORMAT,
  strict: STRICT,
  unavailable: field.flag('with format: also tools that the owner has not configured; without format these are listed, as not available'),
  limit: field.integer('at most this many, 100 by default', 1, 1_000),
  cursor: field.integer('`next_cursor` of the page before', 0, 1_000_000),
};
type ListQuery = QueryOf<typeof LIST_QUERY>;

/** What lists of tools are made from. */
export interface ToolRouteCollaborators {
  readonly catalogue: ToolCatalogue;
  readonly sight: CallerSight;
}

/** The registry: list, search and describe. */
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
        const isMeantOnly = format !== undefined;
        const own = filterOf(collaborators, request, query);
        const filter = { ...own, isReadyOnly, isMeantOnly, limit: query.limit ?? 100, offset: query.cursor ?? 0 };
        const page = catalogue.page(request.principal, filter);
        return json({
          tools: page.tools.map((tool) => shown(catalogue, tool, format)),
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
        json(shown(catalogue, catalogue.resolve(request.principal, request.path.id ?? '', node), formatOf(form))),
    }),
  ];
}

/** A device that is not there for the caller is an error: an empty list would hide the slip of a pen. */
function filterOf({ sight }: ToolRouteCollaborators, { principal }: DoorRequest, query: ListQuery): KnownToolFilter {
  const { device, area, capability, category, created_by: createdBy, node } = query;
  return {
    ...(device !== undefined && { device: sight.deviceId(principal, device) }),
    ...(area !== undefined && { isInArea: (own: string) => sight.isIn(own, area) }),
    ...(capability !== undefined && { capability }),
    ...(category !== undefined && { category }),
    ...(createdBy !== undefined && { createdBy }),
    ...(node !== undefined && { node }),
  };
}

/** What fits the sentence `q` best, with scores and why, and what almost does. */
export function rankedTools(collaborators: ToolRouteCollaborators, request: DoorRequest, query: ListQuery): object {
  const { catalogue } = collaborators;
  const wanted = { text: query.q ?? '', limit: query.limit ?? 20 };
  const found = catalogue.find(request.principal, wanted, filterOf(collaborators, request, query));
  const { matches, nearMisses, isUnsure: unsure } = found;
  const format = formatOf(query);
  if (format !== undefined) {
    const isMeant = catalogue.meantBy(request.principal);
    return { tools: matches.filter(({ tool }) => isMeant(tool)).map(({ tool }) => shown(catalogue, tool, format)), unsure };
  }
  const view = ({ tool, score, confidence, reasons, params }: HomeToolMatch) => ({
    ...shown(catalogue, tool, undefined),
    score,
    confidence,
    reasons,
    ...(params && { suggested_parameters: params }),
  });
  return {
    tools: matches.map(view),
    unsure,
    ...asideView(found),
    near_misses: nearMisses.map(view),
    readings: found.readings.map(thingView),
    devices: found.devices.map(thingView),
    areas: found.areas.map(thingView),
  };
}

/** What is said beside the matches: which of several devices may be meant, and that a language is not known. */
function asideView({ whichOne, isForAll, note }: Pick<HomeSearchResult, 'whichOne' | 'isForAll' | 'note'>) {
  const candidate = ({ tool: { id, definition }, confidence }: ToolMatch) => {
    const { title, device = '', area = null } = definition.metadata;
    return { tool: id, title, device, area, confidence };
  };
  const which = { question: isForAll ? 'All of them?' : 'Which one?', candidates: whichOne.map(candidate) };
  return { ...(whichOne.length > 1 && { which_one: which }), ...(note !== undefined && { note }) };
}

/** A device, reading or area that a sentence is about. */
export function thingView({ id, name, area, node, score, confidence, reasons }: EntityMatch) {
  return { id, name, ...(area !== undefined && { area }), ...(node !== undefined && { node }), score, confidence, reasons: [...reasons] };
}

function formatOf({ format, strict = false }: Pick<ListQuery, 'format' | 'strict'>): ToolFormat | undefined {
  if (!strict) return format;
  if (format === 'openai') return 'strict openai';
  throw new AtmoError('VALIDATION_ERROR', 'strict goes with format=openai: the other forms have no such mode');
}

function shown(catalogue: ToolCatalogue, tool: RegisteredTool, format: ToolFormat | undefined): object {
  const name = catalogue.modelName(tool);
  if (format !== undefined) return exportedTool(tool, name, format);
  return toolView(tool, { modelName: name, obstacle: catalogue.obstacleTo(tool) });
}
