import { covers, coversSome, type Grant, NO_GROUPS, parseGrant, parsePermission } from '../../core/auth/permission.ts';
import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { type CheckResult, guardedCheck } from './check-result.ts';

/** Checks one tool that an agent cannot use, in four steps: called, schema, execution, result. */
export async function toolChecks(hub: HubClient, name: string): Promise<readonly CheckResult[]> {
  let tool: JsonObject;
  try {
    tool = await hub.get(`/api/v1/tools/${encodeURIComponent(name)}`);
  } catch (thrown) {
    return [{ check: 'tool is registered', state: 'failed', found: toAtmoError(thrown).message, advice: 'atmo tools lists what there is' }];
  }
  const offered = await hub.get(`/api/v1/tools/${encodeURIComponent(name)}`, { format: 'openai' });
  const usage = await hub.get('/api/tools/usage', { limit: 500 });
  const calls = objectsIn(usage, 'recent').filter((record) => record.tool === tool.id);
  return [...nameChecks(name, tool, offered), ...schemaChecks(tool), executionCheck(calls), resultCheck(calls)];
}

function nameChecks(name: string, tool: JsonObject, offered: JsonObject): readonly CheckResult[] {
  const id = String(tool.id);
  const isExact = name === id || name === id.split('@')[0];
  const model = isJsonObject(offered.function) ? offered.function.name : undefined;
  return [
    { check: 'tool is registered', state: 'ok', found: id },
    isExact
      ? { check: 'name matches exactly', state: 'ok', found: name }
      : { check: 'name fits one tool', state: 'ok', found: `${name} means ${id}` },
    typeof model === 'string'
      ? { check: 'model gets the tool', state: 'ok', found: `as ${model}`, advice: `look for ${model} in the tools of the request` }
      : {
          check: 'model gets the tool',
          state: 'failed',
          found: 'no function form',
          advice: 'atmo tools --format openai shows what models get',
        },
  ];
}

/** Root of type object, and a type and a description for each property. */
export function schemaChecks(tool: JsonObject): readonly CheckResult[] {
  const schema = isJsonObject(tool.parameters) ? tool.parameters : {};
  const properties = Object.entries(isJsonObject(schema.properties) ? schema.properties : {});
  const bare = properties.filter(
    ([, property]) => !isJsonObject(property) || !hasType(property) || typeof property.description !== 'string',
  );
  const names = bare.map(([name]) => name).join(', ');
  return [
    schema.type === 'object'
      ? { check: 'schema has root type object', state: 'ok', found: 'object' }
      : { check: 'schema has root type object', state: 'failed', found: String(schema.type), advice: 'wrap the parameters in an object' },
    bare.length === 0
      ? { check: 'properties have type and description', state: 'ok', found: `${properties.length} properties` }
      : { check: 'properties have type and description', state: 'warning', found: names, advice: 'models guess what is not described' },
  ];
}

function hasType(property: JsonObject): boolean {
  return ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref'].some((keyword) => keyword in property);
}

function executionCheck(calls: readonly JsonObject[]): CheckResult {
  // A call that waited for a person is none that went wrong.
  const failures = calls.filter((record) => record.type === 'failed' && record.error !== 'APPROVAL_REQUIRED');
  const [last] = failures;
  if (!last) return { check: 'execution', state: 'ok', found: `${calls.length} calls, none failed` };
  const found = `${failures.length} of ${calls.length} calls failed, the last with ${last.error} at ${last.ts}`;
  return {
    check: 'execution',
    state: 'warning',
    found,
    advice: 'call it alone with atmo call; the log has details under the same trace id',
  };
}

function resultCheck(calls: readonly JsonObject[]): CheckResult {
  const answered = calls.filter((record) => record.type === 'result').length;
  if (answered > 0) {
    const advice =
      'if the agent ignores results: its next request must carry them as tool messages, and its step limit must allow one more step';
    return { check: 'results', state: 'ok', found: `${answered} results were answered`, advice };
  }
  return {
    check: 'results',
    state: 'warning',
    found: 'no result since the hub started',
    advice: 'the agent has not called it: see the checks above',
  };
}

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
