import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { CATEGORIES } from '../../tools/definition/tool-definition.ts';
import { answerOfTool, bareAnswer } from '../calls/tool-route.ts';
import { type Answer, json } from '../door/answer.ts';
import { requireScope } from '../door/door.ts';
import { type DoorRequest, defineRoute, type Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';
import { rankedTools, type ToolRouteCollaborators } from './tool-routes.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const MAX_QUERY = 1_000;
const texts = { type: 'array', items: { type: 'string' } };
const FOUND = {
  anyOf: [
    { $ref: '#/components/schemas/ToolMatches' },
    { type: 'object', required: ['registered', 'known', 'waiting'], properties: { registered: texts, known: texts, waiting: texts } },
  ],
};
const BODY = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'what is to be done, in a sentence', maxLength: MAX_QUERY },
    limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    capability: { type: 'string' },
    category: { enum: CATEGORIES },
    node: { type: 'string', description: 'id or name of the hub that has to have it' },
  },
};

interface DiscoverCollaborators extends ToolRouteCollaborators {
  readonly pipeline: Pick<CallPort, 'call'>;
}

/**
 * Finds tools of the whole mesh from a sentence (source 000 §3, discovery queries). Without a sentence it registers what the
 * hub brings and finds on its board (source 003, seed discovery), which is a call of `hub:discover_tools`.
 */
export function discoverRoutes(collaborators: DiscoverCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/discover',
      summary:
        'With `query` the tools of all hubs that fit a sentence, best first, with scores and why; without a body seed discovery: what the hub brings or finds on its board is registered where it is missing',
      body: BODY,
      answers: { 200: { description: 'matches, or what was registered', schema: FOUND } },
      async handle(request) {
        if (Object.keys(request.body).length === 0) return seed(collaborators.pipeline, request);
        const { query, limit = DEFAULT_LIMIT, ...filter } = request.body;
        if (typeof query !== 'string' || query === '' || query.length > MAX_QUERY)
          throw wrong(`query has to be a sentence of at most ${MAX_QUERY} characters that says what is to be done`);
        if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
          throw wrong(`limit has to be a whole number from 1 to ${MAX_LIMIT}`);
        return json(rankedTools(collaborators, request, { q: query, limit, ...filterOf(filter) }));
      },
    }),
  ];
}

async function seed(pipeline: Pick<CallPort, 'call'>, request: DoorRequest): Promise<Answer> {
  requireScope(request.header('x-caller-scopes'), 'invoke_tool');
  return bareAnswer(await answerOfTool(pipeline, request, { tool: 'hub:discover_tools', params: {} }), request);
}

function filterOf({ capability, category, node, ...unknown }: JsonObject) {
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw wrong(`${name} is not known; known are ${Object.keys(BODY.properties).join(', ')}`);
  const known = CATEGORIES.find((one) => one === category);
  if (category !== undefined && known === undefined) throw wrong(`category has to be one of ${CATEGORIES.join(', ')}`);
  if (!isTextOrAbsent(capability)) throw wrong('capability has to be a text');
  if (!isTextOrAbsent(node)) throw wrong('node has to be the id or name of a hub');
  return { ...(capability !== undefined && { capability }), ...(known && { category: known }), ...(node !== undefined && { node }) };
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function wrong(message: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', message);
}
