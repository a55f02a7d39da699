import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';

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
