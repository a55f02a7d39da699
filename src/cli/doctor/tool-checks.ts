import { covers, coversSome, type Grant, NO_GROUPS, parseGrant, parsePermission } from '../../core/auth/permission.ts';
import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import { type CheckResult, type Finding, failed, guardedCheck, named, ok, warning } from '../../doctor/check-result.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';

/** Finds out why an agent cannot use a tool. Checks the tool's name, its schema, its latest calls and their results. */
export async function toolChecks(hub: HubClient, name: string): Promise<readonly CheckResult[]> {
  let tool: JsonObject;
  try {
    tool = await hub.get(`/api/v1/tools/${encodeURIComponent(name)}`);
  } catch (thrown) {
    return [named('tool is registered', failed(toAtmoError(thrown).message, 'atmo tools lists what there is'))];
  }
  const offered = await hub.get(`/api/v1/tools/${encodeURIComponent(name)}`, { format: 'openai' });
  const usage = await hub.get('/api/tools/usage', { limit: 500 });
  const calls = objectsIn(usage, 'recent').filter((record) => record.tool === tool.id);
  return [...nameChecks(name, tool, offered), ...schemaChecks(tool), ...callChecks(calls)];
}

function nameChecks(name: string, tool: JsonObject, offered: JsonObject): readonly CheckResult[] {
  const id = String(tool.id);
  const isExact = name === id || name === id.split('@')[0];
  const model = objectOf(offered.function).name;
  return [
    named('tool is registered', ok(id)),
    isExact ? named('name matches exactly', ok(name)) : named('name fits one tool', ok(`${name} means ${id}`)),
    named(
      'model gets the tool',
      typeof model === 'string'
        ? { ...ok(`as ${model}`), advice: `look for ${model} in the tools of the request` }
        : failed('no function form', 'atmo tools --format openai shows what models get'),
    ),
  ];
}

/** Checks that the root of the schema is an object, and that each property has a type and a description. */
export function schemaChecks(tool: JsonObject): readonly CheckResult[] {
  const { type, properties } = objectOf(tool.parameters);
  const entries = Object.entries(objectOf(properties));
  const bare = entries.filter(([, property]) => !isJsonObject(property) || !hasType(property) || typeof property.description !== 'string');
  const names = bare.map(([name]) => name).join(', ');
  return [
    named('schema has root type object', type === 'object' ? ok('object') : failed(String(type), 'wrap the parameters in an object')),
    named(
      'properties have type and description',
      bare.length === 0 ? ok(`${entries.length} properties`) : warning(names, 'models guess what is not described'),
    ),
  ];
}

function hasType(property: JsonObject): boolean {
  return ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref'].some((keyword) => keyword in property);
}

function callChecks(calls: readonly JsonObject[]): readonly CheckResult[] {
  return [named('execution', executionFinding(calls)), named('results', resultFinding(calls))];
}

function executionFinding(calls: readonly JsonObject[]): Finding {
  // A call that waited for an approval is not a failure.
  const failures = calls.filter((record) => record.type === 'failed' && record.error !== 'APPROVAL_REQUIRED');
  const [last] = failures;
  if (!last) return ok(`${calls.length} calls, none failed`);
  const found = `${failures.length} of ${calls.length} calls failed, the last with ${last.error} at ${last.ts}`;
  return warning(found, 'call it alone with atmo call; after an INTERNAL_ERROR it tells how to find the reason in the log');
}

function resultFinding(calls: readonly JsonObject[]): Finding {
  const answered = calls.filter((record) => record.type === 'result').length;
  if (answered === 0) return warning('no result since the hub started', 'the agent has not called it: see the checks above');
  const advice =
    'if the agent ignores results: its next request must carry them as tool messages, and its step limit must allow one more step';
  return { ...ok(`${answered} results were answered`), advice };
}

interface AgentCase {
  /** Client with the person's own token. */
  readonly hub: HubClient;
  readonly agent: HubClient;
  readonly token: string;
  readonly toolName: string;
}

/** Finds out why an agent's token cannot use a tool: checks the token, its permissions, and whether people must approve the call. */
export async function agentChecks({ hub, agent, token, toolName }: AgentCase): Promise<readonly CheckResult[]> {
  const path = `/api/v1/tools/${encodeURIComponent(toolName)}`;
  let facts: JsonObject = {};
  const holds = await guardedCheck("the agent's token", async () => {
    facts = objectOf(await hub.call('hub:show_token', { token }));
    return tokenFinding(facts);
  });
  return [
    holds,
    await guardedCheck('the agent may call it', async () => permissionFinding(await hub.get(path), textsOf(facts.permissions))),
    await guardedCheck('the agent sees it', async () => {
      if (facts.needs_proof === true) return { state: 'warning', found: 'only the agent can ask, its key is its own' };
      return ok(`as ${(await agent.get(path)).id}`);
    }),
    await guardedCheck('it runs at once', async () => dangerFinding(await hub.get(path))),
  ];
}

function tokenFinding({ state, reason, agent_id: agent, expires_at: until, needs_proof: needsProof }: JsonObject): Finding {
  if (state !== 'valid') return failed(`${state}: ${reason ?? ''}`, 'atmo token mint makes a new one');
  if (needsProof !== true) return ok(`${agent}, until ${until}`);
  const advice = 'each request has to carry the header Atmo-Proof, signed with that key';
  return warning(`${agent}, until ${until}; bound to a key of its own`, advice);
}

function permissionFinding(tool: JsonObject, granted: readonly string[]): Finding {
  const grants = granted.map(parseGrant).filter((grant) => grant !== undefined);
  const required = textsOf(objectOf(tool.requires).permissions);
  const missing = required.filter((permission) => !grants.some((grant) => mayCover(grant, permission)));
  if (missing.length === 0) return ok(required.join(', ') || 'needs no permission');
  const allow = missing.map((permission) => `--allow ${permission}`).join(' ');
  return failed(`lacks ${missing.join(', ')}`, `mint a token with ${allow}`);
}

/** Returns whether a grant may cover a permission. If either contains a group or a placeholder, compares only the actions. */
function mayCover(grant: Grant, permission: string): boolean {
  const [namespace = '', action = ''] = permission.split(':');
  if (permission.includes('{') || grant.kind === 'group' || grant.kind === 'section') return coversSome(grant, { namespace, action });
  const required = parsePermission(permission);
  return required !== undefined && covers(grant, required, NO_GROUPS);
}

function dangerFinding({ dangerous }: JsonObject): Finding {
  if (dangerous !== true) return ok('is not dangerous by itself');
  return warning('waits for the approval of a person', 'atmo approvals lists what waits, atmo approve ID agrees');
}
