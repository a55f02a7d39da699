import type { HubId } from '../../core/ids.ts';
import type { EnginePeer } from '../transport/mesh-engine.ts';
import type { PeerClock } from './peer-clock.ts';

/** The kinds of requests between two directly connected hubs, with their numbers in messages. */
export const REQUEST_KINDS = {
  invoke: 1,
  call_status: 2,
  job_status: 3,
  job_cancel: 4,
  subscribe: 5,
  sync: 6,
  blobs: 7,
  statements: 8,
  renew: 9,
  session_call: 10,
  summaries: 11,
  lookup: 12,
} as const;
/** A kind of request. */
export type RequestKind = keyof typeof REQUEST_KINDS;

/** Longest part of an answer, in bytes. */
export const MAX_PART_BYTES = 49_152;

/** The abort signal of a request, and listeners for events before its answer. */
export interface RequestOptions {
  readonly signal: AbortSignal;
  /** Called when the peer has accepted the request. If the connection is lost after that, the outcome is unknown. */
  readonly onAccept?: () => void;
  /** Called if the connection ends before the answer. Unless `onAccept` was called, the peer may or may not have accepted the request. */
  readonly onLost?: () => void;
  /**
   * Receives partial results and events in the order of sending. A part counts as read when the returned promise resolves. While unread
   * parts fill the credit window, the sender waits. The answer is passed on only after all parts are read.
   */
  readonly onPart?: (part: Uint8Array) => void | Promise<void>;
  /** Milliseconds for which the peer's response is still accepted after an abort. Default: 0. */
  readonly cancelGraceMs?: number;
}

/** The control stream to a directly connected hub. There is only one for each hub. */
export interface PeerLink {
  readonly peer: EnginePeer;
  /** Smoothed round-trip time in milliseconds; undefined before the first answered heartbeat. */
  readonly roundTripMs: number | undefined;
  /** The peer's monotonic clock; only for a peer that announces `wire:deadline`, because the numbers of other peers' pings are no times. */
  readonly peerClock: Pick<PeerClock, 'earliestMs' | 'untilKnown'>;
  /**
   * Sends a request and returns its answer, up to 4 MiB. If the peer answers with an error, rejects with that AtmoError. If the signal
   * aborts, sends a cancel frame and rejects with CANCELLED. If the connection ends, rejects with OUTCOME_UNKNOWN if the peer has accepted
   * the request, and with NODE_UNAVAILABLE if not.
   */
  request(kind: RequestKind, body: Uint8Array, options: RequestOptions): Promise<Uint8Array>;
}

/** A request that this hub received and must answer. */
export interface IncomingRequest {
  readonly from: HubId;
  /** Raw Ed25519 key (base64url) of `from`, as the handshake of the connection has proven it. */
  readonly fromKey: string;
  readonly body: Uint8Array;
  /** Aborts if the peer cancels. Also aborts if the connection is lost, unless the request was accepted as `detached`. */
  readonly signal: AbortSignal;
  /**
   * Sends an accept frame. `detached`: the work continues if the connection is lost. `soon`: the frame waits for the next turn of the event
   * loop, and is omitted if the request ends first. Before failing, call `accept` with `now`, or the error looks like a refusal.
   */
  accept(mode?: 'attached' | 'detached', haste?: 'now' | 'soon'): void;
  /** Sends a part of at most `MAX_PART_BYTES`. Resolves after it is sent; rejects if the request has ended. */
  part(bytes: Uint8Array): Promise<void>;
}

/** Answers requests of one kind; a thrown error is sent as an error frame. */
export type RequestHandler = (request: IncomingRequest) => Promise<Uint8Array>;

/** Port: the control streams to all directly connected hubs. */
export interface PeerLinks {
  links(): readonly PeerLink[];
  to(id: HubId): PeerLink | undefined;
  handle(kind: RequestKind, handler: RequestHandler): void;
  onLinkUp(listener: (link: PeerLink) => void): () => void;
  onLinkDown(listener: (link: PeerLink) => void): () => void;
}

/** Port: counts refused and dropped messages by reason. */
export interface DropSink {
  count(reason: string): void;
}
