import { type Clock, pause, systemClock } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import {
  failureResponse,
  isAnswerTo,
  type McpHttpClient,
  type McpId,
  type McpMessage,
  messagesIn,
  notification,
  paramsOf,
  requestIdOf,
} from './http-client.ts';
import { answerInterrupted } from './stateless-requests.ts';

const RETRY_MS = 1_000;
const SUBSCRIBE_TRIES = 30;
const GOODBYE_MS = 1_000;
const INITIALIZED = notification('notifications/initialized');

interface SessionParts {
  readonly door: McpHttpClient;
  readonly write: (message: McpMessage) => void;
  readonly clock?: Clock;
}

/** What the hub said to the handshake. */
interface Handshake {
  readonly sessionId: string | undefined;
  readonly version: string;
  readonly capabilities: JsonObject;
}

/**
 * The session of a client of 2025-11-25 or before. A hub that has started anew does not know it any more: then it is made
 * again with the client's own handshake and subscriptions, and the client is told that all may have changed.
 */
export class McpSession {
  readonly #door: McpHttpClient;
  readonly #write: (message: McpMessage) => void;
  readonly #clock: Clock;
  readonly #end = new AbortController();
  readonly #subscribed = new Set<string>();
  #greeting: McpMessage | undefined;
  #handshake: Handshake | undefined;
  #remaking: Promise<void> | undefined;
  #remade = 0;
  /** Handshake, notifications and the client's own answers go one after the other. */
  #inOrder: Promise<void> = Promise.resolve();
  #isListening = false;
  #hasListened = false;
  /** After what the next stream goes on, where the hub still knows the session. */
  #lastEventId: string | undefined;

  constructor({ door, write, clock = systemClock }: SessionParts) {
    this.#door = door;
    this.#write = write;
    this.#clock = clock;
  }

  /** Resolves when all has been said. Never throws. */
  async handle(message: McpMessage): Promise<void> {
    const id = requestIdOf(message);
    const before = this.#inOrder;
    if (id === undefined) {
      this.#inOrder = before.then(() => this.#tell(message));
      return this.#inOrder;
    }
    const answered = before.then(() => this.#ask(message, id));
    if (message.method === 'initialize') this.#inOrder = answered;
    return answered;
  }

  /** Ends the session on the hub, if that still answers. */
  async close(): Promise<void> {
    this.#end.abort();
    if (this.#handshake?.sessionId === undefined) return;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    await this.#door.send({ method: 'DELETE', headers: this.#headers(), signal }).catch(() => undefined);
  }

  async #tell(message: McpMessage): Promise<void> {
    try {
      const response = await this.#post(message);
      await response.body?.cancel();
      if (message.method === INITIALIZED.method && response.ok) this.#startListening();
    } catch {
      // A client hears nothing about its notifications; its next request says that the hub is gone.
    }
  }

  async #ask(message: McpMessage, id: McpId): Promise<void> {
    try {
      if (message.method === 'initialize') await this.#greet(message, this.#write);
      else await this.#exchange(message, id);
    } catch (thrown) {
      if (!this.#end.signal.aborted) this.#write(failureResponse(id, toAtmoError(thrown)));
    }
  }

  async #greet(greeting: McpMessage, tell: (message: McpMessage) => void): Promise<void> {
    const response = await this.#door.send({ method: 'POST', message: greeting, signal: this.#end.signal });
    for await (const { message } of messagesIn(response)) {
      if (isAnswerTo(requestIdOf(greeting), message) && isJsonObject(message.result)) {
        this.#greeting = greeting;
        this.#handshake = handshakeOf(response, message.result);
      }
      tell(message);
    }
  }

  async #exchange(message: McpMessage, id: McpId): Promise<void> {
    let isAnswered = false;
    const response = await this.#post(message);
    for await (const arrival of messagesIn(response)) {
      isAnswered ||= isAnswerTo(id, arrival.message);
      this.#write(arrival.message);
    }
    if (!isAnswered) throw answerInterrupted();
    this.#remember(message, response);
  }

  #remember(message: McpMessage, response: Response): void {
    const { uri } = paramsOf(message);
    if (!response.ok || typeof uri !== 'string') return;
    if (message.method === 'resources/subscribe') this.#subscribed.add(uri);
    if (message.method === 'resources/unsubscribe') this.#subscribed.delete(uri);
  }

  /** A session that the hub does not know is made again; it has done nothing of the message then. */
  async #post(message: McpMessage): Promise<Response> {
    const known = this.#handshake;
    const response = await this.#postOnce(message);
    if (response.status !== 404 || known?.sessionId === undefined) return response;
    await response.body?.cancel();
    if (this.#handshake === known) await this.#remake();
    return this.#postOnce(message);
  }

  #postOnce(message: McpMessage): Promise<Response> {
    return this.#door.send({ method: 'POST', message, headers: this.#headers(), signal: this.#end.signal });
  }

  #remake(): Promise<void> {
    this.#remaking ??= this.#makeAgain().finally(() => {
      this.#remaking = undefined;
    });
    return this.#remaking;
  }

  async #makeAgain(): Promise<void> {
    if (!this.#greeting) return;
    this.#remade += 1;
    this.#lastEventId = undefined;
    await this.#greet({ ...this.#greeting, id: `atmo-${this.#remade}` }, () => undefined);
    await (await this.#postOnce(INITIALIZED)).body?.cancel();
    await Promise.all([...this.#subscribed].map((uri) => this.#subscribeAgain(uri)));
    for (const missed of this.#missed()) this.#write(missed);
    this.#startListening();
  }

  /** A hub that has just started may not know the device yet: it is asked again for a while, and nobody waits for that. */
  async #subscribeAgain(uri: string, triesLeft = SUBSCRIBE_TRIES): Promise<void> {
    const id = `atmo-${this.#remade}-${triesLeft}-${uri}`;
    const response = await this.#postOnce({ jsonrpc: '2.0', id, method: 'resources/subscribe', params: { uri } });
    for await (const { message } of messagesIn(response)) {
      if (!isAnswerTo(id, message)) this.#write(message);
      else if (isJsonObject(message.error) && triesLeft > 1) this.#subscribeLater(uri, triesLeft - 1);
    }
  }

  #subscribeLater(uri: string, triesLeft: number): void {
    const again = async () => {
      await pause(this.#clock, RETRY_MS, this.#end.signal);
      if (this.#end.signal.aborted || !this.#subscribed.has(uri)) return;
      await this.#subscribeAgain(uri, triesLeft);
      this.#write(notification('notifications/resources/updated', { uri }));
    };
    // The session is made again as a whole where even that cannot be asked.
    again().catch(() => undefined);
  }

  /** What the hub said while no stream was open nobody heard: a stream that goes on after no event begins with all that may have changed. */
  #catchUp(): void {
    for (const missed of this.#hasListened ? this.#missed() : this.#updates()) this.#write(missed);
    this.#hasListened = true;
  }

  #missed(): readonly McpMessage[] {
    const capabilities = this.#handshake?.capabilities ?? {};
    const lists = ['tools', 'prompts', 'resources'].filter((kind) => {
      const capability = capabilities[kind];
      return isJsonObject(capability) && capability.listChanged === true;
    });
    return [...lists.map((kind) => notification(`notifications/${kind}/list_changed`)), ...this.#updates()];
  }

  #updates(): readonly McpMessage[] {
    return [...this.#subscribed].map((uri) => notification('notifications/resources/updated', { uri }));
  }

  #startListening(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    void this.#listen().finally(() => {
      this.#isListening = false;
    });
  }

  /** The stream on which the hub speaks unasked; it is opened again for as long as the client is there and may have it. */
  async #listen(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.#hear();
      } catch (error) {
        // One that is cut comes again; one that is refused does not.
        if (error instanceof AtmoError && !error.toBody().retryable) return;
      }
      await pause(this.#clock, RETRY_MS, this.#end.signal);
    }
  }

  /** All that one connection brings. */
  async #hear(): Promise<void> {
    const known = this.#handshake;
    const after = this.#lastEventId;
    const headers = { ...this.#headers(), ...(after !== undefined && { 'last-event-id': after }) };
    const response = await this.#door.send({ method: 'GET', headers, signal: this.#end.signal });
    if (response.status === 404) {
      await response.body?.cancel();
      if (this.#handshake === known) await this.#remake();
      return;
    }
    if (response.ok && after === undefined) this.#catchUp();
    for await (const { message, eventId } of messagesIn(response)) {
      this.#lastEventId = eventId ?? this.#lastEventId;
      this.#write(message);
    }
  }

  #headers(): Record<string, string> {
    const { sessionId, version } = this.#handshake ?? {};
    return {
      ...(version !== undefined && { 'mcp-protocol-version': version }),
      ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
    };
  }
}

function handshakeOf(response: Response, { protocolVersion, capabilities }: JsonObject): Handshake {
  return {
    sessionId: response.headers.get('mcp-session-id') ?? undefined,
    version: String(protocolVersion),
    capabilities: isJsonObject(capabilities) ? capabilities : {},
  };
}
