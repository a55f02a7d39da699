import { LONGEST_TOKEN_SECONDS } from '../core/auth/principal.ts';
import { isoTime } from '../core/clock.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { WRITTEN_LINE } from '../core/untrusted-text.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT, type ValuesOf } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { snakeJson } from '../tools/schema/plain-json.ts';
import { type AgentRunner, childId } from './agent-runner.ts';
import { AGENT_STATUSES, type AgentRecord, type AgentType } from './agent-store.ts';
import { CONFIG_SCHEMA } from './automation-schema.ts';

const OWN = { category: 'managing', capabilities: ['agent_runtime'], hasSideEffects: true, isIdempotent: true, preferLocal: true } as const;
const agentId = p.string({ description: 'Id of the agent, as list_agents tells it', minLength: 1, maxLength: 256 });
const reasonParameter = p.string({ description: 'Why, for the journal and the list of agents', maxLength: 200 }).optional();
const success = { type: 'boolean', description: 'False when it had ended before' };

/** Returns the tools that manage agents. */
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
      returns: resultSchema({ success }),
    },
    async ({ agent_id: id, reason }, { principal }) => ({ success: runner.kill(id, reasonText(reason, principal.id)) }),
  );
}

/**
 * Returns the tool with which an agent ends its descendants. A permission for `kill_agent` names the agent to end; it cannot say "all
 * descendants of the caller". This tool needs no such permission, because it can end only descendants of the caller.
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
      returns: resultSchema({ success }),
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
      returns: resultSchema({ success: { const: true }, old_value: { description: 'What it was' } }),
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
      returns: resultSchema({
        agents: {
          type: 'array',
          items: {
            type: 'object',
            required: ['agent_id', 'agent_type', 'name', 'status', 'expires_at', 'runs'],
            properties: { agent_type: TEXT, kind: TEXT, status: { enum: AGENT_STATUSES }, runs: INTEGER },
          },
        },
      }),
    },
    async (_params, { principal }) => ({ agents: runner.list(principal).map((record) => agentView(record, runner)) }),
  );
}

/** Returns the public view of an agent, without its token. */
function agentView(record: AgentRecord, runner: AgentRunner): Json {
  const { lastError, lastRunAtMs, running } = record;
  return snakeJson({
    agentId: record.id,
    agentType: record.type,
    kind: record.kind,
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

const DEFAULT_TTL_SECONDS = 86_400;

/** Pattern of a single line of visible characters without a slash. */
const PLAIN = `^(?!.*/)${WRITTEN_LINE.slice(1)}`;
const AUTOMATION = 'automation';
const EXTERNAL = 'external';

const PARAMETERS = {
  agent_type: p.string({
    description: 'automation: runs in this hub. Any other word, such as external or researcher: a process elsewhere that holds the token',
    minLength: 1,
    maxLength: 64,
    pattern: PLAIN,
  }),
  name: p.string({ description: 'Name for people; its id is made of it', minLength: 1, maxLength: 64, pattern: PLAIN }).optional(),
  config: { ...p.record({ description: 'What it does' }).optional(), schema: CONFIG_SCHEMA },
  permissions: p
    .array(p.string({ description: 'Such as sensor:read:* or device:control:@type/light', maxLength: 320 }), {
      description: 'What it may do, out of what the caller may; at least one',
      maxItems: 32,
    })
    .optional(),
  ttl_seconds: p.integer({
    description: 'Its lifetime; never longer than that of the caller, and never below the minute by which clocks of hubs may differ',
    minimum: 60,
    maximum: LONGEST_TOKEN_SECONDS,
    default: DEFAULT_TTL_SECONDS,
    unit: 's',
  }),
};

const RETURNS = resultSchema({
  agent_id: { ...TEXT, description: "The caller's id, a slash and a name; the name alone when the owner spawns" },
  status: TEXT,
  token: { ...TEXT, 'x-secret': true, description: 'Its bearer token, shown this once' },
  expires_at: INSTANT,
});

/** Canonical parameters of `spawn_agent`. `kind` is the caller's own word for an external agent; the schema lets no caller set it. */
type CanonicalSpawn = ValuesOf<typeof PARAMETERS> & { readonly kind?: string };

/** Replaces any other word for an external agent by `external`, so that a rule about `external` applies to it. Keeps the word as `kind`. */
function canonicalSpawn(params: CanonicalSpawn): JsonObject {
  const { agent_type: word } = params;
  return { ...params, ...(word !== AUTOMATION && word !== EXTERNAL && { agent_type: EXTERNAL, kind: word }) };
}

/** Returns `spawn_agent`, which starts an automation of this hub, or mints a token for an external process. */
function spawnAgentTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      name: 'spawn_agent',
      isDestructive: true,
      title: 'Spawn agent',
      description:
        'Makes an agent with a token of its own that can do at most what the caller can. An automation runs in this hub: triggers set off tool calls. An external agent is a process elsewhere that uses the token.',
      category: 'managing',
      capabilities: ['agent_runtime'],
      permissions: ['agent:spawn'],
      hasSideEffects: true,
      timeoutMs: 10_000,
      preferLocal: true,
      tags: ['automation', 'agent', 'rule', 'schedule'],
      parameters: PARAMETERS,
      canonicalize: canonicalSpawn,
      returns: RETURNS,
      examples: [
        {
          description: 'A light on when a sensor sees less than 50 lx; ids are those of list_devices and list_sensors',
          params: {
            agent_type: 'automation',
            name: 'light-at-dusk',
            permissions: ['sensor:read:*', 'device:control:@type/light'],
            config: {
              parameters: { dark: { value: 50, minimum: 1, maximum: 500, unit: 'lx' } },
              trigger: { type: 'reading', sensor_id: '<device id>/illuminance', below: { param: 'dark' }, hysteresis: 10 },
              conditions: [{ type: 'time', after: '06:00', before: '23:00' }],
              actions: [{ tool: 'turn_on_light', params: { device_id: '<device id>' } }],
            },
          },
        },
      ],
    },
    async ({ agent_type: word, kind, name, config = {}, permissions = [], ttl_seconds: ttlSeconds }: CanonicalSpawn, { principal }) => {
      const type: AgentType = word === AUTOMATION ? AUTOMATION : EXTERNAL;
      const facts = { ...(kind !== undefined && { kind }), ...(name !== undefined && { name }) };
      const request = { type, config, permissions, ttlMs: ttlSeconds * 1000, ...facts };
      const { record, token } = runner.spawn(request, principal);
      return { agent_id: record.id, status: record.status, token, expires_at: isoTime(record.expiresAtMs) };
    },
  );
}
