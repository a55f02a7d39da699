import type { HubId } from '../../core/ids.ts';
import type { EnginePeer } from '../transport/mesh-engine.ts';

/** What a request between two directly connected hubs asks for; the number is what travels. */
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
/** A kind of the list. */
export type RequestKind = keyof typeof REQUEST_KINDS;

/** Longest part of an answer. */
export const MAX_PART_BYTES = 49_152;

/** What the sender of a request hears before its answer. */
export interface RequestOptions {
  readonly signal: AbortSignal;
  /** The peer has taken the request on: from now on a lost connection leaves its outcome unknown. */
  readonly onAccept?: () => void;
  /** The connection ended after the request was sent and before its answer: whether the peer took it on is not known. */
  readonly onLost?: () => void;
  /**
   * Partial results and events, in order. A part counts as read when the promise resolves; the sender of parts waits while
   * more than a window of them is unread, and the answer waits until all are read.
   */
  readonly onPart?: (part: Uint8Array) => void | Promise<void>;
  /** How long after an abort the peer's answer still counts, milliseconds; default 0. */
  readonly cancelGraceMs?: number;
}

/** The one control stream to a directly connected hub. */
export interface PeerLink {
  readonly peer: EnginePeer;
  /** Smoothed, milliseconds; undefined until the first heartbeat came back. */
  readonly roundTripMs: number | undefined;
  /**
   * Sends a request and waits for its answer, of any length up to 4 MiB. Throws the peer's AtmoError, CANCELLED when the signal
   * aborts (the peer is told), NODE_UNAVAILABLE when the connection ends before the peer accepted, OUTCOME_UNKNOWN after it.
   */
  request(kind: RequestKind, body: Uint8Array, options: RequestOptions): Promise<Uint8Array>;
}

/** A request from the side of the hub that answers it. */
export interface IncomingRequest {
  readonly from: HubId;
  readonly body: Uint8Array;
  /** Aborts when the peer cancels. A lost connection aborts it too, unless the request was accepted `detached`. */
  readonly signal: AbortSignal;
  /**
   * Tells the peer that the request was taken on; `detached` work goes on when the connection is lost. Told `soon`, in the next
   * turn of the event loop, it is left out when the answer is ready before: whoever answers anything but success calls it again.
   */
  accept(mode?: 'attached' | 'detached', haste?: 'now' | 'soon'): void;
  /** Sends a part of at most `MAX_PART_BYTES`; resolves when it is on its way, rejects when the request has ended. */
  part(bytes: Uint8Array): Promise<void>;
}

/** Answers requests of one kind; what it throws travels as an error of the one table. */
export type RequestHandler = (request: IncomingRequest) => Promise<Uint8Array>;

/** Port: the control streams to all directly connected hubs. */
export interface PeerLinks {
  links(): readonly PeerLink[];
  to(id: HubId): PeerLink | undefined;
  handle(kind: RequestKind, handler: RequestHandler): void;
  onLinkUp(listener: (link: PeerLink) => void): () => void;
  onLinkDown(listener: (link: PeerLink) => void): () => void;
}

/** Port: counts what was refused or thrown away, by reason. */
export interface DropSink {
  count(reason: string): void;
}
