import { randomUUID } from 'node:crypto';
import { type Clock, repeat } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { unconfigured } from '../../tools/definition/unconfigured-tool.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { type AgentCalls, TokenAgent } from '../connector-agent.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import { type AnnouncedTool, announcedTools, announcementPayloads } from './announcement.ts';
import type { AtmosphereConfig } from './atmosphere-config.ts';
import { type BridgeView, callTool, capabilitiesTool } from './atmosphere-tools.ts';
import { createMeshJoin } from './mesh-join.ts';
import { IncomingCalls, OutgoingCalls } from './relay-calls.ts';
import { openSocket, RelayConnection, type RelaySession } from './relay-connection.ts';
import { NODE_ID, RemoteNodes } from './remote-nodes.ts';

const AGENT = 'atmosphere-bridge';

/**
 * A relay of the Atmosphere project, where the owner configured one. CONFIG_INVALID for a secret that is not there or not for this mesh,
 * and for incoming calls that may do nothing.
 */
export function openAtmosphere(ground: ConnectorContext, { atmosphere }: Pick<ConnectorsConfig, 'atmosphere'>): Connector {
  if (!atmosphere) {
    const missing = (tool: typeof capabilitiesTool, setting: string) => unconfigured(tool(NO_BRIDGE), setting);
    return {
      tools: [
        missing(capabilitiesTool, 'set connectors.atmosphere in the configuration'),
        missing(callTool, 'set connectors.atmosphere.calls.outgoing in the configuration'),
      ],
    };
  }
  const { bridge, view } = openBridge(ground, atmosphere);
  const call = callTool(view);
  const mayCall = atmosphere.calls?.outgoing === true;
  return {
    tools: [capabilitiesTool(view), mayCall ? call : unconfigured(call, 'set connectors.atmosphere.calls.outgoing in the configuration')],
    service: bridge,
  };
}

function openBridge(ground: ConnectorContext, config: AtmosphereConfig): { readonly bridge: AtmosphereBridge; readonly view: BridgeView } {
  const { clock, registry, env } = ground;
  // Hub ids are made as the ids of nodes there: from the same hash of a key of the same kind.
  const nodeId = ground.nodeId.replace(/^hub-/, '');
  const name = config.name ?? ground.hub.name;
  const logger = ground.logger.child({ connector: 'atmosphere' });
  const enter = createMeshJoin(config, nodeId, env);
  const tools = () => announcedTools(registry.all(), config.announce);
  const entry = () => enter({ nodeId, name, capabilities: tools().map(({ key }) => key) });
  const url = `${config.relay.replace(/\/+$/, '')}/relay/${config.meshId}`;
  const parts = { clock, logger, open: openSocket, random: Math.random };
  const bridge = new AtmosphereBridge(
    {
      clock,
      tools,
      newId: randomUUID,
      calls: agentOf(ground, config),
      connect: (room) => new RelayConnection(parts, { ...room, url, entry, nodeId }),
    },
    { nodeId, name },
  );
  const view: BridgeView = {
    nodeId,
    meshId: config.meshId,
    problem: () => bridge.problem,
    nodes: () => bridge.nodes.list(),
    dropped: () => bridge.nodes.dropped,
    call: (call, signal) => bridge.outgoing.call(call, signal),
  };
  return { bridge, view };
}

function agentOf({ agents }: ConnectorContext, { calls }: AtmosphereConfig): TokenAgent | undefined {
  if (!calls?.incoming) return undefined;
  if (!calls.permissions) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.atmosphere.calls.incoming needs permissions, such as ["sensor:read:*"]');
  }
  return new TokenAgent(agents, { name: AGENT, permissions: calls.permissions });
}

/** For definitions alone: `unconfigured` puts its own refusal in the place of the handler. */
const NO_BRIDGE: BridgeView = {
  nodeId: '',
  meshId: '',
  problem: () => 'not configured',
  nodes: () => [],
  dropped: () => 0,
  call: async () => null,
};

interface BridgeCollaborators {
  readonly clock: Clock;
  /** Makes the connection; it is started with the bridge. */
  readonly connect: (room: Omit<RelaySession, 'url' | 'entry' | 'nodeId'>) => RelayConnection;
  /** What the owner lets out, as it is now. */
  readonly tools: () => readonly AnnouncedTool[];
  readonly newId: () => string;
  /** Undefined where the owner takes no calls. */
  readonly calls: AgentCalls | undefined;
}

/** Who this hub is on the relay. */
interface LocalNode {
  readonly nodeId: string;
  readonly name: string;
}

const ANNOUNCE_MS = 30_000;

/** Announces tools of this hub on a relay of the Atmosphere project, and keeps what others announce there. */
class AtmosphereBridge implements Service {
  readonly nodes: RemoteNodes;
  readonly outgoing: OutgoingCalls;
  readonly #with: BridgeCollaborators;
  readonly #own: LocalNode;
  readonly #incoming: IncomingCalls;
  readonly #connection: RelayConnection;
  #stop = () => {};

  constructor(parts: BridgeCollaborators, own: LocalNode) {
    this.#with = parts;
    this.#own = own;
    const { clock, connect, tools, newId, calls } = parts;
    this.nodes = new RemoteNodes(clock, own.nodeId);
    const send = (target: string, payload: JsonObject) => this.#connection.send({ type: 'direct', target, payload });
    this.outgoing = new OutgoingCalls({ send, newId });
    const isAnnounced = (name: string) => tools().some(({ key }) => key === name);
    this.#incoming = new IncomingCalls({ clock, calls, isAnnounced, isFirst: (key) => this.nodes.isFirst(key), answer: send });
    this.#connection = connect({
      onJoined: () => this.#announce(),
      onFrame: (frame) => this.#onFrame(frame),
      onLost: () => this.outgoing.rejectAll(),
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
    this.outgoing.rejectAll();
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
    else if (type === 'peers') this.nodes.addAll(frame.peers);
    else if (type === 'peer_joined' || type === 'peer_updated') this.nodes.add(frame);
    else if (type === 'peer_left') this.nodes.remove(frame.node_id);
  }

  #onMessage(from: string, payload: JsonObject): void {
    if (from === this.#own.nodeId || !NODE_ID.test(from)) return;
    if (payload.type === 'tool_response') this.outgoing.settle(from, payload);
    // Calls for others go to all in one dialect: who is not meant says nothing, or its 404 would be the first answer.
    else if (payload.type !== 'tool_call') this.nodes.receive(from, payload);
    else if (payload.app === this.#own.name) void this.#incoming.handle(from, payload);
  }
}
