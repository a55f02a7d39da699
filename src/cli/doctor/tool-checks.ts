import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { objectsIn } from '../hub/json-list.ts';
import type { CheckResult } from './check-result.ts';

/** The check list for one tool that an agent cannot use (source 004 §Debugging Tool Issues): called, schema, execution, result. */
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
