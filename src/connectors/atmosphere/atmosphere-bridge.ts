import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/service.ts';
import type { Clock } from '../../core/time/clock.ts';
import { repeat } from '../../core/time/repeat.ts';
import type { AgentCalls } from '../agent-calls.ts';
import { type AnnouncedTool, announcementPayloads } from './announcement.ts';
import { HeardNodes, NODE_ID } from './heard-nodes.ts';
import { IncomingCalls } from './incoming-calls.ts';
import { OutgoingCalls } from './outgoing-calls.ts';
import type { RelayConnection, RelayRoom } from './relay-connection.ts';

interface BridgeParts {
  readonly clock: Clock;
  /** Makes the connection; it is started with the bridge. */
  readonly connect: (room: Omit<RelayRoom, 'url' | 'entry' | 'nodeId'>) => RelayConnection;
  /** What the owner lets out, as it is now. */
  readonly tools: () => readonly AnnouncedTool[];
  readonly newId: () => string;
  /** Undefined where the owner takes no calls. */
  readonly calls: AgentCalls | undefined;
}

/** Who this hub is on the relay. */
interface BridgeNode {
  readonly nodeId: string;
  readonly name: string;
}

const ANNOUNCE_MS = 30_000;

/** Announces tools of this hub on a relay of the Atmosphere project, and keeps what others announce there. */
export class AtmosphereBridge implements Service {
  readonly nodes: HeardNodes;
  readonly outgoing: OutgoingCalls;
  readonly #with: BridgeParts;
  readonly #own: BridgeNode;
  readonly #incoming: IncomingCalls;
  readonly #connection: RelayConnection;
  #stop = () => {};

  constructor(parts: BridgeParts, own: BridgeNode) {
    this.#with = parts;
    this.#own = own;
    const { clock, connect, tools, newId, calls } = parts;
    this.nodes = new HeardNodes(clock, own.nodeId);
    const send = (target: string, payload: JsonObject) => this.#connection.send({ type: 'direct', target, payload });
    this.outgoing = new OutgoingCalls({ send, newId });
    const isAnnounced = (name: string) => tools().some(({ key }) => key === name);
    this.#incoming = new IncomingCalls({ clock, calls, isAnnounced, isFirst: (key) => this.nodes.isFirst(key), answer: send });
    this.#connection = connect({
      onJoined: () => this.#announce(),
      onFrame: (frame) => this.#onFrame(frame),
      onLost: () => this.outgoing.lose(),
    });
  }

  /** What keeps the hub off the relay; undefined while it is there. */
  get problem(): string | undefined {
    return this.#connection.problem;
  }

  /** CONFIG_INVALID for permissions that cannot be granted. */
  async start(): Promise<void> {
    this.#with.calls?.may('sensor:read');
    this.#stop = repeat(this.#with.clock, ANNOUNCE_MS, () => this.#announce());
    await this.#connection.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    this.#incoming[Symbol.dispose]();
    await this.#connection[Symbol.asyncDispose]();
    this.outgoing.lose();
  }

  #announce(): void {
    const { clock, tools, newId } = this.#with;
    if (this.problem !== undefined) return;
    const announced = tools();
    if (announced.length === 0) return;
    const nonce = newId().replaceAll('-', '').slice(0, 16);
    for (const payload of announcementPayloads({ ...this.#own, nowMs: clock.now(), nonce }, announced)) {
      this.#connection.send({ type: 'broadcast', payload });
    }
  }

  #onFrame(frame: JsonObject): void {
    const { type, from, payload } = frame;
    if (type === 'message' && typeof from === 'string' && isJsonObject(payload)) this.#onMessage(from, payload);
    else if (type === 'peers') this.nodes.enterAll(frame.peers);
    else if (type === 'peer_joined' || type === 'peer_updated') this.nodes.enter(frame);
    else if (type === 'peer_left') this.nodes.leave(frame.node_id);
  }

  #onMessage(from: string, payload: JsonObject): void {
    if (from === this.#own.nodeId || !NODE_ID.test(from)) return;
    if (payload.type === 'tool_response') this.outgoing.settle(from, payload);
    // Calls for others go to all in one dialect: who is not meant says nothing, or its 404 would be the first answer.
    else if (payload.type !== 'tool_call') this.nodes.hear(from, payload);
    else if (payload.app === this.#own.name) void this.#incoming.take(from, payload);
  }
}
