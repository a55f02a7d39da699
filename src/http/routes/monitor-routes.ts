import type { ToolRegistrar } from '../../calls/registration/tool-registrar.ts';
import type { ToolUsage, UsageCounter, UsageRecord } from '../../calls/usage.ts';
import type { Authorizer } from '../../core/auth/principal.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toHdnRecord } from '../../tools/formats/hdn-record.ts';
import { type ExecRecord, execJson } from '../../tools/programs/program-tool.ts';
import type { HealthSource } from '../ports.ts';
import { json } from '../server/answer.ts';
import { field } from '../server/query.ts';
import { defineRoute, type Route } from '../server/route.ts';
import type { ToolCatalogue } from '../tool-catalogue.ts';
import { isOwnCall, seesAllCalls } from '../visible-home.ts';
import { timeText } from './device-view.ts';

interface MonitorCollaborators {
  readonly catalogue: ToolCatalogue;
  readonly usage: Pick<UsageCounter, 'tools' | 'agents' | 'history'>;
  readonly authorizer: Authorizer;
  readonly health: HealthSource;
  readonly registrations: Pick<ToolRegistrar, 'record' | 'isManagedBy'>;
}

/** Returns the routes for a monitoring page: the tools and their usage. */
export function monitorRoutes(collaborators: MonitorCollaborators): readonly Route[] {
  return [toolsRoute(collaborators), usageRoute(collaborators)];
}

/** Returns the route that lists the tools. A tool that nobody registered has the hub's start as its creation time. */
function toolsRoute({ catalogue, health, registrations }: MonitorCollaborators): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/tools',
    summary: 'Every tool as a record of the HTTP tool service, for a monitor',
    query: { created_by: field.choice('only tools of this origin', ['system', 'agent']) },
    answers: { 200: { description: 'tools', schema: { $ref: '#/components/schemas/ToolRecords' } } },
    handle(request, { created_by: createdBy }) {
      const tools = catalogue.all(request.principal, createdBy === undefined ? {} : { createdBy });
      const { startedAtMs } = health.health();
      return json({
        tools: tools.map((tool) => {
          const { createdAtMs = startedAtMs, exec } = registrations.record(tool.id) ?? {};
          // A command line may reveal details of this machine, so only callers who manage the tool see it.
          const program = exec && registrations.isManagedBy(request.principal, tool.id) && { exec };
          return recordView(tool, { createdAtMs, isAvailable: catalogue.obstacleTo(tool) === undefined, ...program });
        }),
      });
    },
  });
}

function usageRoute({ usage, authorizer }: MonitorCollaborators): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/tools/usage',
    summary: "Calls per tool and per agent, and the newest calls: everybody's for owner and admin:audit, else the caller's own of late",
    query: { limit: field.integer('at most this many calls', 1, 500), agent: field.text('only calls of this agent') },
    answers: { 200: { description: 'usage', schema: { $ref: '#/components/schemas/Usage' } } },
    handle({ principal }, { limit = 100, agent }) {
      const isAll = seesAllCalls(principal, authorizer);
      const known = isAll ? usage.history() : usage.history(principal.id).filter(({ agentId }) => isOwnCall(principal, agentId));
      const recent = known.filter((record) => agent === undefined || record.agentId === agent);
      const counts = isAll ? usage.tools() : countedOf(known);
      const agents = usage.agents().filter(({ agentId }) => isAll || isOwnCall(principal, agentId));
      return json({
        tools: counts.map(({ toolId, ...totals }) => ({ tool: toolId, ...totalsView(totals) })),
        agents: agents.map(({ agentId, ...totals }) => ({ agent: agentId, ...totalsView(totals) })),
        recent: recent.slice(0, limit).map(usageView),
      });
    },
  });
}

/** Counts the given calls per tool. The hub's own counters are not used, since they would reveal the calls of other callers. */
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

/** Facts about a tool for a monitoring page. The tool's definition does not contain them. */
interface RecordStatus {
  readonly createdAtMs: number;
  readonly isAvailable: boolean;
  readonly exec?: ExecRecord;
}

function recordView({ definition }: RegisteredTool, { createdAtMs, isAvailable, exec }: RecordStatus) {
  const program = exec && { exec: execJson(exec) };
  return { ...toHdnRecord(definition, createdAtMs), ...program, category: definition.metadata.category, available: isAvailable };
}

function totalsView({ calls, errors, totalMs, lastMs, lastError }: Omit<ToolUsage, 'toolId'>) {
  return { calls, errors, mean_ms: totalMs / calls, last: timeText(lastMs), last_error: lastError };
}

/** Returns a call in the format of the HTTP tool service: `{ts, type, tool}` and further fields. */
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
