import type { Clock } from '../../core/clock.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { parseShallowJson } from './shallow-json.ts';

/** A node on the relay with the capabilities that it claims, without proof. */
export interface RemoteNode {
  readonly nodeId: string;
  readonly name: string;
  readonly heardAtMs: number;
  readonly capabilities: readonly RemoteCapability[];
}

const EXPIRY_MS = 300_000;
const MAX_NODES = 64;
const MAX_NONCES = 4_096;
const MAX_NODE_NAME = 64;
/** Pattern of a node id on a relay. Messages with another sender id are dropped. */
export const NODE_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** The nodes that were heard on the relay in the last five minutes, and their announcements. All of it is unverified: only tools use it. */
export class RemoteNodes {
  readonly #clock: Clock;
  readonly #ownId: string;
  readonly #nodes = new Map<string, RemoteNode>();
  /** Time at which each nonce was received, oldest first. */
  readonly #nonces = new Map<string, number>();
  /** Number of dropped messages: malformed, repeated, too old, or above the maximum number of nodes. */
  dropped = 0;

  constructor(clock: Clock, ownId: string) {
    this.#clock = clock;
    this.#ownId = ownId;
  }

  list(): readonly RemoteNode[] {
    this.#deleteExpired();
    return [...this.#nodes.values()];
  }

  /** Adds a node from a `peers`, `peer_joined` or `peer_updated` message. Its capabilities are used until the node announces its own. */
  add(peer: Json): void {
    if (!isJsonObject(peer) || typeof peer.node_id !== 'string') return;
    const known = this.#nodes.get(peer.node_id);
    const capabilities = known?.capabilities.length ? known.capabilities : parseCapabilities(peer.capabilities);
    this.#set({ nodeId: peer.node_id, name: boundedLine(peer.name, MAX_NODE_NAME) || (known?.name ?? ''), capabilities });
  }

  addAll(peers: Json | undefined): void {
    if (Array.isArray(peers)) for (const peer of peers.slice(0, MAX_NODES)) this.add(peer);
  }

  remove(nodeId: Json | undefined): void {
    if (typeof nodeId === 'string') this.#nodes.delete(nodeId);
  }

  receive(from: string, payload: JsonObject): void {
    const announcement = parseAnnouncement(from, payload);
    if (announcement && this.#isNew(`${from} ${announcement.nonce}`, announcement.timestampMs)) {
      this.#set({ nodeId: from, name: this.#nodes.get(from)?.name ?? '', capabilities: announcement.capabilities });
    } else this.dropped++;
  }

  /** Stores a key and returns true. Returns false if the key was already received in the last five minutes. */
  isFirst(key: string): boolean {
    return this.#isNew(key, this.#clock.now());
  }

  #isNew(key: string, timestampMs: number): boolean {
    const nowMs = this.#clock.now();
    if (Math.abs(nowMs - timestampMs) > EXPIRY_MS) return false;
    for (const [old, seenMs] of this.#nonces) {
      if (nowMs - seenMs <= EXPIRY_MS && this.#nonces.size < MAX_NONCES) break;
      this.#nonces.delete(old);
    }
    if (this.#nonces.has(key)) return false;
    this.#nonces.set(key, nowMs);
    return true;
  }

  #set(node: Omit<RemoteNode, 'heardAtMs'>): void {
    if (node.nodeId === this.#ownId) return;
    this.#deleteExpired();
    if (NODE_ID.test(node.nodeId) && (this.#nodes.has(node.nodeId) || this.#nodes.size < MAX_NODES)) {
      this.#nodes.set(node.nodeId, { ...node, heardAtMs: this.#clock.now() });
    } else this.dropped++;
  }

  #deleteExpired(): void {
    for (const { nodeId, heardAtMs } of this.#nodes.values()) {
      if (this.#clock.now() - heardAtMs > EXPIRY_MS) this.#nodes.delete(nodeId);
    }
  }
}

/** A capability that a node on the relay claims, without proof. */
interface RemoteCapability {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tools: readonly string[];
}

/** A parsed announcement; its texts are cut to the limits. */
interface RemoteAnnouncement {
  readonly nonce: string;
  readonly timestampMs: number;
  readonly capabilities: readonly RemoteCapability[];
}

const MAX_CAPABILITIES = 50;
const MAX_CAPABILITY_NAME = 200;
const MAX_DESCRIPTION = 500;
const MAX_TOOLS = 50;
/** Maximum number of characters in all capabilities of a node together. An announcement of fifty tools has about half as many. */
const MAX_TEXT = 65_536;
const MAX_NONCE = 64;
const DIRECT_TYPES = ['capability_announce', 'capability.announce'];

/**
 * Parses an announcement in either of two formats: `capability_announce` or gossip. Returns undefined for any other payload. Also returns
 * undefined if the announcement names a node that is not the sender of the message.
 */
export function parseAnnouncement(from: string, payload: JsonObject): RemoteAnnouncement | undefined {
  const direct = typeof payload.type === 'string' && DIRECT_TYPES.includes(payload.type);
  const content = direct ? payload : parseGossip(payload);
  if (!content || (direct ? content.node_id : content.from) !== from) return undefined;
  const { nonce, timestamp, capabilities } = content;
  if (typeof nonce !== 'string' || nonce === '' || nonce.length > MAX_NONCE) return undefined;
  if (typeof timestamp !== 'number' || !Array.isArray(capabilities)) return undefined;
  return { nonce, timestampMs: timestamp * 1_000, capabilities: parseCapabilities(capabilities) };
}

/** Parses at most fifty capabilities (objects or names). Drops capabilities without an id, and those above a node's text limit. */
export function parseCapabilities(list: Json | undefined): readonly RemoteCapability[] {
  if (!Array.isArray(list)) return [];
  let length = 0;
  const capabilities = list.slice(0, MAX_CAPABILITIES).map(parseCapability);
  return capabilities.filter(({ id, label, description, tools }) => {
    length += [id, label, description, ...tools].join('').length;
    return id !== '' && length <= MAX_TEXT;
  });
}

/** Returns an untrusted text as one line, cut to `maxLength` and without hidden characters. Returns an empty text if `value` is no text. */
export function boundedLine(value: Json | undefined, maxLength: number): string {
  // The text is copied, since a slice would keep the whole original text in memory.
  return typeof value === 'string' ? structuredClone(visibleLine(value.slice(0, maxLength), maxLength)) : '';
}

function parseGossip({ type, data }: JsonObject): JsonObject | undefined {
  if (type !== 'gossip' || typeof data !== 'string') return undefined;
  const inner = parseShallowJson(Buffer.from(data, 'base64').toString('utf8'));
  return isJsonObject(inner) && inner.type === 'announce' ? inner : undefined;
}

function parseCapability(entry: Json): RemoteCapability {
  const claim: JsonObject = isJsonObject(entry) ? entry : { id: entry, label: entry };
  const { id, capability_id, label, description, tools, constraints } = claim;
  const names = [...(Array.isArray(tools) ? tools.slice(0, MAX_TOOLS) : []), isJsonObject(constraints) ? constraints.tool : undefined];
  const nameOf = (value: Json | undefined) => boundedLine(value, MAX_CAPABILITY_NAME);
  return {
    id: nameOf(capability_id ?? id),
    label: nameOf(label),
    description: boundedLine(description, MAX_DESCRIPTION),
    tools: [...new Set(names.map(nameOf))].filter((name) => name !== ''),
  };
}
