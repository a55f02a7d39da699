import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';

/** Largest message of the gate, bytes. */
export const MAX_GATE_MESSAGE_BYTES = 8_192;
/** Largest frame of a stream, bytes. */
export const MAX_FRAME_BYTES = 65_536;
/** Largest gossip message, bytes. */
export const MAX_GOSSIP_BYTES = 4_096;

/** Where a hub may be reached. */
export interface PeerAddress {
  /** IPv4 or IPv6 address (with zone, `fe80::1%eth0`, where it needs one) or host name. */
  readonly host: string;
  readonly port: number;
  /** When given, a connection to any other hub is closed: its key did not fit. */
  readonly expect?: HubId;
}

/** Who is at the other end of a connection: the transport's handshake has proven the key. */
export interface GatePeer {
  readonly id: HubId;
  /** Raw Ed25519 key, base64url. */
  readonly publicKey: string;
  readonly direction: 'inbound' | 'outbound';
  /** `host:port`, as the socket tells it. */
  readonly address: string;
}

/** A hub that passed the gate and is connected. */
export type EnginePeer = GatePeer;

/** Messages before a connection is one: encrypted, at most 8 KiB each. */
export interface GateChannel {
  write(message: Uint8Array): Promise<void>;
  /** Rejects when the peer closes, when a message is too long, or when the engine's time for the gate (5 s) is over. */
  read(): Promise<Uint8Array>;
}

/** Decides right after the transport's handshake and before anything else of the peer is parsed. */
export interface ConnectionGate {
  /** Throws AtmoError to close the connection; the side that dials speaks first. */
  admit(channel: GateChannel, peer: GatePeer): Promise<void>;
}

/** Undefined when it cannot be told. */
export type ArrivalCheck = () => boolean | undefined;

/** Ordered frames between two hubs. */
export interface MeshStream {
  readonly peer: EnginePeer;
  /** Sends one frame of at most `MAX_FRAME_BYTES`; false once so much waits that the sender should await `drained`. Does nothing after the end. */
  send(frame: Uint8Array): boolean;
  /** Whether all that was sent has come to the peer's machine, read or not; to ask takes milliseconds. Absent where nobody knows. */
  readonly hasArrived?: ArrivalCheck | undefined;
  /** Resolves when there is room again; rejects when the stream ends. */
  drained(): Promise<void>;
  /** The one listener; frames that came before it are told first. A frame that is too long ends the stream. */
  onFrame(listener: (frame: Uint8Array) => void): void;
  /** Told once, also when the stream has ended already. */
  onClose(listener: () => void): void;
  /** Ends after what was sent. */
  close(): Promise<void>;
  /** Ends at once. */
  abort(): void;
}

/** What becomes of a gossip message: told on, dropped silently, or dropped and held against the neighbour that sent it. */
export type GossipVerdict = 'accept' | 'ignore' | 'reject';

/** Port: connections, streams and gossip between members (design: mesh). One contract suite runs against every engine. */
export interface MeshEngine extends Service {
  readonly id: HubId;
  /** `host:port` of every address that it listens on. */
  listenAddresses(): readonly string[];
  peers(): readonly EnginePeer[];
  /**
   * Connects, or answers the connection that there is. `gate` replaces the engine's own for this connection. NODE_UNAVAILABLE
   * when nobody answers, PERMISSION_DENIED when either side's gate refuses or another hub is there, CANCELLED.
   */
  connect(address: PeerAddress, options: { readonly signal: AbortSignal; readonly gate?: ConnectionGate }): Promise<EnginePeer>;
  disconnect(id: HubId): Promise<void>;
  /** Tells every member, over any number of hubs; what the own validator would not accept is not sent. */
  publish(message: Uint8Array): Promise<void>;
  /** The one validator; runs for each new message before it is told on. */
  onGossip(validate: (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>): void;
  /** NODE_UNAVAILABLE when there is no connection or the peer does not know the protocol. */
  openStream(id: HubId, protocol: string, options: { readonly signal: AbortSignal }): Promise<MeshStream>;
  /** Answers streams of a protocol; before `start` or after it. */
  handle(protocol: string, handler: (stream: MeshStream) => void): void;
  /** Heard once per hub, also where two connections to it exist for a moment. The answer stops it. */
  onPeerUp(listener: (peer: EnginePeer) => void): () => void;
  onPeerDown(listener: (peer: EnginePeer) => void): () => void;
  /** What was refused since the start, by reason. */
  refusals(): Readonly<Record<string, number>>;
}

/** Hubs that one hub is connected with at most, unless the owner says otherwise. */
export const DEFAULT_MAX_CONNECTIONS = 64;
/** How long a connection may take until it is one, the gate included, milliseconds. */
export const CONNECT_TIMEOUT_MS = INVOCATION_POLICY.connectTimeoutMs;
/** Bytes of unheard frames from which on a sender should wait. */
export const SEND_WINDOW_BYTES = 262_144;
/** A sender that goes on in spite of it loses the stream at so many bytes. */
export const MAX_SEND_QUEUE_BYTES = 4_194_304;
/** Streams of one protocol that one peer may have opened at a time. */
export const MAX_INBOUND_STREAMS = 16;
/** How long `openStream` waits for the peer to accept, milliseconds. */
export const OPEN_STREAM_TIMEOUT_MS = 5_000;
