import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { NameKind } from '../command.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { objectsIn } from '../hub/json-list.ts';
import type { Candidate } from './completion-request.ts';

type Hub = Pick<HubClient, 'get' | 'call'>;
type Lookup = (hub: Hub, operands: readonly string[]) => Promise<readonly Candidate[]>;

const PAGE = 1_000;

/** Names of a kind that the hub knows; `operands` are those typed before, such as the tool of a parameter. */
export function lookUpNames(kind: NameKind, hub: Hub, operands: readonly string[]): Promise<readonly Candidate[]> {
  return LOOKUPS[kind](hub, operands);
}

const LOOKUPS: Readonly<Record<NameKind, Lookup>> = {
  tool: async (hub) => shortToolNames(objectsIn(await hub.get('/api/v1/tools', { limit: PAGE }), 'tools')),
  parameter: async (hub, [tool = '', ...given]) => parameters(await hub.get(`/api/v1/tools/${encodeURIComponent(tool)}`), given),
  device: async (hub) => {
    const devices = objectsIn(await hub.get('/api/v1/devices'), 'devices');
    return devices.map(({ id, name, area }) => candidate(id, typeof area === 'string' ? `${name}, ${area}` : name));
  },
  area: async (hub) => {
    const areas = objectsIn(await hub.get('/api/v1/devices'), 'devices').flatMap(({ area }) => (typeof area === 'string' ? [area] : []));
    return [...new Set(areas)].map((area) => candidate(area, 'area'));
  },
  sensor: async (hub) => {
    const sensors = objectsIn(await hub.get('/api/v1/sensors'), 'sensors');
    return sensors.map(({ id, value, unit }) =>
      candidate(id, [value, unit].filter((part) => part !== null && part !== undefined).join(' ')),
    );
  },
  hub: async (hub) => objectsIn(await hub.get('/api/v1/mesh'), 'peers').flatMap(({ id, name }) => [candidate(name ?? id, id)]),
  job: async (hub) => objectsIn(await hub.get('/api/v1/jobs'), 'jobs').map((job) => candidate(job.job_id, `${job.tool}, ${job.status}`)),
  approval: async (hub) => {
    const requests = objectsIn(await hub.get('/api/v1/approvals'), 'approvals').filter(({ state }) => state === 'pending');
    return requests.map((one) => candidate(one.approval_id, one.summary));
  },
  token: async (hub) => {
    const tokens = objectsIn(await hub.get('/api/v1/tokens'), 'tokens').filter(({ state }) => state === 'valid');
    return tokens.map((one) => candidate(one.token_id, one.agent_id));
  },
  agent: async (hub) => objectsFrom(await hub.call('list_agents', {}), 'agents').map((one) => candidate(one.agent_id, one.status)),
  group: async (hub) => {
    const groups = await hub.call('hub:list_groups', {});
    return (Array.isArray(groups) ? groups.filter(isJsonObject) : []).map(({ id, name }) => candidate(name ?? id, `group ${id}`));
  },
};

function candidate(text: unknown, help: unknown): Candidate {
  return { text: String(text), help: String(help ?? '') };
}

function objectsFrom(answer: unknown, member: string): readonly JsonObject[] {
  return isJsonObject(answer) ? objectsIn(answer, member) : [];
}

/** Tools by the name alone where one tool has it, else by their whole id. */
function shortToolNames(tools: readonly JsonObject[]): readonly Candidate[] {
  const names = tools.map(({ id }) => /:([^@]+)@/.exec(String(id))?.[1] ?? String(id));
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return tools.map(({ id, metadata }, index) => {
    const name = names[index] ?? '';
    return candidate(counts.get(name) === 1 ? name : id, isJsonObject(metadata) ? metadata.title : '');
  });
}

/** `name=` for each parameter that is not given yet; with its values where there are few. */
function parameters(tool: JsonObject, given: readonly string[]): readonly Candidate[] {
  const schema = isJsonObject(tool.parameters) ? tool.parameters : {};
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  return Object.entries(properties)
    .filter(([name]) => !given.some((word) => word.startsWith(`${name}=`)))
    .flatMap(([name, property]) => parameterForms(name, isJsonObject(property) ? property : {}));
}

function parameterForms(name: string, { type, enum: choices, description }: JsonObject): readonly Candidate[] {
  const values = type === 'boolean' ? ['true', 'false'] : Array.isArray(choices) ? choices.map(String) : [''];
  return values.map((value) => candidate(`${name}=${value}`, description));
}
