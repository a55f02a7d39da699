import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Clock } from '../../core/time/clock.ts';
import { type HeardCapability, heardText, readAnnouncement, readCapabilities } from './heard-announcement.ts';

/** A node on the relay and what it says of itself. */
export interface HeardNode {
  readonly nodeId: string;
  readonly name: string;
  readonly heardAtMs: number;
  readonly capabilities: readonly HeardCapability[];
}

const EXPIRY_MS = 300_000;
const MAX_NODES = 64;
const MAX_NONCES = 4_096;
const MAX_NAME = 64;
/** Of nodes on a relay: what comes from anybody else is not even remembered. */
export const NODE_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What was heard on the relay in the last five minutes. Anybody there may have said it: it is told to who asks, and used for nothing. */
export class HeardNodes {
  readonly #clock: Clock;
  readonly #ownId: string;
  readonly #nodes = new Map<string, HeardNode>();
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

  list(): readonly HeardNode[] {
    this.#forgetExpired();
    return [...this.#nodes.values()];
  }

  /** Of `peers`, `peer_joined` and `peer_updated`: a node with the names that it entered with, until it announces. */
  enter(peer: Json): void {
    if (!isJsonObject(peer) || typeof peer.node_id !== 'string') return;
    const known = this.#nodes.get(peer.node_id);
    const capabilities = known?.capabilities.length ? known.capabilities : readCapabilities(peer.capabilities);
    this.#keep({ nodeId: peer.node_id, name: heardText(peer.name, MAX_NAME) || (known?.name ?? ''), capabilities });
  }

  /** Of the first of a list of them. */
  enterAll(peers: Json | undefined): void {
    if (Array.isArray(peers)) for (const peer of peers.slice(0, MAX_NODES)) this.enter(peer);
  }

  leave(nodeId: Json | undefined): void {
    if (typeof nodeId === 'string') this.#nodes.delete(nodeId);
  }

  hear(from: string, payload: JsonObject): void {
    const heard = readAnnouncement(from, payload);
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

  #keep(node: Omit<HeardNode, 'heardAtMs'>): void {
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
