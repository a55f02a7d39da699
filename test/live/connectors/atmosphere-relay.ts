import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { createServer } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { isJsonObject, type JsonObject, tryParseJson } from '../../../src/core/json.ts';
import { onLoopback } from './loopback-server.ts';

interface Peer {
  readonly socket: WebSocket;
  readonly info: JsonObject;
}

/** A mesh that its founder has registered. */
interface KnownMesh {
  readonly key: KeyObject;
  readonly founder: string;
}

/** A relay that answers nothing or lets nobody in. */
export type RelayMood = 'well' | 'deaf' | 'closed';

/**
 * A relay that speaks the protocol of the Atmosphere project: the first frame registers a mesh or joins it, then frames go to all or to
 * one. As there, a node is whoever says so, a second one
 * drives out the first, and the end of any connection of a node takes the node off the list.
 */
export class AtmosphereRelay implements AsyncDisposable {
  readonly url: string;
  /** First frames, as they came. */
  readonly entries: JsonObject[] = [];
  mood: RelayMood = 'well';
  readonly #meshes = new Map<string, KnownMesh>();
  readonly #peers = new Map<string, Peer>();
  readonly #sockets = new Set<WebSocket>();
  readonly #end: () => Promise<unknown>;

  private constructor(url: string, end: () => Promise<unknown>) {
    this.url = url.replace('http:', 'ws:');
    this.#end = end;
  }

  static async start(): Promise<AtmosphereRelay> {
    const http = createServer();
    const server = new WebSocketServer({ server: http, maxPayload: 64 * 1_048_576 });
    const place = await onLoopback(http);
    const relay = new AtmosphereRelay(place.url, async () => place[Symbol.asyncDispose]());
    server.on('connection', (socket, request) => relay.#take(socket, (request.url ?? '').split('/').at(-1) ?? ''));
    return relay;
  }

  get nodes(): readonly string[] {
    return [...this.#peers.keys()];
  }

  /** Says something to a node that no relay would say: text, bytes or a frame. */
  say(node: string, message: JsonObject | string | Buffer): void {
    this.#peers.get(node)?.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** Ends all connections without a goodbye. */
  cut(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await this.#end();
  }

  #take(socket: WebSocket, meshId: string): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
    socket.once('message', (data) => {
      const entry = tryParseJson(String(data));
      if (isJsonObject(entry) && this.mood !== 'deaf') this.#enter(socket, meshId, entry);
    });
  }

  #enter(socket: WebSocket, meshId: string, entry: JsonObject): void {
    this.entries.push(entry);
    const refusal = this.mood === 'closed' ? 'RELAY_CLOSED' : this.#refusal(meshId, entry);
    if (refusal !== undefined) {
      send(socket, { type: 'error', code: refusal, message: 'refused' });
      socket.close(1008);
      return;
    }
    const node = String(entry.node_id);
    const info = { node_id: node, name: entry.name ?? '', capabilities: entry.capabilities ?? [], is_founder: false };
    if (entry.type === 'register_mesh') send(socket, { type: 'mesh_registered', success: true });
    this.#peers.get(node)?.socket.close(1000, 'Replaced by new connection');
    this.#peers.set(node, { socket, info });
    this.#toOthers(node, { type: 'peer_joined', ...info });
    send(socket, { type: 'joined', mesh: meshId, mesh_id: meshId, node_count: this.#peers.size });
    send(socket, { type: 'peers', peers: [...this.#peers.values()].map((peer) => peer.info).filter(({ node_id: id }) => id !== node) });
    socket.on('message', (data) => this.#onFrame(socket, node, tryParseJson(String(data))));
    socket.once('close', () => this.#leave(node));
  }

  #refusal(meshId: string, entry: JsonObject): string | undefined {
    const mesh = this.#meshes.get(meshId);
    if (entry.type === 'register_mesh') return this.#register(meshId, entry);
    if (entry.type !== 'join') return 'MISSING_FIELDS';
    if (!mesh || mesh.founder === entry.node_id) return undefined;
    if (!isJsonObject(entry.token)) return 'TOKEN_REQUIRED';
    return isSignedBy(mesh.key, entry.token) ? undefined : 'TOKEN_INVALID';
  }

  #register(meshId: string, { mesh_public_key, founder_proof, node_id }: JsonObject): string | undefined {
    const known = this.#meshes.get(meshId);
    if (known) return known.founder === node_id ? undefined : 'REGISTRATION_FAILED';
    const key = keyOf(String(mesh_public_key));
    if (!verify(null, Buffer.from(meshId), key, Buffer.from(String(founder_proof), 'base64'))) return 'REGISTRATION_FAILED';
    this.#meshes.set(meshId, { key, founder: String(node_id) });
    return undefined;
  }

  #onFrame(socket: WebSocket, from: string, frame: unknown): void {
    if (!isJsonObject(frame) || this.mood === 'deaf') return;
    const { type, target, payload } = frame;
    if (type === 'ping') send(socket, { type: 'pong', timestamp: Date.now() / 1_000 });
    if (type === 'broadcast' && isJsonObject(payload)) this.#toOthers(from, { type: 'message', from, payload: { ...payload, from } });
    if (type === 'direct') {
      const peer = this.#peers.get(String(target));
      send(
        peer?.socket ?? socket,
        peer ? { type: 'message', from, payload: payload ?? {} } : { type: 'error', message: `Peer ${target} not found` },
      );
    }
  }

  #toOthers(node: string, frame: JsonObject): void {
    for (const [id, { socket }] of this.#peers) if (id !== node) send(socket, frame);
  }

  #leave(node: string): void {
    this.#peers.delete(node);
    this.#toOthers(node, { type: 'peer_left', node_id: node });
  }
}

/** A node that says what the test wants, and what it heard. */
export async function joinRelay(url: string, entry: JsonObject) {
  const socket = new WebSocket(url);
  const heard: JsonObject[] = [];
  socket.on('message', (data) => {
    const frame = tryParseJson(String(data));
    if (isJsonObject(frame)) heard.push(frame);
  });
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('open', resolve));
  send(socket, { type: 'join', ...entry });
  return {
    heard,
    say: (frame: JsonObject) => send(socket, frame),
    broadcast: (payload: JsonObject) => send(socket, { type: 'broadcast', payload }),
    [Symbol.dispose]: () => socket.terminate(),
  };
}

function send(socket: WebSocket, frame: JsonObject): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

function keyOf(base64: string): KeyObject {
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(base64, 'base64').toString('base64url') } });
}

/** Over the token's other members as JSON with sorted keys. */
function isSignedBy(key: KeyObject, { signature, ...rest }: JsonObject): boolean {
  const signed = Object.fromEntries(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)));
  const isInTime = Number(rest.expires_at) > Date.now() / 1_000;
  return isInTime && verify(null, Buffer.from(JSON.stringify(signed)), key, Buffer.from(String(signature), 'base64'));
}
