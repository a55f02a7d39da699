import type { Authorizer } from '../../core/authorizer.ts';
import type { ToolUsage, UsageRecord } from '../../tools/calls/usage-counter.ts';
import type { RegisteredTool } from '../../tools/tool-definition.ts';
import { isOwnCall, seesAllCalls } from '../calls/call-privacy.ts';
import { timeText } from '../devices/device-view.ts';
import { json } from '../door/answer.ts';
import { field } from '../door/query.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';
import type { ToolCatalogue } from './tool-catalogue.ts';

interface MonitorCollaborators {
  readonly catalogue: ToolCatalogue;
  readonly pipeline: CallPort;
  readonly authorizer: Authorizer;
}

/** The two lists that a monitor shows (source 003 §UI integration). */
export function monitorRoutes({ catalogue, pipeline, authorizer }: MonitorCollaborators): readonly Route[] {
  return [toolsRoute(catalogue), usageRoute(pipeline, authorizer)];
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

function usageRoute(pipeline: CallPort, authorizer: Authorizer): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/tools/usage',
    summary: "Calls per tool and per agent, and the newest calls: everybody's for owner and admin:audit, else the caller's own of late",
    query: { limit: field.integer('at most this many calls', 1, 500), agent: field.text('only calls of this agent') },
    answers: { 200: 'usage' },
    handle({ principal }, { limit = 100, agent }) {
      const isAll = seesAllCalls(principal, authorizer);
      const known = isAll
        ? pipeline.usageHistory()
        : pipeline.usageHistory(principal.id).filter(({ agentId }) => isOwnCall(principal, agentId));
      const recent = known.filter((record) => agent === undefined || record.agentId === agent);
      const counts = isAll ? pipeline.usage() : countedOf(known);
      const agents = pipeline.agentUsage().filter(({ agentId }) => isAll || isOwnCall(principal, agentId));
      return json({
        tools: counts.map(({ toolId, ...totals }) => ({ tool: toolId, ...totalsView(totals) })),
        agents: agents.map(({ agentId, ...totals }) => ({ agent: agentId, ...totalsView(totals) })),
        recent: recent.slice(0, limit).map(usageView),
      });
    },
  });
}

/** What these calls alone come to: the counters of the hub would tell how busy others are. */
function countedOf(records: readonly UsageRecord[]): readonly ToolUsage[] {
  const counted = [...Map.groupBy(records, (record) => record.toolId)].map(([toolId, own]) => ({
    toolId,
    calls: own.length,
    errors: own.filter((record) => record.error !== undefined).length,
    totalMs: own.reduce((sum, record) => sum + record.durationMs, 0),
    lastMs: Math.max(...own.map((record) => record.atMs)),
  }));
  return counted.sort((a, b) => b.calls - a.calls);
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

function totalsView({ calls, errors, totalMs, lastMs, lastError }: Omit<ToolUsage, 'toolId'>) {
  return { calls, errors, mean_ms: totalMs / calls, last: timeText(lastMs), last_error: lastError };
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
