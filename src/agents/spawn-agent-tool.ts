import { isoTime } from '../core/time/iso-time.ts';
import { defineTool } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { p } from '../tools/schema/parameter-builder.ts';
import { AGENT_TYPES } from './agent-record.ts';
import type { AgentRunner } from './agent-runner.ts';
import { CONFIG_SCHEMA } from './automations/automation-schema.ts';

const DEFAULT_TTL_SECONDS = 86_400;
const LONGEST_TTL_SECONDS = 366 * 86_400;

const PARAMETERS = {
  agent_type: p.enum(AGENT_TYPES, { description: 'automation: runs in this hub; external: a process that holds the token' }),
  name: p
    .string({ description: 'Name for people; its id is made of it', minLength: 1, maxLength: 64, pattern: '^[^/\\p{C}]+$' })
    .optional(),
  config: { ...p.record({ description: 'What it does' }).optional(), schema: CONFIG_SCHEMA },
  permissions: p
    .array(p.string({ description: 'Such as device:control:lamp', maxLength: 320 }), {
      description: 'What it may do, out of what the caller may; at least one',
      maxItems: 32,
    })
    .optional(),
  ttl_seconds: p.integer({
    description: 'Its lifetime; never longer than that of the caller',
    minimum: 60,
    maximum: LONGEST_TTL_SECONDS,
    default: DEFAULT_TTL_SECONDS,
    unit: 's',
  }),
};

const RETURNS = {
  type: 'object',
  required: ['agent_id', 'status', 'token', 'expires_at'],
  properties: {
    agent_id: { type: 'string', description: "The caller's id, a slash and a name; the name alone when the owner spawns" },
    status: { type: 'string' },
    token: { type: 'string', 'x-secret': true, description: 'Its bearer token, shown this once' },
    expires_at: { type: 'string', format: 'date-time' },
  },
};

/** `spawn_agent` (source 000 §8.5): an automation of this hub, or a token for a process elsewhere. */
export function spawnAgentTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      name: 'spawn_agent',
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
      returns: RETURNS,
      examples: [
        {
          description: 'Lamp on when the hall gets dark',
          params: {
            agent_type: 'automation',
            name: 'hall-light',
            permissions: ['sensor:read:hall-sensor/illuminance', 'device:control:hall-lamp'],
            config: {
              parameters: { dark: { value: 50, minimum: 1, maximum: 500, unit: 'lx' } },
              trigger: { type: 'reading', sensor_id: 'hall-sensor/illuminance', below: { param: 'dark' }, hysteresis: 10 },
              conditions: [{ type: 'time', after: '06:00', before: '23:00' }],
              actions: [{ tool: 'matter:hall_lamp_turn_on', params: {} }],
            },
          },
        },
      ],
    },
    async ({ agent_type: type, name, config = {}, permissions = [], ttl_seconds: ttlSeconds }, { principal }) => {
      const request = { type, config, permissions, ttlMs: ttlSeconds * 1000, ...(name !== undefined && { name }) };
      const { record, token } = runner.spawn(request, principal);
      return { agent_id: record.id, status: record.status, token, expires_at: isoTime(record.expiresAtMs) };
    },
  );
}
