import { covers, coversSome, type Grant, NO_GROUPS, parseGrant, parsePermission } from '../../core/access/permission.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { HubClient } from '../hub/hub-client.ts';
import type { CheckResult } from './check-result.ts';
import { guardedCheck } from './guarded-check.ts';

interface AgentCase {
  /** Who looks into it. */
  readonly hub: HubClient;
  /** Speaks with the agent's token. */
  readonly agent: HubClient;
  readonly token: string;
  readonly toolName: string;
}

/** Why the bearer of a token cannot use a tool: the token, its permissions, what waits for people. */
export async function agentChecks({ hub, agent, token, toolName }: AgentCase): Promise<readonly CheckResult[]> {
  const path = `/api/v1/tools/${encodeURIComponent(toolName)}`;
  let facts: JsonObject = {};
  const holds = await guardedCheck("the agent's token", async () => {
    const shown = await hub.call('hub:show_token', { token });
    facts = isJsonObject(shown) ? shown : {};
    return tokenFinding(facts);
  });
  return [
    holds,
    await guardedCheck('the agent may call it', async () => permissionFinding(await hub.get(path), textsIn(facts.permissions))),
    await guardedCheck('the agent sees it', async () => {
      if (facts.needs_proof === true) return { state: 'warning', found: 'only the agent can ask, its key is its own' };
      return { state: 'ok', found: `as ${(await agent.get(path)).id}` };
    }),
    await guardedCheck('it runs at once', async () => dangerFinding(await hub.get(path))),
  ];
}

type Finding = Omit<CheckResult, 'check'>;

function tokenFinding({ state, reason, agent_id: agent, expires_at: until, needs_proof: needsProof }: JsonObject): Finding {
  if (state !== 'valid') return { state: 'failed', found: `${state}: ${reason ?? ''}`, advice: 'atmo token mint makes a new one' };
  if (needsProof !== true) return { state: 'ok', found: `${agent}, until ${until}` };
  const advice = 'each request has to carry the header Atmo-Proof, signed with that key';
  return { state: 'warning', found: `${agent}, until ${until}; bound to a key of its own`, advice };
}

function permissionFinding(tool: JsonObject, granted: readonly string[]): Finding {
  const grants = granted.map(parseGrant).filter((grant) => grant !== undefined);
  const required = textsIn(isJsonObject(tool.requires) ? tool.requires.permissions : undefined);
  const missing = required.filter((permission) => !grants.some((grant) => mayCover(grant, permission)));
  if (missing.length === 0) return { state: 'ok', found: required.join(', ') || 'needs no permission' };
  const allow = missing.map((permission) => `--allow ${permission}`).join(' ');
  return { state: 'failed', found: `lacks ${missing.join(', ')}`, advice: `mint a token with ${allow}` };
}

/** Which devices a group has, and what fills a template, only the hub knows at the call: here it counts as covered. */
function mayCover(grant: Grant, permission: string): boolean {
  const [namespace = '', action = ''] = permission.split(':');
  if (permission.includes('{') || grant.kind === 'group') return coversSome(grant, { namespace, action });
  const required = parsePermission(permission);
  return required !== undefined && covers(grant, required, NO_GROUPS);
}

function dangerFinding({ dangerous }: JsonObject): Finding {
  if (dangerous !== true) return { state: 'ok', found: 'is not dangerous by itself' };
  return {
    state: 'warning',
    found: 'waits for the approval of a person',
    advice: 'atmo approvals lists what waits, atmo approve ID agrees',
  };
}

function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
