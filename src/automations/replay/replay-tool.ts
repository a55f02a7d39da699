import type { Principal, RateLimiter } from '../../core/auth/principal.ts';
import { invalidInput } from '../../core/errors.ts';
import { type JsonObject, objectOf } from '../../core/json.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT, type ValuesOf } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { CheckToolPorts } from '../automation-ports.ts';
import { agentIdParameter, ONE_PERMISSION, permissionsParameter, requireSeen, unknownAutomation } from '../definition-parameters.ts';
import { requireVisible } from '../observed.ts';
import { boundDefinition } from '../plan/bind-names.ts';
import { type AutomationPlan, CONFIG_SCHEMA } from '../plan/plan-schema.ts';
import { draftId, draftPrincipal, requireOwnPermissions } from '../spawn-checks.ts';
import type { AutomationReplayer } from './automation-replay.ts';
import { GAP_KINDS } from './past-gaps.ts';

const MAX_DAYS = 30;

const PARAMETERS = {
  agent_id: agentIdParameter('Id of an automation, as list_agents tells it').optional(),
  config: {
    ...p.record({ description: 'Instead of agent_id: what a draft would do, as for spawn_agent' }).optional(),
    schema: CONFIG_SCHEMA,
  },
  permissions: permissionsParameter('For a draft: what it would be allowed, out of what the caller may', {
    example: ONE_PERMISSION,
  }).optional(),
  days: p.integer({ description: 'How many days back; 30 when absent', minimum: 1, maximum: MAX_DAYS, unit: 'd' }).optional(),
};

const RETURNS = resultSchema({
  runs: { ...INTEGER, description: 'How often it would have run' },
  nights: { ...INTEGER, description: 'How many of the runs would have begun between 1 and 5 at night, in the time zone of the hub' },
  since: { ...INSTANT, description: 'The beginning of the time that was looked at' },
  incomplete: {
    type: 'array',
    description: 'What its triggers and conditions look at and of which not all was kept, so that runs may be missing',
    items: resultSchema({ kind: { enum: GAP_KINDS }, id: TEXT, until: INSTANT, text: TEXT }, ['until']),
  },
  list: {
    type: 'array',
    description: 'The latest 100 runs, the newest first',
    items: resultSchema({
      at: INSTANT,
      trigger: { type: 'object', description: 'The trigger, as in its config' },
      would: { type: 'array', items: TEXT, description: 'What each of its calls would have done' },
    }),
  },
});

/** An automation to replay, with the permissions that its calls have. */
interface Replayed {
  readonly plan: AutomationPlan;
  readonly principal: Principal;
}

interface ReplayToolPorts {
  readonly replayer: AutomationReplayer;
  readonly limiter: Pick<RateLimiter, 'charge'>;
  readonly tools: CheckToolPorts;
}

/** Returns `replay_automation`, which says what an automation would have done in the past. */
export function replayAutomationTool(ports: ReplayToolPorts): RegisteredTool {
  return defineTool(
    {
      name: 'replay_automation',
      title: 'Replay an automation over the past',
      description:
        'Tells when an automation, or the draft of one, would have run in the last days and what it would have done, from the readings and events of the house that were kept. Calls and changes nothing.',
      category: 'managing',
      capabilities: ['agent_runtime'],
      // The history of a month tells more than what an automation may see now.
      permissions: ['agent:replay:house'],
      hasSideEffects: false,
      preferLocal: true,
      timeoutMs: 60_000,
      tags: ['automation', 'draft', 'history', 'past'],
      parameters: PARAMETERS,
      returns: RETURNS,
    },
    async (params, context) => {
      const { principal: by, signal } = context;
      const { plan, principal } = replayedOf(params, by, ports.tools);
      // When a value crossed a limit tells what the sensor showed, so that the caller needs the same permissions as the automation.
      for (const who of [by, principal]) requireVisible(plan, who, ports.tools.check);
      ports.limiter.charge(by);
      return objectOf(copyJson(await ports.replayer.replay(plan, principal, { days: params.days ?? MAX_DAYS, viewer: by, signal })));
    },
  );
}

function replayedOf({ agent_id: id, config, permissions }: ValuesOf<typeof PARAMETERS>, by: Principal, ports: CheckToolPorts): Replayed {
  if ((id === undefined) === (config === undefined)) throw invalidInput('Write either agent_id or config');
  return config === undefined ? livingOf(id ?? '', by, ports) : draftOf(config, permissions ?? [], { by, ports });
}

function livingOf(id: string, by: Principal, { agents }: CheckToolPorts): Replayed {
  const record = requireSeen(id, by, agents);
  const plan = agents.planOf(record);
  if (!plan) throw unknownAutomation(id);
  return { plan, principal: { id, kind: 'agent', permissions: record.permissions } };
}

function draftOf(
  config: JsonObject,
  permissions: readonly string[],
  { by, ports }: { readonly by: Principal; readonly ports: CheckToolPorts },
): Replayed {
  requireOwnPermissions(permissions, by);
  const principal = draftPrincipal(draftId(by), permissions, by);
  return { plan: boundDefinition(config, by, ports).plan, principal };
}
