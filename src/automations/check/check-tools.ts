import type { Principal } from '../../core/auth/principal.ts';
import { defineTool, p, resultSchema } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { AgentRecord } from '../agent-store.ts';
import type { CheckToolPorts } from '../automation-ports.ts';
import { agentIdParameter, ONE_PERMISSION, permissionsParameter, requireSeen } from '../definition-parameters.ts';
import { requireVisible } from '../observed.ts';
import { boundDefinition } from '../plan/bind-names.ts';
import { CONFIG_SCHEMA } from '../plan/plan-schema.ts';
import { DISPLAY_NAME } from '../plan/schema-parts.ts';
import { draftId, draftPrincipal, requireOwnPermissions } from '../spawn-checks.ts';
import { lifetimeOf } from '../token-renewal.ts';
import { conflictsWith } from './automation-check.ts';
import { FINDINGS } from './finding.ts';

/** Returns `hub:check_automation`, which checks a draft. */
export function checkAutomationTool(ports: CheckToolPorts): RegisteredTool {
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
        permissions: permissionsParameter('What it would be allowed, out of what the caller may', { example: ONE_PERMISSION }),
        name: p
          .string({
            description: 'Its name; one that lives under it is not compared with it',
            minLength: 1,
            maxLength: 64,
            pattern: DISPLAY_NAME,
          })
          .optional(),
        replaces: agentIdParameter('Instead of name: id of the automation of which it is a new definition').optional(),
        ttl_seconds: p
          .integer({ description: 'Its lifetime, as for spawn_agent; one that replaces another keeps its end', minimum: 60, unit: 's' })
          .optional(),
      },
      returns: resultSchema({ conflicts: FINDINGS }),
    },
    async ({ config, permissions, replaces, ttl_seconds: seconds, ...named }, { principal: by }) => {
      const { clock } = ports.check;
      requireOwnPermissions(permissions, by);
      const { plan } = boundDefinition(config, by, ports);
      // A sensor or device that the caller may not see counts as unknown. Otherwise, a draft would show whether it exists.
      requireVisible(plan, by, ports.check);
      const record = replaces === undefined ? undefined : requireSeen(replaces, by, ports.agents);
      const { id, name } = record ?? draftNamed(by, named.name);
      const principal = draftPrincipal(id, permissions, by);
      const endsAtMs = record ? ownEnd(record) : seconds === undefined ? endOf(by, clock.now()) : clock.now() + seconds * 1000;
      return {
        conflicts: await conflictsWith({ id, name, plan, principal, ...(endsAtMs !== undefined && { endsAtMs }) }, by, ports),
      };
    },
  );
}

function draftNamed(by: Principal, name = 'draft'): { readonly id: string; readonly name: string } {
  return { id: draftId(by, name), name };
}

function ownEnd({ renewsItself, expiresAtMs }: AgentRecord): number | undefined {
  return renewsItself ? undefined : expiresAtMs;
}

/** Returns when an automation of the caller would end without a lifetime of its own; undefined for one of the owner. */
function endOf({ kind, id, token }: Principal, nowMs: number): number | undefined {
  const { ttlMs, renewsItself } = lifetimeOf(undefined, { type: 'automation', ...(kind !== 'owner' && { parent: id }) });
  return renewsItself ? undefined : Math.min(nowMs + ttlMs, token?.expiresAtMs ?? Infinity);
}
