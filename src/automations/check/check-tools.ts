import type { Principal } from '../../core/auth/principal.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';
import { defineTool, p, resultSchema, TEXT } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { AgentRunner } from '../agent-runner.ts';
import type { AgentRecord } from '../agent-store.ts';
import { requireVisible } from '../automation-access.ts';
import type { CheckToolPorts } from '../automation-ports.ts';
import { parseAutomation } from '../plan/parse-automation.ts';
import { CONFIG_SCHEMA } from '../plan/plan-schema.ts';
import { childId, idPartOf, requireOwnPermissions } from '../spawn-checks.ts';
import { lifetimeOf } from '../token-renewal.ts';
import { checkAutomation, livingAutomations, planOf } from './automation-check.ts';
import type { CheckedAutomation } from './behaviour.ts';
import { FINDING_KINDS, type Finding, SEVERITIES } from './finding.ts';

/** Pattern of a name for people: a single line of visible characters without a slash. */
export const PLAIN_NAME = `^(?!.*/)${WRITTEN_LINE.slice(1)}`;

const WINDOWS = {
  type: 'array',
  items: resultSchema({ days: { type: 'array', items: TEXT }, from: TEXT, to: TEXT }),
  description: "In the hub's local time. A window whose end is not after its start ends on the next day",
} as const;

/** Schema of findings, the gravest first. */
export const FINDINGS = {
  type: 'array',
  description: 'What may go wrong with it, the gravest first. warning: whenever it runs; note: depending on what comes together',
  items: resultSchema({
    kind: { enum: FINDING_KINDS },
    severity: { enum: SEVERITIES },
    automations: { type: 'array', items: resultSchema({ agent_id: TEXT, name: TEXT }) },
    targets: { type: 'array', items: resultSchema({ id: TEXT, name: TEXT }) },
    timeline: { type: 'array', items: resultSchema({ agent_id: TEXT, does: TEXT, windows: WINDOWS }) },
    sentence: TEXT,
    fix: TEXT,
  }),
} as const;

interface CheckFor {
  readonly runner: Pick<AgentRunner, 'list' | 'records'>;
  readonly by: Principal;
  readonly ports: CheckToolPorts;
}

/**
 * Returns the conflicts of an automation that was just made. A check that fails is only logged, because the automation exists by then; the
 * answer has no conflicts in that case.
 */
export function conflictsOf(
  { id, name, config, permissions, renewsItself, expiresAtMs }: AgentRecord,
  { runner, by, ports }: CheckFor,
): JsonObject[] | undefined {
  const { validator } = ports.check;
  const plan = planOf(config, validator);
  if (!plan) return undefined;
  const principal: Principal = { id, kind: 'agent', permissions };
  try {
    return findings({ id, name, plan, principal, ...(!renewsItself && { endsAtMs: expiresAtMs }) }, { runner, by, ports });
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    ports.logger.warn('automation.not_checked', { agent_id: id, code, problem: message });
    return undefined;
  }
}

function findings(candidate: CheckedAutomation, { runner, by, ports: { check } }: CheckFor): JsonObject[] {
  const visible = new Set(runner.list(by).map(({ id }) => id));
  const living = livingAutomations(runner.records(), { visible, validator: check.validator });
  return checkAutomation(candidate, living, check).map((finding) => copyJson(finding satisfies Finding) as JsonObject);
}

/** Returns `hub:check_automation`, which checks a draft. */
export function checkAutomationTool(runner: AgentRunner, ports: CheckToolPorts): RegisteredTool {
  return defineTool(
    {
      namespace: 'hub',
      name: 'check_automation',
      title: 'Check an automation before it lives',
      description:
        'Checks the draft of an automation against the automations that live, the rules of the owner and the permissions that it would have: opposite effects, loops, wear, conditions and triggers that never come, steps that are refused or wait at night. Makes and changes nothing.',
      category: 'managing',
      capabilities: ['agent_runtime'],
      permissions: ['agent:spawn'],
      hasSideEffects: false,
      preferLocal: true,
      tags: ['automation', 'conflict', 'check', 'draft'],
      parameters: {
        config: { ...p.record({ description: 'What it would do, as for spawn_agent' }), schema: CONFIG_SCHEMA },
        permissions: p.array(p.string({ description: 'Such as device:control:@type/light', maxLength: 320 }), {
          description: 'What it would be allowed, out of what the caller may',
          maxItems: 32,
        }),
        name: p
          .string({ description: 'Its name; one that lives under it is not compared with it', minLength: 1, maxLength: 64 })
          .optional(),
        ttl_seconds: p.integer({ description: 'Its lifetime, as for spawn_agent', minimum: 60, unit: 's' }).optional(),
      },
      returns: resultSchema({ conflicts: FINDINGS }),
    },
    async ({ config, permissions, name = 'draft', ttl_seconds: seconds }, { principal: by }) => {
      const { validator, clock } = ports.check;
      requireOwnPermissions(permissions, by);
      const plan = parseAutomation(config, validator);
      // What the caller itself may not see counts as unknown, so that a draft tells nothing about it.
      requireVisible(plan, by, ports.check);
      const id = childId(by, idPartOf(name, 'automation'));
      const endsAtMs = seconds === undefined ? endOf(by, clock.now()) : clock.now() + seconds * 1000;
      const principal: Principal = { ...(by.token && { token: by.token }), id, kind: 'agent', permissions };
      return { conflicts: findings({ id, name, plan, principal, ...(endsAtMs !== undefined && { endsAtMs }) }, { runner, by, ports }) };
    },
  );
}

/** Returns when an automation of the caller would end without a lifetime of its own; undefined for one of the owner. */
function endOf({ kind, id, token }: Principal, nowMs: number): number | undefined {
  const { ttlMs, renewsItself } = lifetimeOf(undefined, { type: 'automation', ...(kind !== 'owner' && { parent: id }) });
  return renewsItself ? undefined : Math.min(nowMs + ttlMs, token?.expiresAtMs ?? Infinity);
}
