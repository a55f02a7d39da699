import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';

/** A WebSocket of text messages (RFC 6455). */
export interface RelaySocket {
  send(text: string): void;
  /** What waits to go out. */
  readonly waitingBytes: number;
  /** Says goodbye, and hangs up when nobody answers that. */
  close(): void;
}

/** What is told about a socket; `onClose` once, also when it never opened. */
export interface SocketEvents {
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  readonly onClose: (reason: string) => void;
}

/** Opens a socket; answers before it is open. */
export type OpenSocket = (url: string, events: SocketEvents) => Promise<RelaySocket>;

/** An announcement of fifty entries by the original has 1.2 MB. Node's own client takes 128 MiB, more than a small board has. */
const MAX_MESSAGE_BYTES = 4_194_304;
/** Bytes that wait to go out before pings are passed over. */
const MAX_WAITING_PONGS = 65_536;
const GOODBYE_MS = 1_000;

/** The socket over `ws`, which is loaded here and nowhere else. Longer messages end the connection, compression is not offered. */
export const openSocket: OpenSocket = async (url, { onOpen, onText, onClose }) => {
  // A CommonJS package: its names are members of `default`, in the bundle there alone.
  const { default: WebSocket } = await import('ws');
  const socket = new WebSocket(url, {
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handshakeTimeout: INVOCATION_POLICY.connectTimeoutMs,
    autoPong: false,
  });
  let problem = '';
  socket.on('open', onOpen);
  socket.on('message', (data, isBinary) => {
    if (!isBinary) onText(String(data));
  });
  socket.on('ping', (data) => {
    // Who pings without end and reads nothing would fill the memory with answers.
    if (socket.bufferedAmount < MAX_WAITING_PONGS) socket.pong(data, true, () => {});
  });
  socket.on('error', (error) => {
    problem = error.message;
  });
  socket.on('close', (code, reason) => onClose(problem || String(reason) || `closed with ${code}`));
  return {
    send: (text) => socket.send(text, () => {}),
    get waitingBytes() {
      return socket.bufferedAmount;
    },
    close() {
      socket.close();
      setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
    },
  };
};
