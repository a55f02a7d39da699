import { readdirSync } from 'node:fs';
import { type JsonObject, objectOf, objectsOf } from '../core/json.ts';
import type { CommandSpec, Completes, NameKind, OperandSpec, OptionSpec } from './command.ts';
import { COMMON_OPTIONS, findCommand } from './command-line.ts';
import { objectsIn } from './hub/answer-lists.ts';
import type { HubClient } from './hub/hub-client.ts';

/** A possible completion with its meaning. */
export interface Candidate {
  readonly text: string;
  readonly help: string;
}

/** What the person is typing: one of the candidate words, or a value. */
export type CompletionRequest =
  | { readonly kind: 'words'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'value'; readonly completes: Completes; readonly typed: string; readonly operands: readonly string[] };

/** Returns how the last word can be completed. `words` are the words after `atmo`. Returns undefined if nothing can complete the word. */
export function completionRequest(commands: readonly CommandSpec[], words: readonly string[]): CompletionRequest | undefined {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = findCommand(commands, before);
  if (!command) return candidatesFor(nextWords(commands, before), typed);
  const { awaited, operands } = readWords(command, before.slice(command.name.split(' ').length));
  const value = { typed, operands };
  if (awaited) return valueRequest(awaited, value);
  if (typed.startsWith('-')) return candidatesFor(optionCandidates(command), typed);
  const verbs = candidatesFor(nextWords(commands, before), typed);
  if (verbs) return verbs;
  const specs = command.operands ?? [];
  const spec = specs[operands.length] ?? (specs.at(-1)?.isRepeated ? specs.at(-1) : undefined);
  return spec && valueRequest(spec, value);
}

function valueRequest(spec: OperandSpec | OptionSpec, value: { readonly typed: string; readonly operands: readonly string[] }) {
  const completes = completesOf(spec);
  return completes && ({ kind: 'value', completes, ...value } as const);
}

/** Returns the first words of commands, or the second words after a given first word, such as `rename` after `device`. */
export function nextWords(commands: readonly CommandSpec[], before: readonly string[]): readonly Candidate[] {
  const depth = before.length;
  const start = before.join(' ');
  const fitting = commands.filter(({ name }) => (depth === 0 ? true : name.startsWith(`${start} `)));
  const found = new Map<string, string>();
  for (const { name, summary } of fitting) {
    const word = name.split(' ')[depth];
    if (word === undefined) continue;
    const isGroup = name.split(' ').length > depth + 1;
    found.set(word, isGroup ? (found.get(word) ?? groupHelp(fitting, word)) : summary);
  }
  return [...found].map(([text, help]) => ({ text, help }));
}

/** Returns the options of a command as people type them. */
export function optionCandidates({ options }: CommandSpec): readonly Candidate[] {
  return Object.entries({ ...options, ...COMMON_OPTIONS }).map(([name, { help }]) => ({ text: `--${name}`, help }));
}

function groupHelp(commands: readonly CommandSpec[], word: string): string {
  return commands.flatMap(({ name }) => (name.startsWith(`${word} `) ? [name.slice(word.length + 1)] : [])).join(', ');
}

function candidatesFor(candidates: readonly Candidate[], typed: string): CompletionRequest | undefined {
  const fitting = candidates.filter(({ text }) => text.startsWith(typed));
  return fitting.length > 0 ? { kind: 'words', candidates: fitting } : undefined;
}

/** Returns the operands in `words`. If the last word is an option that takes a value, also returns this option as `awaited`. */
function readWords(command: CommandSpec, words: readonly string[]) {
  const specs: Readonly<Record<string, OptionSpec>> = { ...COMMON_OPTIONS, ...command.options };
  const operands: string[] = [];
  let awaited: OptionSpec | undefined;
  for (const word of words) {
    const isValue = awaited !== undefined;
    const spec = word.startsWith('--') ? specs[word.slice(2)] : undefined;
    awaited = !isValue && spec?.value !== undefined ? spec : undefined;
    if (!isValue && !word.startsWith('-')) operands.push(word);
  }
  return { awaited, operands };
}

/** What completes a value, by the value's name in the help, such as FILE. Applies to the operands and options of all commands. */
const MEANINGS: Readonly<Record<string, Completes>> = {
  AREA: 'area',
  DEVICE: 'device',
  FILE: 'file',
  GROUP: 'group',
  HUB: 'hub',
  JOB: 'job',
  'KEY=VALUE': 'parameter',
  MEMBER: 'device',
  SCENE: 'scene',
  SENSOR: 'sensor',
  SOURCE: 'device',
  TARGET: 'device',
  TOOL: 'tool',
};

/** Returns what completes a value: `completes` of the specification, or if that is absent, the entry for the value in MEANINGS. */
function completesOf(spec: OperandSpec | OptionSpec): Completes | undefined {
  const word = 'name' in spec ? spec.name : spec.value;
  return spec.completes ?? (word === undefined ? undefined : MEANINGS[word]);
}

/** Matches `key=@PATH`. Does not match `key=@-`, which means stdin, and `key=@@TEXT`, which means the text `@TEXT`. */
const FILE_WORD = /^([^=]+=@)(?!@|-$)(.*)$/;

/** Returns the files that complete a word such as `image=@photos/do`. Returns undefined for any other word. */
export function fileCandidates(typed: string): readonly Candidate[] | undefined {
  const [, key, path] = FILE_WORD.exec(typed) ?? [];
  if (key === undefined || path === undefined) return undefined;
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const name = path.slice(folder.length);
  return entriesOf(folder === '' ? '.' : folder)
    .filter((entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')))
    .map((entry) => ({ text: `${key}${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`, help: '' }))
    .toSorted((a, b) => (a.text < b.text ? -1 : 1));
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

type Lookup = (hub: Pick<HubClient, 'get' | 'call'>, operands: readonly string[]) => Promise<readonly Candidate[]>;

const PAGE = 1_000;

/** Functions that load the names of each kind from the hub. `operands` are the operands before the typed word, such as a tool's name. */
export const LOOKUPS: Readonly<Record<NameKind, Lookup>> = {
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
  scene: async (hub) => objectsIn(await hub.get('/api/v1/scenes'), 'scenes').map(({ scene, name }) => candidate(scene, name)),
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
  application: async (hub) => {
    const grants = objectsIn(await hub.get('/api/v1/oauth/grants'), 'grants');
    return grants.map((one) => candidate(one.id, one.client_name));
  },
  agent: async (hub) => objectsIn(await hub.call('list_agents', {}), 'agents').map((one) => candidate(one.agent_id, one.status)),
  group: async (hub) => objectsOf(await hub.call('hub:list_groups', {})).map(({ id, name }) => candidate(name ?? id, `group ${id}`)),
};

function candidate(text: unknown, help: unknown): Candidate {
  return { text: String(text), help: String(help ?? '') };
}

/** Returns the short name of each tool if it is unique, else its id. */
function shortToolNames(tools: readonly JsonObject[]): readonly Candidate[] {
  const names = tools.map(({ id }) => /:([^@]+)@/.exec(String(id))?.[1] ?? String(id));
  const groups = Map.groupBy(names, (name) => name);
  return tools.map(({ id, metadata }, index) => {
    const name = names[index] ?? '';
    return candidate(groups.get(name)?.length === 1 ? name : id, objectOf(metadata).title);
  });
}

/** Returns `name=` for each parameter that is not given yet. For a boolean or an enum, returns `name=value` for each possible value. */
function parameters(tool: JsonObject, given: readonly string[]): readonly Candidate[] {
  return Object.entries(objectOf(objectOf(tool.parameters).properties))
    .filter(([name]) => !given.some((word) => word.startsWith(`${name}=`)))
    .flatMap(([name, property]) => parameterForms(name, objectOf(property)));
}

function parameterForms(name: string, { type, enum: choices, description }: JsonObject): readonly Candidate[] {
  const values = type === 'boolean' ? ['true', 'false'] : Array.isArray(choices) ? choices.map(String) : [''];
  return values.map((value) => candidate(`${name}=${value}`, description));
}
