import { repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import { boundedLine } from './remote-nodes.ts';
import { parseShallowJson } from './shallow-json.ts';

interface ConnectionCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly open: typeof openSocket;
  /** Returns a random number that is at least 0 and less than 1. */
  readonly random: () => number;
}

/** Settings of a connection to a relay, and the functions that the connection calls on events. */
interface RelaySession {
  readonly url: string;
  readonly nodeId: string;
  readonly entry: () => JsonObject;
  readonly onJoined: () => void;
  readonly onFrame: (frame: JsonObject) => void;
  readonly onLost: () => void;
}

const PING_MS = 20_000;
const SILENCE_TIMEOUT_MS = 60_000;
const JOIN_TIMEOUT_MS = 30_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;
/** Pause in milliseconds before the next connection if the relay refused the node. */
const REFUSED_BACKOFF_MS = 300_000;
/** After a connection that lasted at least this many milliseconds, the next pause is the shortest one again. */
const STABLE_AFTER_MS = 60_000;
const JITTER = 0.5;
const MAX_BUFFERED_BYTES = 4_194_304;
/** Maximum number of characters in all messages between two pings of the hub. Further messages are dropped until the next ping. */
const MAX_RECEIVED_BYTES = 16_777_216;
const MAX_PROBLEM = 200;

/** Keeps one connection to a relay: joins the mesh, sends pings, and reconnects after growing pauses. */
export class RelayConnection implements Service {
  readonly #parts: ConnectionCollaborators;
  readonly #session: RelaySession;
  #socket: RelaySocket | undefined;
  /** Number of the current socket; events of earlier sockets are ignored. */
  #turn = 0;
  #timers: (() => void)[] = [];
  #failures = 0;
  #isJoined = false;
  #isRefused = false;
  #joinedAtMs = 0;
  #receivedAtMs = 0;
  #receivedBytes = 0;
  #problem = 'not connected yet';

  constructor(parts: ConnectionCollaborators, session: RelaySession) {
    this.#parts = parts;
    this.#session = session;
  }

  /** Returns why the node has not joined; undefined if it has. */
  get problem(): string | undefined {
    return this.#isJoined ? undefined : this.#problem;
  }

  /** Starts to connect without waiting for the relay. The random delay spreads the connections of many nodes after a power cut. */
  async start(): Promise<void> {
    const { clock, random } = this.#parts;
    this.#timers = [clock.after(MIN_BACKOFF_MS * random(), () => this.#connect())];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disconnect();
    this.#isJoined = false;
    this.#problem = 'the hub is stopping';
  }

  /** Sends a frame. If the node has not joined, or if too many bytes are still unsent, sends nothing and returns false. */
  send(frame: JsonObject): boolean {
    if (!this.#isJoined || !this.#socket || this.#socket.waitingBytes > MAX_BUFFERED_BYTES) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  #connect(): void {
    const turn = ++this.#turn;
    const isNow = () => turn === this.#turn;
    const { clock, open } = this.#parts;
    this.#isRefused = false;
    this.#receivedBytes = 0;
    this.#receivedAtMs = clock.monotonic();
    this.#timers = [clock.after(JOIN_TIMEOUT_MS, () => this.#isJoined || this.#lose('the relay does not let us in'))];
    const events = {
      onOpen: () => isNow() && this.#socket?.send(JSON.stringify(this.#session.entry())),
      onText: (text: string) => isNow() && this.#onText(text),
      onClose: (reason: string) => isNow() && this.#lose(reason),
    };
    void open(this.#session.url, events).then(
      (socket) => {
        if (isNow()) this.#socket = socket;
        else socket.close();
      },
      (error: unknown) => isNow() && this.#lose(String(error)),
    );
  }

  #onText(text: string): void {
    this.#receivedAtMs = this.#parts.clock.monotonic();
    this.#receivedBytes += text.length;
    if (this.#receivedBytes > MAX_RECEIVED_BYTES) return;
    const frame = parseShallowJson(text);
    if (!isJsonObject(frame)) return;
    if (frame.type === 'joined' && !this.#isJoined) this.#onJoined();
    else if (frame.type === 'error' && !this.#isJoined) this.#onRefused(frame);
    // The hub also pings itself over the relay. This error is the reply to such a ping if the relay no longer lists the hub.
    else if (frame.type === 'error' && frame.message === `Peer ${this.#session.nodeId} not found`) this.#lose('the relay has forgotten us');
    else if (this.#isJoined) this.#session.onFrame(frame);
  }

  #onJoined(): void {
    const { clock, logger } = this.#parts;
    this.#endTimers();
    this.#isJoined = true;
    this.#joinedAtMs = clock.monotonic();
    this.#receivedBytes = 0;
    this.#timers = [repeat(clock, PING_MS, () => this.#ping())];
    logger.info('atmosphere.joined', { relay: this.#session.url });
    this.#session.onJoined();
  }

  #onRefused({ code, message }: JsonObject): void {
    this.#isRefused = true;
    this.#lose(`the relay refused: ${[code, message].map((word) => boundedLine(word, MAX_PROBLEM)).join(' ')}`);
  }

  #ping(): void {
    this.#receivedBytes = 0;
    if (this.#parts.clock.monotonic() - this.#receivedAtMs >= SILENCE_TIMEOUT_MS) this.#lose('the relay is silent');
    else {
      this.send({ type: 'ping' });
      // When an old connection ends, the relay may drop the hub but still answer plain pings. A ping to the hub itself then fails.
      this.send({ type: 'direct', target: this.#session.nodeId, payload: { type: 'ping' } });
    }
  }

  #lose(reason: string): void {
    const { clock, logger } = this.#parts;
    this.#disconnect();
    const problem = boundedLine(reason, MAX_PROBLEM);
    if (this.#isJoined || problem !== this.#problem) logger.warn('atmosphere.disconnected', { relay: this.#session.url, problem });
    this.#problem = problem;
    if (this.#isJoined && clock.monotonic() - this.#joinedAtMs >= STABLE_AFTER_MS) this.#failures = 0;
    const wasJoined = this.#isJoined;
    this.#isJoined = false;
    this.#timers = [clock.after(this.#pauseMs(), () => this.#connect())];
    if (wasJoined) this.#session.onLost();
  }

  #disconnect(): void {
    this.#turn++;
    this.#endTimers();
    this.#socket?.close();
    this.#socket = undefined;
  }

  #pauseMs(): number {
    const growingMs = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(this.#failures++, 16));
    return (this.#isRefused ? REFUSED_BACKOFF_MS : growingMs) * (1 - JITTER * this.#parts.random());
  }

  #endTimers(): void {
    for (const end of this.#timers.splice(0)) end();
  }
}

/** A WebSocket that carries text messages (RFC 6455). */
interface RelaySocket {
  send(text: string): void;
  /** Bytes that have not been sent yet. */
  readonly waitingBytes: number;
  /** Sends a close frame, and ends the connection if no close frame is received. */
  close(): void;
}

/** The events of a socket. `onClose` is called once, even if the socket never opened. */
export interface SocketEvents {
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  readonly onClose: (reason: string) => void;
}

/** Longest received message in bytes. An announcement of fifty tools has 1.2 MB. The WebSocket client of Node.js would accept 128 MiB. */
const MAX_MESSAGE_BYTES = 4_194_304;
/** The hub answers no pings of the relay while at least this many bytes are unsent. */
const MAX_BUFFERED_PONG_BYTES = 65_536;
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Opens a socket with the package `ws`, which only this function loads, and returns before the socket is open. A message that is too long
 * ends the connection. Compression is not offered.
 */
export async function openSocket(url: string, { onOpen, onText, onClose }: SocketEvents): Promise<RelaySocket> {
  // `ws` is a CommonJS package: in the bundle its exports exist only on `default`.
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
    // A relay that sends pings and reads nothing would otherwise fill the memory with unsent pongs.
    if (socket.bufferedAmount < MAX_BUFFERED_PONG_BYTES) socket.pong(data, true, () => {});
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
      setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref();
    },
  };
}
