import type { HubId } from '../../core/ids.ts';
import type { EnginePeer } from '../transport/mesh-engine.ts';

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
  /** Called if the connection ends before the answer. It is then unknown whether the peer has accepted the request. */
  readonly onLost?: () => void;
  /**
   * Receives partial results and events in the order of sending. A part counts as read when the promise resolves. The sender waits while
   * the unread parts fill the credit window, and the answer waits until all parts are read.
   */
  readonly onPart?: (part: Uint8Array) => void | Promise<void>;
  /** Milliseconds after an abort in which the peer's response is still accepted; default 0. */
  readonly cancelGraceMs?: number;
}

/** The only control stream to a directly connected hub. */
export interface PeerLink {
  readonly peer: EnginePeer;
  /** Smoothed round-trip time in milliseconds; undefined before the first answered heartbeat. */
  readonly roundTripMs: number | undefined;
  /**
   * Sends a request and returns its answer, up to 4 MiB. Rejects with the peer's AtmoError, or with CANCELLED if the signal aborts (the
   * peer then receives a cancel frame). If the connection ends, rejects with OUTCOME_UNKNOWN if the peer has accepted the request, else
   * with NODE_UNAVAILABLE.
   */
  request(kind: RequestKind, body: Uint8Array, options: RequestOptions): Promise<Uint8Array>;
}

/** A request that this hub received and must answer. */
export interface IncomingRequest {
  readonly from: HubId;
  readonly body: Uint8Array;
  /** Aborts if the peer cancels. Also aborts if the connection is lost, except for a request that was accepted as `detached`. */
  readonly signal: AbortSignal;
  /**
   * Sends an accept frame; `detached` work continues if the connection is lost. With `soon`, sends it in the next turn of the event loop,
   * unless the answer is ready earlier. A handler that fails after `soon` must call `accept` again, or its error looks like a refusal.
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
