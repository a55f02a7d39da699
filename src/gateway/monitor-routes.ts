import type { RegisteredTool } from '../tools/tool-definition.ts';
import type { ToolUsage, UsageRecord } from '../tools/usage-counter.ts';
import { json } from './answer.ts';
import { timeText } from './device-view.ts';
import type { CallPort } from './ports.ts';
import { field } from './query.ts';
import { defineRoute, type Route } from './route.ts';
import type { ToolCatalogue } from './tool-catalogue.ts';

/** The two lists that a monitor shows (source 003 §UI integration). */
export function monitorRoutes(catalogue: ToolCatalogue, pipeline: CallPort): readonly Route[] {
  return [toolsRoute(catalogue), usageRoute(pipeline)];
}

function toolsRoute(catalogue: ToolCatalogue): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/tools',
    summary: 'Every tool in short, for a monitor',
    query: { created_by: field.choice('only tools of this origin', ['system', 'agent']) },
    answers: { 200: 'tools' },
    handle(request, { created_by: createdBy }) {
      const tools = catalogue.all(request.principal, createdBy === undefined ? {} : { createdBy });
      return json({ tools: tools.map(shortView) });
    },
  });
}

function usageRoute(pipeline: CallPort): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/tools/usage',
    summary: 'Calls per tool since the start, and the newest calls',
    query: { limit: field.integer('at most this many calls', 1, 500), agent: field.text('only calls of this agent') },
    answers: { 200: 'usage' },
    handle(_request, { limit = 100, agent }) {
      const recent = pipeline.usageHistory().filter((record) => agent === undefined || record.agentId === agent);
      return json({ tools: pipeline.usage().map(countView), recent: recent.slice(0, limit).map(usageView) });
    },
  });
}

function shortView({ id, definition }: RegisteredTool) {
  return {
    id,
    name: definition.metadata.title,
    description: definition.description,
    category: definition.metadata.category,
    permissions: definition.requires.permissions,
    created_by: definition.metadata.createdBy,
  };
}

function countView({ toolId, calls, errors, totalMs, lastMs }: ToolUsage) {
  return { tool: toolId, calls, errors, mean_ms: totalMs / calls, last: timeText(lastMs) };
}

/** One record in the form of source 003 §Registry Schema: `{ts, type, tool}` and what else is known. */
function usageView({ toolId, agentId, atMs, durationMs, error }: UsageRecord) {
  return {
    ts: timeText(atMs),
    type: error === undefined ? 'result' : 'failed',
    tool: toolId,
    agent: agentId,
    duration_ms: durationMs,
    error,
  };
}
