import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { sha256Hex } from '../../src/codec/hashes.ts';
import type { AnnouncedCapability, AnnouncedTool, HubState } from '../../src/codec/messages/announced-state.ts';
import type { Announcement } from '../../src/codec/messages/announcement.ts';
import { isoTime } from '../../src/core/clock.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';

const SIGNATURE_BYTES = 64;
/** Tools that need nothing in particular. */
const GENERAL: AnnouncedCapability = { type: 'general', description: 'Tools that need no capability' };

/** An announcement with what is known of its hub. */
export interface AnnouncementView {
  readonly announcement: Pick<Announcement, 'hubId' | 'timeMs'>;
  readonly state: HubState;
  /** The COSE_Sign1 that it came in. */
  readonly envelope: Uint8Array;
  /** Public definition by the hash in the announcement; undefined for one that was not fetched. */
  readonly definitionOf: (hash: string) => JsonObject | undefined;
}

/**
 * The `capability_announce` as JSON; the size of the CBOR form is measured against it. Its `signature` is that of the CBOR form:
 * nobody can verify it without those bytes. A tool whose definition is not known has its name only.
 */
export function announcementJson({ announcement, state, envelope, definitionOf }: AnnouncementView): JsonObject {
  const capabilityOf = ({ capability }: AnnouncedTool): AnnouncedCapability =>
    (capability === undefined ? undefined : state.capabilities[capability]) ?? GENERAL;
  const tools = Map.groupBy(state.tools, capabilityOf);
  const shown = tools.has(GENERAL) ? [...state.capabilities, GENERAL] : state.capabilities;
  return {
    type: 'capability_announce',
    node_id: announcement.hubId,
    capabilities: shown.map((capability) => ({
      type: capability.type,
      description: capability.description,
      tools: (tools.get(capability) ?? []).map((tool) => toolJson(tool, { capability, definition: definitionOf(tool.hash) })),
      ...(capability.type === 'matter_bridge' && state.devices && { devices: devicesJson(state.devices) }),
    })),
    timestamp: isoTime(announcement.timeMs),
    signature: `ed25519:${Buffer.from(envelope.subarray(-SIGNATURE_BYTES)).toString('base64url')}`,
  };
}

interface ToolFacts {
  readonly capability: AnnouncedCapability;
  readonly definition: JsonObject | undefined;
}

function toolJson({ id }: AnnouncedTool, { capability, definition }: ToolFacts): JsonObject {
  const { constraints } = capability;
  const name = id.slice(0, id.lastIndexOf('@'));
  const tool = definition?.tool;
  if (!isJsonObject(tool)) return { name, ...(constraints && { constraints }) };
  const { description = '', parameters = {} } = tool;
  return { name, description, parameters_hash: `sha256:${sha256Hex(canonicalJson(parameters))}`, ...(constraints && { constraints }) };
}

function devicesJson(devices: NonNullable<HubState['devices']>): readonly JsonObject[] {
  return devices.map(({ id, name, type, isReachable }) => ({ id, name, type, reachable: isReachable }));
}
