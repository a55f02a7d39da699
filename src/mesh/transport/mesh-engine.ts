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
  /** Id of the expected hub; a connection to any other hub is closed. */
  readonly expect?: HubId;
}

/** The hub at the other end of a connection; the transport's handshake has proven its key. */
export interface GatePeer {
  readonly id: HubId;
  /** Raw Ed25519 key, base64url. */
  readonly publicKey: string;
  readonly direction: 'inbound' | 'outbound';
  /** Address `host:port` of the socket. */
  readonly address: string;
}

/** A connected hub that has passed the gate. */
export type EnginePeer = GatePeer;

/** Encrypted messages before admission, at most 8 KiB each. */
export interface GateChannel {
  write(message: Uint8Array): Promise<void>;
  /** Reads a message. Rejects if the peer closes the connection, the message is too long, or the gate's time limit (5 s) is over. */
  read(): Promise<Uint8Array>;
}

/** Admits peers directly after the transport's handshake, before anything else from the peer is parsed. */
export interface ConnectionGate {
  /** Runs the gate. Rejects with an AtmoError to close the connection. The dialling hub sends first. */
  admit(channel: GateChannel, peer: GatePeer): Promise<void>;
}

/** Returns whether the peer's machine has received everything; undefined if unknown. */
export type ArrivalCheck = () => boolean | undefined;

/** An ordered stream of frames between two hubs. */
export interface MeshStream {
  readonly peer: EnginePeer;
  /** Sends a frame of at most `MAX_FRAME_BYTES`. Returns false if the sender should await `drained`. Does nothing after the end. */
  send(frame: Uint8Array): boolean;
  /** Returns whether the peer's machine has received everything, even if unread; takes milliseconds. Absent on systems other than Linux. */
  readonly hasArrived?: ArrivalCheck | undefined;
  /** Resolves when the send queue has space again; rejects if the stream ends. */
  drained(): Promise<void>;
  /** Sets the only listener; frames that arrived earlier are passed first. A frame that is too long ends the stream. */
  onFrame(listener: (frame: Uint8Array) => void): void;
  /** Calls the listener once when the stream ends, or at once if the stream has already ended. */
  onClose(listener: () => void): void;
  /** Ends the stream after everything is sent. */
  close(): Promise<void>;
  /** Ends the stream at once. */
  abort(): void;
}

/** Verdict on a gossip message: `accept` forwards it, `ignore` drops it, `reject` also lowers the score of the sending neighbour. */
export type GossipVerdict = 'accept' | 'ignore' | 'reject';

/** Port: connections, streams and gossip between members of the mesh. One contract suite runs against every engine. */
export interface MeshEngine extends Service {
  readonly id: HubId;
  /** Returns `host:port` of every address on which the engine listens. */
  listenAddresses(): readonly string[];
  peers(): readonly EnginePeer[];
  /**
   * Connects, or returns the peer if it is connected. `gate` replaces the engine's gate for this connection. Rejects with NODE_UNAVAILABLE
   * (no hub answers), PERMISSION_DENIED (a gate refuses, or another hub answers), RESOURCE_EXCEEDED (too many connections), or CANCELLED.
   */
  connect(address: PeerAddress, options: { readonly signal: AbortSignal; readonly gate?: ConnectionGate }): Promise<EnginePeer>;
  disconnect(id: HubId): Promise<void>;
  /** Sends a message to every member, directly or over other hubs. This hub's validator must accept the message too. */
  publish(message: Uint8Array): Promise<void>;
  /** Sets the only validator; it runs for each new message before the message is forwarded. */
  onGossip(validate: (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>): void;
  /** Opens a stream. Rejects with NODE_UNAVAILABLE if there is no connection or the peer does not support the protocol. */
  openStream(id: HubId, protocol: string, options: { readonly signal: AbortSignal }): Promise<MeshStream>;
  /** Sets the handler of a protocol, before or after `start`. */
  handle(protocol: string, handler: (stream: MeshStream) => void): void;
  /** Calls the listener once when a hub connects, even if two connections exist briefly. Returns a function that removes the listener. */
  onPeerUp(listener: (peer: EnginePeer) => void): () => void;
  onPeerDown(listener: (peer: EnginePeer) => void): () => void;
  /** Returns the number of refusals since the start, by reason. */
  refusals(): Readonly<Record<string, number>>;
}

/** Default for the maximum number of connections. */
export const DEFAULT_MAX_CONNECTIONS = 64;
/** Time limit of a connection attempt including the gate, in milliseconds. */
export const CONNECT_TIMEOUT_MS = INVOCATION_POLICY.connectTimeoutMs;
/** Number of unread bytes at which a sender should wait. */
export const SEND_WINDOW_BYTES = 262_144;
/** Number of queued bytes above which the stream of a sender that does not wait is aborted. */
export const MAX_SEND_QUEUE_BYTES = 4_194_304;
/** Largest number of open streams per protocol and peer. */
export const MAX_INBOUND_STREAMS = 16;
/** Longest wait of `openStream` for the peer's acceptance, in milliseconds. */
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

/** Returns `host:port`; an IPv6 address in brackets, with its zone: `[fe80::1%eth0]:7481`. */
export function formatHostPort({ host, port }: PeerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns the IPv4 address in an IPv4-mapped IPv6 address such as `::ffff:10.0.0.1`; any other host unchanged. */
export function unmappedAddress(host: string): string {
  return host.startsWith(MAPPED) && host.includes('.') ? host.slice(MAPPED.length) : host;
}
