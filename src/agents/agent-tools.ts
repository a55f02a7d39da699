import type { Json } from '../core/json.ts';
import { isoTime } from '../core/time/iso-time.ts';
import { defineTool } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { p } from '../tools/schema/parameter-builder.ts';
import { snakeJson } from '../tools/schema/snake-json.ts';
import { childId } from './agent-name.ts';
import { AGENT_STATUSES, type AgentRecord } from './agent-record.ts';
import type { AgentRunner } from './agent-runner.ts';
import { spawnAgentTool } from './spawn-agent-tool.ts';

const OWN = { category: 'managing', capabilities: ['agent_runtime'], hasSideEffects: true, isIdempotent: true, preferLocal: true } as const;
const agentId = p.string({ description: 'Id of the agent, as list_agents tells it', minLength: 1, maxLength: 256 });
const reasonParameter = p.string({ description: 'Why, for the journal and the list of agents', maxLength: 200 }).optional();
const success = { type: 'boolean', description: 'False when it had ended before' };

/** The tools that manage agents (source 000 §5, managing). */
export function agentTools(runner: AgentRunner): readonly RegisteredTool[] {
  return [spawnAgentTool(runner), killAgentTool(runner), dismissAgentTool(runner), adjustThresholdTool(runner), listAgentsTool(runner)];
}

function killAgentTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'kill_agent',
      title: 'Kill agent',
      description: 'Ends an agent and all that it spawned: their tokens are revoked, and what they run stops.',
      permissions: ['agent:kill:{agent_id}'],
      parameters: { agent_id: agentId, reason: reasonParameter },
      returns: { type: 'object', required: ['success'], properties: { success } },
    },
    async ({ agent_id: id, reason }, { principal }) => ({ success: runner.kill(id, reasonText(reason, principal.id)) }),
  );
}

/**
 * A permission names what may be ended and cannot say "what I spawned". This tool needs none for that: it only reaches ids
 * below the caller's own.
 */
function dismissAgentTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'dismiss_agent',
      title: 'Dismiss own agent',
      description: 'Ends an agent that the caller itself spawned, and all that this one spawned.',
      permissions: ['agent:spawn'],
      parameters: {
        child: p.string({
          description: "The part of the agent's id after the caller's own id and the slash",
          maxLength: 200,
          pattern: '^[a-z0-9][a-z0-9_./-]*$',
        }),
        reason: reasonParameter,
      },
      returns: { type: 'object', required: ['success'], properties: { success } },
    },
    async ({ child, reason }, { principal }) => ({ success: runner.kill(childId(principal, child), reasonText(reason, principal.id)) }),
  );
}

function adjustThresholdTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'adjust_threshold',
      title: 'Adjust threshold',
      description: 'Changes a parameter that an agent declares in its config, such as the temperature at which it acts.',
      permissions: ['agent:configure:{agent_id}'],
      tags: ['threshold', 'parameter', 'configure'],
      parameters: {
        agent_id: agentId,
        param: p.string({ description: 'Name of the parameter', minLength: 1, maxLength: 32 }),
        value: p.json({ description: 'Its new value, of the type that it has, within its bounds' }),
      },
      returns: {
        type: 'object',
        required: ['success', 'old_value'],
        properties: { success: { const: true }, old_value: { description: 'What it was' } },
      },
    },
    async ({ agent_id: id, param, value }) => ({ success: true, old_value: runner.adjust(id, param, value) }),
  );
}

function listAgentsTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'list_agents',
      title: 'List agents',
      description: 'Lists the agents that the caller and its own agents spawned, and itself; all of the hub for its owner.',
      hasSideEffects: false,
      parameters: {},
      returns: {
        type: 'object',
        required: ['agents'],
        properties: {
          agents: {
            type: 'array',
            items: {
              type: 'object',
              required: ['agent_id', 'agent_type', 'name', 'status', 'expires_at', 'runs'],
              properties: { agent_type: { type: 'string' }, status: { enum: AGENT_STATUSES }, runs: { type: 'integer' } },
            },
          },
        },
      },
    },
    async (_params, { principal }) => ({ agents: runner.list(principal).map((record) => agentView(record, runner)) }),
  );
}

/** An agent as its owner sees it: everything but the token. */
function agentView(record: AgentRecord, runner: AgentRunner): Json {
  const { lastError, lastRunAtMs, running } = record;
  return snakeJson({
    agentId: record.id,
    agentType: record.kind ?? record.type,
    name: record.name,
    status: record.status,
    parent: record.parent,
    permissions: record.permissions,
    parameters: runner.parametersOf(record),
    createdAt: isoTime(record.createdAtMs),
    expiresAt: isoTime(record.expiresAtMs),
    runs: record.runs,
    isRunning: running !== undefined,
    lastRunAt: lastRunAtMs === undefined ? undefined : isoTime(lastRunAtMs),
    lastError: lastError && { code: lastError.code, message: lastError.message, at: isoTime(lastError.atMs) },
    reason: record.reason,
  });
}

function reasonText(reason: string | undefined, by: string): string {
  return reason === undefined ? `Ended by ${by}` : `Ended by ${by}: ${reason}`;
}
