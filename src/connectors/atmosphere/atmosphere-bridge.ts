import { randomUUID } from 'node:crypto';
import { repeat } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { ConnectorContext } from '../connector.ts';
import { TokenAgent } from '../connector-agent.ts';
import { type AnnouncedTool, announcedTools, announcementPayloads } from './announcement.ts';
import type { AtmosphereConfig } from './atmosphere-config.ts';
import { createMeshJoin } from './mesh-join.ts';
import { IncomingCalls, OutgoingCalls } from './relay-calls.ts';
import { openSocket, RelayConnection } from './relay-connection.ts';
import { NODE_ID, RemoteNodes } from './remote-nodes.ts';

const ANNOUNCE_MS = 30_000;

/** Announces tools of this hub on a relay of the Atmosphere project, and keeps the announcements of other nodes. */
export class AtmosphereBridge implements Service {
  /** Id of this hub on the relay. */
  readonly nodeId: string;
  readonly meshId: string;
  readonly nodes: RemoteNodes;
  readonly outgoing: OutgoingCalls;
  readonly #parts: ConnectorContext;
  readonly #config: AtmosphereConfig;
  readonly #name: string;
  /** Undefined where the owner allows no calls from outside. */
  readonly #agent: TokenAgent | undefined;
  readonly #incoming: IncomingCalls;
  readonly #connection: RelayConnection;
  #stop = () => {};

  /** CONFIG_INVALID for a secret that is missing or for another mesh, and for incoming calls without permissions. */
  constructor(parts: ConnectorContext, config: AtmosphereConfig) {
    const { clock, agents, env } = parts;
    this.#parts = parts;
    this.#config = config;
    // Ids of hubs and of nodes there are the same hash of a key of the same kind.
    this.nodeId = parts.nodeId.replace(/^hub-/, '');
    this.meshId = config.meshId;
    this.#name = config.name ?? parts.hub.name;
    this.nodes = new RemoteNodes(clock, this.nodeId);
    if (config.calls?.incoming && !config.calls.permissions) {
      throw new AtmoError('CONFIG_INVALID', 'connectors.atmosphere.calls.incoming needs permissions, such as ["sensor:read:*"]');
    }
    const { incoming = false, permissions = [] } = config.calls ?? {};
    this.#agent = incoming ? new TokenAgent(agents, { name: 'atmosphere-bridge', permissions }) : undefined;
    const send = (target: string, payload: JsonObject) => this.#connection.send({ type: 'direct', target, payload });
    this.outgoing = new OutgoingCalls({ send, newId: randomUUID });
    this.#incoming = new IncomingCalls({
      clock,
      calls: this.#agent,
      isAnnounced: (name) => this.#tools().some(({ key }) => key === name),
      isFirst: (key) => this.nodes.isFirst(key),
      answer: send,
    });
    const enter = createMeshJoin(config, this.nodeId, env);
    this.#connection = new RelayConnection(
      { clock, logger: parts.logger.child({ connector: 'atmosphere' }), open: openSocket, random: Math.random },
      {
        url: `${config.relay.replace(/\/+$/, '')}/relay/${config.meshId}`,
        nodeId: this.nodeId,
        entry: () => enter({ nodeId: this.nodeId, name: this.#name, capabilities: this.#tools().map(({ key }) => key) }),
        onJoined: () => this.#announce(),
        onFrame: (frame) => this.#onFrame(frame),
        onLost: () => this.outgoing.rejectAll(),
      },
    );
  }

  /** The reason why the hub is not on the relay; undefined while it is. */
  get problem(): string | undefined {
    return this.#connection.problem;
  }

  /** CONFIG_INVALID for permissions that cannot be granted. */
  async start(): Promise<void> {
    this.#agent?.may('sensor:read');
    this.#stop = repeat(this.#parts.clock, ANNOUNCE_MS, () => this.#announce());
    await this.#connection.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    this.#incoming[Symbol.dispose]();
    await this.#connection[Symbol.asyncDispose]();
    this.outgoing.rejectAll();
  }

  #tools(): readonly AnnouncedTool[] {
    return announcedTools(this.#parts.registry.all(), this.#config.announce);
  }

  #announce(): void {
    if (this.problem !== undefined) return;
    const announced = this.#tools();
    if (announced.length === 0) return;
    const by = {
      nodeId: this.nodeId,
      name: this.#name,
      nowMs: this.#parts.clock.now(),
      nonce: randomUUID().replaceAll('-', '').slice(0, 16),
    };
    for (const payload of announcementPayloads(by, announced)) this.#connection.send({ type: 'broadcast', payload });
  }

  #onFrame(frame: JsonObject): void {
    const { type, from, payload } = frame;
    if (type === 'message' && typeof from === 'string' && isJsonObject(payload)) this.#onMessage(from, payload);
    else if (type === 'peers') this.nodes.addAll(frame.peers);
    else if (type === 'peer_joined' || type === 'peer_updated') this.nodes.add(frame);
    else if (type === 'peer_left') this.nodes.remove(frame.node_id);
  }

  #onMessage(from: string, payload: JsonObject): void {
    if (from === this.nodeId || !NODE_ID.test(from)) return;
    if (payload.type === 'tool_response') this.outgoing.settle(from, payload);
    // In one dialect a call goes to all nodes. A node that it does not name sends nothing: its 404 could be the first response.
    else if (payload.type !== 'tool_call') this.nodes.receive(from, payload);
    else if (payload.app === this.#name) void this.#incoming.handle(from, payload);
  }
}
