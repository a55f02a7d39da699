/** Groups of operations by the first part of their paths. */
const TAGS = {
  tools: 'What the hub and its devices can do: list, search, describe, register, call',
  jobs: 'Calls that go on after their request',
  devices: 'Devices with what they have and say',
  sensors: 'Readings, now and over time',
  approvals: 'Dangerous calls that wait for people, and the people who may approve',
  tokens: 'Who may call what',
  audit: 'The journal of calls, and rules over them',
  mesh: 'Other hubs',
  events: 'What happens, as a stream',
  mcp: 'Model Context Protocol',
  monitor: 'The page for people and its lists',
  hub: 'The hub itself: health, time, certificates, metrics, this document',
} as const;
type Tag = keyof typeof TAGS;

const BY_PART: Readonly<Record<string, Tag>> = {
  'tool-calls': 'tools',
  commission: 'devices',
  areas: 'devices',
  'device-names': 'devices',
  'recognised-devices': 'devices',
  approvers: 'approvals',
  rules: 'audit',
  assets: 'monitor',
  '': 'monitor',
};

/** The group of a path. */
export function tagOf(path: string): Tag {
  if (path.startsWith('/api/') && !path.startsWith('/api/v1/')) return 'monitor';
  const part = path.replace(/^\/api\/v1/, '').split('/')[1] ?? '';
  const own = Object.hasOwn(TAGS, part) ? (part as Tag) : undefined;
  return own ?? BY_PART[part] ?? 'hub';
}

/** All groups, as the document lists them. */
export const TAG_LIST: readonly object[] = Object.entries(TAGS).map(([name, description]) => ({ name, description }));
