import { createHash, createPrivateKey, createPublicKey, randomUUID, sign } from 'node:crypto';
import { repeat } from '../../core/clock.ts';
import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { ConnectorContext } from '../connector.ts';
import { TokenAgent } from '../connector-agent.ts';
import { type AnnouncedTool, announcedTools, announcementPayloads } from './announcement.ts';
import type { AtmosphereConfig } from './atmosphere-config.ts';
import { IncomingCalls, OutgoingCalls } from './relay-calls.ts';
import { openSocket, RelayConnection } from './relay-connection.ts';
import { NODE_ID, RemoteNodes } from './remote-nodes.ts';

const ANNOUNCE_MS = 30_000;

/** Announces tools of this hub on a relay of the Atmosphere project, and stores the announcements of other nodes. */
export class AtmosphereBridge implements Service {
  readonly nodeId: string;
  readonly meshId: string;
  readonly nodes: RemoteNodes;
  readonly outgoing: OutgoingCalls;
  readonly #parts: ConnectorContext;
  readonly #config: AtmosphereConfig;
  readonly #name: string;
  /** Undefined if the configuration allows no incoming calls. */
  readonly #agent: TokenAgent | undefined;
  readonly #incoming: IncomingCalls;
  readonly #connection: RelayConnection;
  #stop = () => {};

  /** Throws CONFIG_INVALID if `mesh_key` or `token` is unusable, or if incoming calls have no permissions. */
  constructor(parts: ConnectorContext, config: AtmosphereConfig) {
    const { clock, agents, env } = parts;
    this.#parts = parts;
    this.#config = config;
    // The project's node id is the hub id without `hub-`: both contain the same hash of an Ed25519 key.
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

  /** Returns why the hub is not connected to the relay; undefined while it is. */
  get problem(): string | undefined {
    return this.#connection.problem;
  }

  /** Connects to the relay. Rejects with CONFIG_INVALID if the configured permissions cannot be granted. */
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
    // Some peers send a call to every node. A hub that is not addressed stays silent: its 404 could arrive before the real response.
    else if (payload.type !== 'tool_call') this.nodes.receive(from, payload);
    else if (payload.app === this.#name) void this.#incoming.handle(from, payload);
  }
}

/** Creates the first frame of a relay connection from the node's id, its name and the names of its announced tools. */
type CreateJoinFrame = (node: { readonly nodeId: string; readonly name: string; readonly capabilities: readonly string[] }) => JsonObject;

/** First bytes of an Ed25519 private key in PKCS #8, before the key itself (RFC 8410, section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;
const TOKEN_MEMBERS = ['mesh_id', 'issuer_id', 'nonce', 'signature'] as const;

/**
 * Returns a function that creates the first frame of a connection: `register_mesh` with the founder's key, `join` without it. If a token
 * is configured, the `join` frame contains the token. Throws CONFIG_INVALID if key and token are both set, if the key is malformed or
 * belongs to another mesh, or if the token is malformed or belongs to another mesh or node.
 */
export function createMeshJoin(
  { meshId, meshKey, token }: Pick<AtmosphereConfig, 'meshId' | 'meshKey' | 'token'>,
  nodeId: string,
  env: NodeJS.ProcessEnv,
): CreateJoinFrame {
  if (meshKey !== undefined && token !== undefined) throw invalid('has mesh_key and token: a founder needs no token');
  if (meshKey !== undefined) return founderJoin(meshId, readSecret(meshKey, env));
  const joinToken = token === undefined ? undefined : parseJoinToken(readSecret(token, env), meshId, nodeId);
  return (node) => ({
    type: 'join',
    mesh_id: meshId,
    node_id: node.nodeId,
    name: node.name,
    capabilities: node.capabilities,
    ...(joinToken && { token: joinToken }),
  });
}

/** Returns the project's node or mesh id: the first 16 hex digits of the SHA-256 of a raw public key. */
export function idOfKey(rawPublicKey: Uint8Array): string {
  return createHash('sha256').update(rawPublicKey).digest('hex').slice(0, 16);
}

function founderJoin(meshId: string, secret: string): CreateJoinFrame {
  const seed = /^[0-9a-f]{64}$/i.test(secret) ? Buffer.from(secret, 'hex') : Buffer.from(secret, 'base64');
  if (seed.length !== KEY_BYTES) throw invalid('mesh_key is not 32 bytes in hex or base64');
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
  const rawKey = Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url');
  if (idOfKey(rawKey) !== meshId) throw invalid(`mesh_key is that of mesh ${idOfKey(rawKey)}, and mesh_id is ${meshId}`);
  const publicKey = rawKey.toString('base64');
  const proof = sign(null, Buffer.from(meshId), key).toString('base64');
  return (node) => ({
    type: 'register_mesh',
    mesh_id: meshId,
    mesh_public_key: publicKey,
    founder_proof: proof,
    node_id: node.nodeId,
    // Peers verify `founder_proof` with this key. The mesh's private key signed the proof, so this is the mesh's public key.
    node_public_key: publicKey,
    name: node.name,
    display_name: node.name,
    capabilities: node.capabilities,
  });
}

function parseJoinToken(secret: string, meshId: string, nodeId: string): JsonObject {
  const token = tryParseJson(secret.startsWith('{') ? secret : Buffer.from(secret, 'base64url').toString('utf8'));
  if (!isJsonObject(token) || TOKEN_MEMBERS.some((name) => typeof token[name] !== 'string')) {
    throw invalid(`token is none: it is JSON with ${TOKEN_MEMBERS.join(', ')}, or that in base64url`);
  }
  if (token.mesh_id !== meshId) throw invalid(`token is for another mesh than ${meshId}`);
  const bound = token.node_id ?? null;
  if (bound !== null && bound !== nodeId) throw invalid(`token is for another node; this hub is ${nodeId} there`);
  return token;
}

function invalid(problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', `connectors.atmosphere: ${problem}`);
}
