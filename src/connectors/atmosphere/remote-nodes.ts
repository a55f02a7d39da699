import type { Clock } from '../../core/clock.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { parseShallowJson } from './shallow-json.ts';

/** A node on the relay and what it says of itself. */
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
/** Of nodes on a relay: what comes from anybody else is not even remembered. */
export const NODE_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What was heard on the relay in the last five minutes. Anybody there may have said it: it is told to who asks, and used for nothing. */
export class RemoteNodes {
  readonly #clock: Clock;
  readonly #ownId: string;
  readonly #nodes = new Map<string, RemoteNode>();
  /** When each nonce was seen, oldest first. */
  readonly #nonces = new Map<string, number>();
  #dropped = 0;

  constructor(clock: Clock, ownId: string) {
    this.#clock = clock;
    this.#ownId = ownId;
  }

  /** Messages that were no announcement, came again, were too old or came from one node too many. */
  get dropped(): number {
    return this.#dropped;
  }

  list(): readonly RemoteNode[] {
    this.#forgetExpired();
    return [...this.#nodes.values()];
  }

  /** Of `peers`, `peer_joined` and `peer_updated`: a node with the names that it entered with, until it announces. */
  add(peer: Json): void {
    if (!isJsonObject(peer) || typeof peer.node_id !== 'string') return;
    const known = this.#nodes.get(peer.node_id);
    const capabilities = known?.capabilities.length ? known.capabilities : parseCapabilities(peer.capabilities);
    this.#keep({ nodeId: peer.node_id, name: boundedLine(peer.name, MAX_NODE_NAME) || (known?.name ?? ''), capabilities });
  }

  /** Of the first of a list of them. */
  addAll(peers: Json | undefined): void {
    if (Array.isArray(peers)) for (const peer of peers.slice(0, MAX_NODES)) this.add(peer);
  }

  remove(nodeId: Json | undefined): void {
    if (typeof nodeId === 'string') this.#nodes.delete(nodeId);
  }

  receive(from: string, payload: JsonObject): void {
    const heard = parseAnnouncement(from, payload);
    if (heard && this.#isNew(`${from} ${heard.nonce}`, heard.timestampMs)) {
      this.#keep({ nodeId: from, name: this.#nodes.get(from)?.name ?? '', capabilities: heard.capabilities });
    } else this.#dropped++;
  }

  /** False for a key that came in the last five minutes already. */
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

  #keep(node: Omit<RemoteNode, 'heardAtMs'>): void {
    if (node.nodeId === this.#ownId) return;
    this.#forgetExpired();
    if (NODE_ID.test(node.nodeId) && (this.#nodes.has(node.nodeId) || this.#nodes.size < MAX_NODES)) {
      this.#nodes.set(node.nodeId, { ...node, heardAtMs: this.#clock.now() });
    } else this.#dropped++;
  }

  #forgetExpired(): void {
    for (const { nodeId, heardAtMs } of this.#nodes.values()) {
      if (this.#clock.now() - heardAtMs > EXPIRY_MS) this.#nodes.delete(nodeId);
    }
  }
}

/** What somebody on the relay says that it can do. Nothing of it is proven. */
interface RemoteCapability {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tools: readonly string[];
}

/** An announcement after its parts were bounded. */
export interface RemoteAnnouncement {
  readonly nonce: string;
  readonly timestampMs: number;
  readonly capabilities: readonly RemoteCapability[];
}

const MAX_CAPABILITIES = 50;
const MAX_CAPABILITY_NAME = 200;
const MAX_DESCRIPTION = 500;
const MAX_TOOLS = 50;
/** Of all entries of one node, characters: an announcement of fifty tools has half of it. */
const MAX_TEXT = 65_536;
const MAX_NONCE = 64;
const DIRECT_TYPES = ['capability_announce', 'capability.announce'];

/**
 * The announcement in a message's payload, in either dialect; undefined for what is none, and for what tells of another node than the
 * one that the relay says it comes from.
 */
export function parseAnnouncement(from: string, payload: JsonObject): RemoteAnnouncement | undefined {
  const direct = typeof payload.type === 'string' && DIRECT_TYPES.includes(payload.type);
  const told = direct ? payload : parseGossip(payload);
  if (!told || (direct ? told.node_id : told.from) !== from) return undefined;
  const { nonce, timestamp, capabilities } = told;
  if (typeof nonce !== 'string' || nonce === '' || nonce.length > MAX_NONCE) return undefined;
  if (typeof timestamp !== 'number' || !Array.isArray(capabilities)) return undefined;
  return { nonce, timestampMs: timestamp * 1_000, capabilities: parseCapabilities(capabilities) };
}

/** The first fifty of a list of entries, or of names alone, without those that have no id, as far as one node may have text. */
export function parseCapabilities(list: Json | undefined): readonly RemoteCapability[] {
  if (!Array.isArray(list)) return [];
  let length = 0;
  const heard = list.slice(0, MAX_CAPABILITIES).map(parseCapability);
  return heard.filter((one) => {
    length += lengthOf(one);
    return one.id !== '' && length <= MAX_TEXT;
  });
}

function lengthOf({ id, label, description, tools }: RemoteCapability): number {
  return [id, label, description, ...tools].reduce((sum, text) => sum + text.length, 0);
}

/** Text from outside as a line: bounded, without hidden characters; empty for what is no text. */
export function boundedLine(value: Json | undefined, maxLength: number): string {
  // Copied, for a slice of a text keeps all of it in memory.
  return typeof value === 'string' ? structuredClone(visibleLine(value.slice(0, maxLength), maxLength)) : '';
}

function parseGossip({ type, data }: JsonObject): JsonObject | undefined {
  if (type !== 'gossip' || typeof data !== 'string') return undefined;
  const inner = parseShallowJson(Buffer.from(data, 'base64').toString('utf8'));
  return isJsonObject(inner) && inner.type === 'announce' ? inner : undefined;
}

function parseCapability(entry: Json): RemoteCapability {
  const told = isJsonObject(entry) ? entry : { id: entry, label: entry };
  const id = boundedLine(told.capability_id ?? told.id, MAX_CAPABILITY_NAME);
  const tools = Array.isArray(told.tools) ? told.tools.slice(0, MAX_TOOLS).map((name: Json) => boundedLine(name, MAX_CAPABILITY_NAME)) : [];
  return {
    id,
    label: boundedLine(told.label, MAX_CAPABILITY_NAME),
    description: boundedLine(told.description, MAX_DESCRIPTION),
    tools: [...new Set([...tools, constrainedTool(told)])].filter((name) => name !== ''),
  };
}

function constrainedTool({ constraints }: JsonObject): string {
  return isJsonObject(constraints) ? boundedLine(constraints.tool, MAX_CAPABILITY_NAME) : '';
}
