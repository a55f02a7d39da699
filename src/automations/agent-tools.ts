import { LONGEST_TOKEN_SECONDS } from '../core/auth/principal.ts';
import { isoTime } from '../core/clock.ts';
import { type Json, type JsonObject, objectOf } from '../core/json.ts';
import { defineTool, INSTANT, INTEGER, OBJECTS, p, resultSchema, TEXT, type ValuesOf } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { AgentRunner } from './agent-runner.ts';
import { AGENT_STATUSES, type AgentRecord, type AgentType } from './agent-store.ts';
import type { CheckToolPorts } from './automation-ports.ts';
import { agentView, automationView } from './automation-view.ts';
import { conflictsOf } from './check/automation-check.ts';
import { FINDINGS } from './check/finding.ts';
import { agentIdParameter, permissionsParameter, SOME_PERMISSIONS } from './definition-parameters.ts';
import { CONFIG_SCHEMA } from './plan/plan-schema.ts';
import { DISPLAY_NAME, IDENTIFIER } from './plan/schema-parts.ts';
import { childId } from './spawn-checks.ts';

const OWN = { category: 'managing', capabilities: ['agent_runtime'], hasSideEffects: true, isIdempotent: true, preferLocal: true } as const;
const agentId = agentIdParameter('Id of the agent, as list_agents tells it');
const reasonParameter = p.string({ description: 'Why, for the journal and the list of agents', maxLength: 200 }).optional();
const success = { type: 'boolean', description: 'False when it had ended before' };

/** Returns the tools that manage agents. */
export function agentTools(runner: AgentRunner, ports: CheckToolPorts): readonly RegisteredTool[] {
  return [
    spawnAgentTool(runner, ports),
    killAgentTool(runner),
    dismissAgentTool(runner),
    adjustThresholdTool(runner),
    setAgentEnabledTool(runner),
    renewAgentTool(runner),
    postToWebhookTool(runner),
    listAgentsTool(runner),
    listAutomationsTool(runner, ports),
  ];
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
    async ({ agent_id: id, reason }, { principal }) => ({ success: runner.kill(id, { by: principal.id, reason }) }),
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
    async ({ child, reason }, { principal }) => ({ success: runner.kill(childId(principal, child), { by: principal.id, reason }) }),
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

function setAgentEnabledTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'set_agent_enabled',
      title: 'Enable or disable an automation',
      description:
        'Disables an automation, which then never runs, also after a restart of the hub, or enables it again. A run in progress is given up.',
      permissions: ['agent:configure:{agent_id}'],
      tags: ['automation', 'pause', 'resume', 'disable', 'enable'],
      parameters: { agent_id: agentId, enabled: p.boolean({ description: 'False disables it, true enables it' }) },
      returns: resultSchema({ changed: { type: 'boolean', description: 'False when it was so before' } }),
    },
    async ({ agent_id: id, enabled }, { principal }) => ({ changed: runner.setEnabled(id, enabled, principal) }),
  );
}

function renewAgentTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'renew_agent',
      title: 'Renew an automation',
      description:
        'Gives an automation a new end. Without ttl_seconds, one of the owner has no end any more, and one of an agent lives for a day. One whose time is over starts again.',
      isIdempotent: false,
      permissions: ['agent:configure:{agent_id}'],
      tags: ['automation', 'extend', 'lifetime', 'end'],
      parameters: { agent_id: agentId, ttl_seconds: lifetime('How long it lives from now on') },
      returns: resultSchema({ expires_at: INSTANT, renews_itself: RENEWS }),
    },
    async ({ agent_id: id, ttl_seconds: seconds }, { principal }) => {
      const { expiresAtMs, renewsItself } = runner.renew(id, seconds === undefined ? undefined : seconds * 1000, principal);
      return { expires_at: isoTime(expiresAtMs), renews_itself: renewsItself === true };
    },
  );
}

function postToWebhookTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'post_to_webhook',
      title: 'Post to a webhook of an automation',
      description: 'Sets off the automations whose trigger is this webhook. What is posted becomes a fact of the run.',
      isIdempotent: false,
      permissions: ['agent:configure:{agent_id}'],
      tags: ['automation', 'webhook', 'trigger'],
      parameters: {
        agent_id: agentId,
        webhook: p.string({ description: 'Name of the webhook, as the trigger has it', pattern: IDENTIFIER }),
        body: p.record({ description: 'What steps read as trigger.body, at most 4 KB' }).optional(),
      },
      returns: resultSchema({
        received: { type: 'boolean', description: 'False if no trigger of the automation has this name, or it is disabled' },
      }),
    },
    async ({ agent_id: id, webhook, body }) => ({ received: runner.post(id, webhook, body ?? {}) }),
  );
}

const RENEWS = { type: 'boolean', description: 'True when it has no end: the hub gives it a new token before expires_at' } as const;

function lifetime(description: string) {
  return p.integer({ description, minimum: 60, maximum: LONGEST_TOKEN_SECONDS, unit: 's' }).optional();
}

/** Returns `list_automations`, which the page shows. `list_agents` is shorter, so that language models need not read all triggers. */
function listAutomationsTool(runner: AgentRunner, ports: CheckToolPorts): RegisteredTool {
  return defineTool(
    {
      ...OWN,
      name: 'list_automations',
      title: 'List automations in full',
      description:
        'Lists the automations that the caller sees in list_agents, with triggers, conditions, the tools that they call, and how the last run ended.',
      hasSideEffects: false,
      parameters: {},
      returns: resultSchema({
        automations: {
          type: 'array',
          items: {
            type: 'object',
            required: ['agent_id', 'name', 'status', 'triggers', 'conditions', 'actions', 'runs', 'expires_at', 'renews_itself'],
            properties: {
              agent_id: TEXT,
              name: TEXT,
              status: TEXT,
              triggers: OBJECTS,
              conditions: OBJECTS,
              actions: OBJECTS,
              runs: INTEGER,
              expires_at: INSTANT,
              renews_itself: RENEWS,
            },
          },
        },
      }),
    },
    async (_params, { principal }) => {
      const automations = ports.agents.list(principal).filter(({ type }) => type === AUTOMATION);
      return {
        automations: automations.map((record) => ({
          ...objectOf(viewOf(record, runner)),
          ...automationView(ports.agents.planOf(record), principal, ports),
          renews_itself: record.renewsItself === true,
        })),
      };
    },
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
            properties: {
              agent_id: TEXT,
              agent_type: TEXT,
              kind: TEXT,
              name: TEXT,
              status: { enum: [...AGENT_STATUSES, 'disabled'] },
              expires_at: INSTANT,
              runs: INTEGER,
            },
          },
        },
      }),
    },
    async (_params, { principal }) => ({ agents: runner.directory.list(principal).map((record) => viewOf(record, runner)) }),
  );
}

function viewOf(record: AgentRecord, runner: AgentRunner): Json {
  return agentView(record, { nextRunAtMs: runner.nextRunMs(record), parameters: runner.directory.parametersOf(record) });
}

const AUTOMATION = 'automation';
const EXTERNAL = 'external';

const PARAMETERS = {
  agent_type: p.string({
    description: 'automation: runs in this hub. Any other word, such as external or researcher: a process elsewhere that holds the token',
    minLength: 1,
    maxLength: 64,
    pattern: DISPLAY_NAME,
  }),
  name: p.string({ description: 'Name for people; its id is made of it', minLength: 1, maxLength: 64, pattern: DISPLAY_NAME }).optional(),
  config: { ...p.record({ description: 'What it does' }).optional(), schema: CONFIG_SCHEMA },
  permissions: permissionsParameter('What it may do, out of what the caller may; at least one', { example: SOME_PERMISSIONS }).optional(),
  ttl_seconds: lifetime(
    'Its lifetime; never longer than that of the caller, and never below the minute by which clocks of hubs may differ. When absent, an automation of the owner has no end, and any other agent lives for a day',
  ),
};

const RETURNS = resultSchema(
  {
    agent_id: { ...TEXT, description: "The caller's id, a slash and a name; the name alone when the owner spawns" },
    status: TEXT,
    token: { ...TEXT, 'x-secret': true, description: 'Its bearer token, shown this once' },
    expires_at: INSTANT,
    renews_itself: RENEWS,
    conflicts: FINDINGS,
  },
  ['conflicts'],
);

/** Canonical parameters of `spawn_agent`. `kind` is the caller's own word for an external agent; the schema lets no caller set it. */
type CanonicalSpawn = ValuesOf<typeof PARAMETERS> & { readonly kind?: string };

/** Replaces any other word for an external agent by `external`, so that a rule about `external` applies to it. Keeps the word as `kind`. */
function canonicalSpawn(params: CanonicalSpawn): JsonObject {
  const { agent_type: word } = params;
  return { ...params, ...(word !== AUTOMATION && word !== EXTERNAL && { agent_type: EXTERNAL, kind: word }) };
}

/** Returns `spawn_agent`, which starts an automation of this hub, or mints a token for an external process. */
function spawnAgentTool(runner: AgentRunner, ports: CheckToolPorts): RegisteredTool {
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
      const request = { type, config, permissions, ttlMs: ttlSeconds === undefined ? undefined : ttlSeconds * 1000, ...facts };
      const { record, token } = runner.spawn(request, principal);
      const { id, status, expiresAtMs, renewsItself = false } = record;
      const conflicts = type === AUTOMATION ? await conflictsOf(record, principal, ports) : undefined;
      return {
        agent_id: id,
        status,
        token,
        expires_at: isoTime(expiresAtMs),
        renews_itself: renewsItself,
        ...(conflicts && { conflicts }),
      };
    },
  );
}
