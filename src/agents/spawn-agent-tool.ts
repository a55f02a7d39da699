import { LONGEST_TOKEN_SECONDS } from '../core/access/token-authority.ts';
import { WRITTEN_LINE } from '../core/foreign-text.ts';
import { isoTime } from '../core/time/iso-time.ts';
import { defineTool } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { p } from '../tools/schema/parameter-builder.ts';
import type { AgentType } from './agent-record.ts';
import type { AgentRunner } from './agent-runner.ts';
import { CONFIG_SCHEMA } from './automations/automation-schema.ts';

const DEFAULT_TTL_SECONDS = 86_400;

/** Characters that people see, and no slash. */
const PLAIN = `^(?!.*/)${WRITTEN_LINE.slice(1)}`;
const AUTOMATION = 'automation';

const PARAMETERS = {
  agent_type: p.string({
    description: 'automation: runs in this hub. Any other word, such as external or researcher: a process elsewhere that holds the token',
    minLength: 1,
    maxLength: 64,
    pattern: PLAIN,
  }),
  name: p
    .string({
      description: 'Name for people; its id is made of it',
      minLength: 1,
      maxLength: 64,
      pattern: PLAIN,
    })
    .optional(),
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
    async ({ agent_type: kind, name, config = {}, permissions = [], ttl_seconds: ttlSeconds }, { principal }) => {
      const type: AgentType = kind === AUTOMATION ? AUTOMATION : 'external';
      const request = { type, kind, config, permissions, ttlMs: ttlSeconds * 1000, ...(name !== undefined && { name }) };
      const { record, token } = runner.spawn(request, principal);
      return { agent_id: record.id, status: record.status, token, expires_at: isoTime(record.expiresAtMs) };
    },
  );
}
