import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';

/** Largest message of the gate in bytes. */
export const MAX_GATE_MESSAGE_BYTES = 8_192;
/** Largest frame of a stream in bytes. */
export const MAX_FRAME_BYTES = 65_536;
/** Largest gossip message in bytes. */
export const MAX_GOSSIP_BYTES = 4_096;

/** An address of a hub. */
export interface PeerAddress {
  /** IPv4 address, IPv6 address (with a zone if needed, `fe80::1%eth0`) or host name. */
  readonly host: string;
  readonly port: number;
  /** Id of the expected hub. If any other hub answers, the connection is closed. */
  readonly expect?: HubId;
}

/** The hub at the other end of a connection. The transport's handshake has proven the hub's key. */
export interface GatePeer {
  readonly id: HubId;
  /** Raw Ed25519 key, base64url. */
  readonly publicKey: string;
  readonly direction: 'inbound' | 'outbound';
  /** Address of the other end as `host:port`. */
  readonly address: string;
}

/** A connected hub that has passed the gate. */
export type EnginePeer = GatePeer;

/** Encrypted channel to a peer before its admission. Messages have at most 8 KiB. */
export interface GateChannel {
  write(message: Uint8Array): Promise<void>;
  /** Reads a message. Rejects if the peer closes the connection, the message is too long, or the gate takes longer than 5 s. */
  read(): Promise<Uint8Array>;
}

/** Decides whether a peer is admitted. Runs directly after the transport's handshake, before other data of the peer is parsed. */
export interface ConnectionGate {
  /** Resolves to admit the peer. Rejects with an AtmoError to close the connection. The dialling hub sends the first message. */
  admit(channel: GateChannel, peer: GatePeer): Promise<void>;
}

/** Returns whether the peer's machine has received everything that was sent; undefined if this is unknown. */
export type ArrivalCheck = () => boolean | undefined;

/** An ordered stream of frames between two hubs. */
export interface MeshStream {
  readonly peer: EnginePeer;
  /** Sends a frame of at most `MAX_FRAME_BYTES`. Returns false if the sender should await `drained`. Sends nothing after the end. */
  send(frame: Uint8Array): boolean;
  /** Returns whether everything has reached the peer's machine, read or unread. A call takes milliseconds. Exists only on Linux. */
  readonly hasArrived?: ArrivalCheck | undefined;
  /** Resolves when the send queue has space again. Rejects if the stream ends. */
  drained(): Promise<void>;
  /** Sets the only listener, and passes it the frames that arrived earlier. A frame that is too long ends the stream. */
  onFrame(listener: (frame: Uint8Array) => void): void;
  /** Calls the listener once when the stream ends, or at once if the stream has already ended. */
  onClose(listener: () => void): void;
  /** Ends the stream after everything is sent. */
  close(): Promise<void>;
  /** Ends the stream at once. */
  abort(): void;
}

/** Verdict on a gossip message: `accept` forwards, `ignore` drops, `reject` drops and lowers the score of the neighbour that sent it. */
export type GossipVerdict = 'accept' | 'ignore' | 'reject';

/** Transport of the mesh: connections, streams and gossip between members. All implementations must pass the same contract tests. */
export interface MeshEngine extends Service {
  readonly id: HubId;
  /** Returns every address on which the engine listens, as `host:port`. */
  listenAddresses(): readonly string[];
  peers(): readonly EnginePeer[];
  /**
   * Connects to a hub, or returns it if it is connected. `gate` replaces the engine's gate for this connection. Rejects with
   * NODE_UNAVAILABLE (no hub answers), PERMISSION_DENIED (a gate refuses, or another hub answers), RESOURCE_EXCEEDED (too many
   * connections), or CANCELLED.
   */
  connect(address: PeerAddress, options: { readonly signal: AbortSignal; readonly gate?: ConnectionGate }): Promise<EnginePeer>;
  disconnect(id: HubId): Promise<void>;
  /** Sends a message to every member, directly or over other hubs. Drops the message if this hub's own validator does not accept it. */
  publish(message: Uint8Array): Promise<void>;
  /** Sets the only validator. It runs for each new message before this hub forwards the message. */
  onGossip(validate: (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>): void;
  /** Opens a stream. Rejects with NODE_UNAVAILABLE if there is no connection or the peer does not support the protocol. */
  openStream(id: HubId, protocol: string, options: { readonly signal: AbortSignal }): Promise<MeshStream>;
  /** Sets the handler of a protocol, before or after `start`. */
  handle(protocol: string, handler: (stream: MeshStream) => void): void;
  /** Calls the listener once when a hub connects, even if it briefly has two connections. Returns a function that removes the listener. */
  onPeerUp(listener: (peer: EnginePeer) => void): () => void;
  onPeerDown(listener: (peer: EnginePeer) => void): () => void;
  /** Returns the number of refusals since the start, by reason. */
  refusals(): Readonly<Record<string, number>>;
}

/** Default for the maximum number of connections. */
export const DEFAULT_MAX_CONNECTIONS = 64;
/** Time limit of a connection attempt including the gate, in milliseconds. */
export const CONNECT_TIMEOUT_MS = INVOCATION_POLICY.connectTimeoutMs;
/** If this many sent bytes are still unread, the sender should wait. */
export const SEND_WINDOW_BYTES = 262_144;
/** If a sender does not wait and more than this number of bytes is queued, the stream is aborted. */
export const MAX_SEND_QUEUE_BYTES = 4_194_304;
/** Largest number of open inbound streams of one protocol from one peer. */
export const MAX_INBOUND_STREAMS = 16;
/** Time limit for `openStream` in milliseconds, within which the peer must accept the stream. */
export const OPEN_STREAM_TIMEOUT_MS = 5_000;

const HOST_PORT = /^(?:\[([^\]\s]+)\]|([^\s[\]]+)):(\d{1,5})$/;
const MAPPED = '::ffff:';

/** Parses `host:port` or `[IPv6]:port`; returns undefined for anything else. */
export function parseHostPort(text: string): PeerAddress | undefined {
  const [, bracketed, bare, digits] = HOST_PORT.exec(text) ?? [];
  const host = bracketed ?? bare;
  const port = Number(digits);
  return host === undefined || !(port > 0 && port <= 65_535) ? undefined : { host, port };
}

/** Returns `host:port`. An IPv6 address is in brackets and keeps its zone, such as `[fe80::1%eth0]:7481`. */
export function formatHostPort({ host, port }: PeerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns the IPv4 address in an IPv4-mapped IPv6 address, such as `::ffff:10.0.0.1`. Returns any other host unchanged. */
export function unmappedAddress(host: string): string {
  return host.startsWith(MAPPED) && host.includes('.') ? host.slice(MAPPED.length) : host;
}
