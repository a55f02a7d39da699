import { type Clock, repeat } from '../../core/clock.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import { boundedLine } from './remote-nodes.ts';
import { parseShallowJson } from './shallow-json.ts';

interface ConnectionCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly open: OpenSocket;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Where the relay is, how it is entered, and who hears what comes. */
export interface RelaySession {
  readonly url: string;
  readonly nodeId: string;
  readonly entry: () => JsonObject;
  /** The relay has let the node in. */
  readonly onJoined: () => void;
  readonly onFrame: (frame: JsonObject) => void;
  readonly onLost: () => void;
}

const PING_MS = 20_000;
const SILENCE_TIMEOUT_MS = 60_000;
const JOIN_TIMEOUT_MS = 30_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;
/** A relay that does not want us will not want us in a second. */
const REFUSED_BACKOFF_MS = 300_000;
/** A connection that lasted so long was a good one: the next pause is short again. */
const STABLE_AFTER_MS = 60_000;
const JITTER = 0.5;
const MAX_BUFFERED_BYTES = 4_194_304;
/** What is read in the time between two pings; more is thrown away unread. */
const MAX_RECEIVED_BYTES = 16_777_216;
const MAX_PROBLEM = 200;

/** One connection to a relay: entered, kept alive by pings, and made again after ever longer pauses. */
export class RelayConnection implements Service {
  readonly #with: ConnectionCollaborators;
  readonly #room: RelaySession;
  #socket: RelaySocket | undefined;
  /** Grows with each socket: what an old one still says is not heard. */
  #turn = 0;
  #timers: (() => void)[] = [];
  #failures = 0;
  #isJoined = false;
  #isRefused = false;
  #joinedAtMs = 0;
  #heardAtMs = 0;
  #heardBytes = 0;
  #problem = 'not connected yet';

  constructor(parts: ConnectionCollaborators, room: RelaySession) {
    this.#with = parts;
    this.#room = room;
  }

  /** What keeps the node out; undefined while it is in. */
  get problem(): string | undefined {
    return this.#isJoined ? undefined : this.#problem;
  }

  /** Answers at once: a relay that is away does not hold the hub up. After a power cut not all nodes come in the same moment. */
  async start(): Promise<void> {
    const { clock, random } = this.#with;
    this.#timers = [clock.after(MIN_BACKOFF_MS * random(), () => this.#connect())];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#turn++;
    this.#endTimers();
    this.#isJoined = false;
    this.#problem = 'the hub is stopping';
    this.#socket?.close();
    this.#socket = undefined;
  }

  /** False where the frame did not go out: the node is not in, or the relay does not take what it got before. */
  send(frame: JsonObject): boolean {
    if (!this.#isJoined || !this.#socket || this.#socket.waitingBytes > MAX_BUFFERED_BYTES) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  #connect(): void {
    const turn = ++this.#turn;
    const isNow = () => turn === this.#turn;
    this.#isRefused = false;
    this.#heardBytes = 0;
    this.#heardAtMs = this.#with.clock.monotonic();
    this.#timers = [this.#with.clock.after(JOIN_TIMEOUT_MS, () => this.#isJoined || this.#lose('the relay does not let us in'))];
    const events = {
      onOpen: () => isNow() && this.#socket?.send(JSON.stringify(this.#room.entry())),
      onText: (text: string) => isNow() && this.#onText(text),
      onClose: (reason: string) => isNow() && this.#lose(reason),
    };
    void this.#with.open(this.#room.url, events).then(
      (socket) => {
        if (isNow()) this.#socket = socket;
        else socket.close();
      },
      (error: unknown) => isNow() && this.#lose(String(error)),
    );
  }

  #onText(text: string): void {
    this.#heardAtMs = this.#with.clock.monotonic();
    this.#heardBytes += text.length;
    if (this.#heardBytes > MAX_RECEIVED_BYTES) return;
    const frame = parseShallowJson(text);
    if (!isJsonObject(frame)) return;
    if (frame.type === 'joined' && !this.#isJoined) this.#onJoined();
    else if (frame.type === 'error' && !this.#isJoined) this.#onRefused(frame);
    else if (this.#isForgotten(frame)) this.#lose('the relay has forgotten us');
    else if (this.#isJoined) this.#room.onFrame(frame);
  }

  #onJoined(): void {
    const { clock, logger } = this.#with;
    this.#endTimers();
    this.#isJoined = true;
    this.#joinedAtMs = clock.monotonic();
    this.#heardBytes = 0;
    this.#timers = [repeat(clock, PING_MS, () => this.#ping())];
    logger.info('atmosphere.joined', { relay: this.#room.url });
    this.#room.onJoined();
  }

  #onRefused({ code, message }: JsonObject): void {
    this.#isRefused = true;
    this.#lose(`the relay refused: ${[code, message].map((word) => boundedLine(word, MAX_PROBLEM)).join(' ')}`);
  }

  #ping(): void {
    this.#heardBytes = 0;
    if (this.#with.clock.monotonic() - this.#heardAtMs >= SILENCE_TIMEOUT_MS) this.#lose('the relay is silent');
    else {
      this.send({ type: 'ping' });
      // When an old connection of a node ends, the relay takes the new one off its list, and still answers its pings.
      this.send({ type: 'direct', target: this.#room.nodeId, payload: { type: 'ping' } });
    }
  }

  #isForgotten({ type, message }: JsonObject): boolean {
    return type === 'error' && message === `Peer ${this.#room.nodeId} not found`;
  }

  #lose(reason: string): void {
    const { clock, logger } = this.#with;
    this.#turn++;
    this.#endTimers();
    this.#socket?.close();
    this.#socket = undefined;
    const problem = boundedLine(reason, MAX_PROBLEM);
    if (this.#isJoined || problem !== this.#problem) logger.warn('atmosphere.away', { relay: this.#room.url, problem });
    this.#problem = problem;
    if (this.#isJoined && clock.monotonic() - this.#joinedAtMs >= STABLE_AFTER_MS) this.#failures = 0;
    const wasJoined = this.#isJoined;
    this.#isJoined = false;
    this.#timers = [clock.after(this.#pauseMs(), () => this.#connect())];
    if (wasJoined) this.#room.onLost();
  }

  #pauseMs(): number {
    const growingMs = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(this.#failures++, 16));
    return (this.#isRefused ? REFUSED_BACKOFF_MS : growingMs) * (1 - JITTER * this.#with.random());
  }

  #endTimers(): void {
    for (const end of this.#timers.splice(0)) end();
  }
}

/** A WebSocket of text messages (RFC 6455). */
interface RelaySocket {
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
type OpenSocket = (url: string, events: SocketEvents) => Promise<RelaySocket>;

/** An announcement of fifty entries by the original has 1.2 MB. Node's own client takes 128 MiB, more than a small board has. */
const MAX_MESSAGE_BYTES = 4_194_304;
/** Bytes that wait to go out before pings are passed over. */
const MAX_BUFFERED_PONG_BYTES = 65_536;
const CLOSE_TIMEOUT_MS = 1_000;

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
};
