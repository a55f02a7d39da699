import type { JsonObject } from '../../core/json.ts';
import { isActing, type RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toolKey } from '../../tools/definition/tool-names.ts';

/** A tool as an announcement describes it. */
export interface AnnouncedTool {
  /** The tool's `namespace:name`. */
  readonly key: string;
  readonly title: string;
  readonly description: string;
  readonly acts: boolean;
}

/** The node that sends an announcement, and the time and nonce of that announcement. */
export interface Announcer {
  readonly nodeId: string;
  readonly name: string;
  readonly nowMs: number;
  readonly nonce: string;
}

/** Maximum number of tools in an announcement (MAX_CAPABILITIES_PER_ANNOUNCE of the Atmosphere project). */
const MAX_TOOLS = 50;
const MAX_DESCRIPTION = 500;
const EXPIRY_S = 300;

/** Returns the available local tools whose `namespace:name` matches a configured pattern, in which * stands for any characters. */
export function announcedTools(tools: readonly RegisteredTool[], patterns: readonly string[]): readonly AnnouncedTool[] {
  const forms = patterns.map((pattern) => new RegExp(`^${pattern.replace(/[.]/g, '\\.').replace(/\*+/g, '.*')}$`));
  return tools
    .filter(({ hubs, isAvailable, missingSetting }) => !hubs && isAvailable?.() !== false && missingSetting?.() === undefined)
    .map((tool) => ({
      key: toolKey(tool),
      title: tool.definition.metadata.title,
      description: tool.definition.description.slice(0, MAX_DESCRIPTION),
      acts: isActing(tool.definition),
    }))
    .filter(({ key }) => forms.some((form) => form.test(key)))
    .slice(0, MAX_TOOLS);
}

/**
 * Returns the same announcement as two payloads. Newer peers read the first one, a single entry that names all tools. Older peers read the
 * second one, which has an entry per tool. A peer that reads both keeps the second one.
 */
export function announcementPayloads(by: Announcer, tools: readonly AnnouncedTool[]): readonly JsonObject[] {
  return [capabilityPayload(by, tools), gossipPayload(by, tools)];
}

function gossipPayload(by: Announcer, tools: readonly AnnouncedTool[]): JsonObject {
  const announcement = {
    type: 'announce',
    from: by.nodeId,
    capabilities: tools.map((tool) => gossipCapability(by, tool)),
    resources: null,
    endpoints: null,
    timestamp: by.nowMs / 1_000,
    ttl: 10,
    nonce: `${by.nonce}g`,
  };
  const data = Buffer.from(JSON.stringify(announcement)).toString('base64');
  return { type: 'gossip', node_id: by.nodeId, data, capabilities: tools.map(({ title }) => title) };
}

function gossipCapability(by: Announcer, { key, title, description, acts }: AnnouncedTool): JsonObject {
  return {
    // Peers keep only one entry per id. The node id at the beginning keeps the ids of different nodes distinct.
    id: `${by.nodeId}:${key}`,
    label: title,
    description,
    vector: featureVector(`${key} ${title} ${description}`),
    local: true,
    hops: 0,
    via: null,
    models: [],
    constraints: { app: by.name, tool: key, acts },
    estimated_latency_ms: 0,
  };
}

function capabilityPayload(by: Announcer, tools: readonly AnnouncedTool[]): JsonObject {
  const timestamp = by.nowMs / 1_000;
  const capability = {
    node_id: by.nodeId,
    node_name: by.name,
    capability_id: `${by.nodeId}:tools`,
    // Peers refuse an entry that lacks a field. So the model fields are present, although this entry describes no model.
    project_path: '',
    model_alias: '',
    model_actual: '',
    model_family: '',
    model_params_b: 0,
    model_tier: 'tiny',
    capability_type: 'agent/tool',
    label: by.name,
    description: tools
      .map(({ title }) => title)
      .join(', ')
      .slice(0, MAX_DESCRIPTION),
    tools: tools.map(({ key }) => key),
    has_tools: true,
    has_streaming: false,
    timestamp,
    expires_at: timestamp + EXPIRY_S,
  };
  // The relay itself sends the announcement to all nodes. A `ttl` of 1 stops these nodes from forwarding it again.
  return {
    type: 'capability_announce',
    node_id: by.nodeId,
    timestamp,
    capabilities: [capability],
    ttl: 1,
    nonce: `${by.nonce}c`,
    signature: '',
  };
}

/** Number of dimensions in the project's vectors (nomic-embed-text). Peers fail with status 500 if a vector has another number. */
const DIMENSIONS = 768;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const STEPS = 10_000;

/**
 * Returns a vector of length 1 for the words of a text. Uses feature hashing (Weinberger et al., ICML 2009), which needs no model. Texts
 * that share most of their words get similar vectors. These vectors are not comparable with those of a language model.
 */
export function featureVector(text: string): readonly number[] {
  const sums = new Float64Array(DIMENSIONS);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    let hash = FNV_OFFSET;
    for (const byte of Buffer.from(word)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
    sums[hash % DIMENSIONS] = (sums[hash % DIMENSIONS] ?? 0) + (hash & 0x80000000 ? -1 : 1);
  }
  const length = Math.hypot(...sums);
  // If the words of a text cancel each other out, the vector still gets length 1.
  if (length === 0) sums[0] = 1;
  return Array.from(sums, (sum) => Math.round((sum / (length || 1)) * STEPS) / STEPS);
}
