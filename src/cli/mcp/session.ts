import { pause } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../core/json.ts';
import {
  changeNotifications,
  failureResponse,
  forwardMessages,
  isAnswerTo,
  type McpEnds,
  type McpId,
  type McpMessage,
  messagesIn,
  paramsOf,
  requestIdOf,
} from './http-client.ts';

const RETRY_MS = 1_000;
const SUBSCRIBE_TRIES = 30;
const GOODBYE_MS = 1_000;
const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };

interface Handshake {
  readonly sessionId: string | undefined;
  readonly version: string;
  readonly capabilities: JsonObject;
}

/**
 * Handles the session of a client that uses MCP version 2025-11-25 or older. If the hub has restarted and lost the session, this class
 * repeats the client's handshake and subscriptions, and tells the client that everything may have changed.
 */
export class McpSession {
  readonly #ends: McpEnds;
  readonly #end = new AbortController();
  readonly #subscribed = new Set<string>();
  #greeting: McpMessage | undefined;
  #handshake: Handshake | undefined;
  #remaking: Promise<void> | undefined;
  #remade = 0;
  /** Resolves when the client's previous handshake, notification or response was sent. The next one waits for this to keep the order. */
  #inOrder: Promise<void> = Promise.resolve();
  #isListening = false;
  #hasListened = false;
  /** Id of the last event. The next stream continues after it, if the hub still has the session. */
  #lastEventId: string | undefined;

  constructor(ends: McpEnds) {
    this.#ends = ends;
  }

  /** Handles a message of the client. Never rejects. */
  async handle(message: McpMessage): Promise<void> {
    const id = requestIdOf(message);
    const before = this.#inOrder;
    if (id === undefined) {
      this.#inOrder = before.then(() => this.#notify(message));
      return this.#inOrder;
    }
    const answered = before.then(() => this.#request(message, id));
    if (message.method === 'initialize') this.#inOrder = answered;
    return answered;
  }

  /** Ends the session on the hub. Does nothing if the hub does not respond. */
  async close(): Promise<void> {
    this.#end.abort();
    if (this.#handshake?.sessionId === undefined) return;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    await this.#ends.client.send({ method: 'DELETE', headers: this.#headers(), signal }).catch(() => undefined);
  }

  async #notify(message: McpMessage): Promise<void> {
    try {
      const response = await this.#post(message);
      await response.body?.cancel();
      if (message.method === INITIALIZED.method && response.ok) this.#startListening();
    } catch {
      // The error is ignored: a notification has no response. If the hub is gone, the client learns this from its next request.
    }
  }

  async #request(message: McpMessage, id: McpId): Promise<void> {
    try {
      if (message.method === 'initialize') await this.#initialize(message, this.#ends.write);
      else await this.#exchange(message, id);
    } catch (thrown) {
      if (!this.#end.signal.aborted) this.#ends.write(failureResponse(id, toAtmoError(thrown)));
    }
  }

  async #initialize(greeting: McpMessage, write: McpEnds['write']): Promise<void> {
    const response = await this.#ends.client.send({ method: 'POST', message: greeting, signal: this.#end.signal });
    for await (const { message } of messagesIn(response)) {
      if (isAnswerTo(requestIdOf(greeting), message) && isJsonObject(message.result)) {
        this.#greeting = greeting;
        this.#handshake = handshakeOf(response, message.result);
      }
      write(message);
    }
  }

  async #exchange(message: McpMessage, id: McpId): Promise<void> {
    const response = await this.#post(message);
    await forwardMessages(response, id, this.#ends.write);
    const { uri } = paramsOf(message);
    if (!response.ok || typeof uri !== 'string') return;
    if (message.method === 'resources/subscribe') this.#subscribed.add(uri);
    if (message.method === 'resources/unsubscribe') this.#subscribed.delete(uri);
  }

  /** Sends a message. If the hub has lost the session (HTTP 404), makes a new session and sends the message again. */
  async #post(message: McpMessage): Promise<Response> {
    const known = this.#handshake;
    const response = await this.#postOnce(message);
    if (response.status !== 404 || known?.sessionId === undefined) return response;
    await response.body?.cancel();
    if (this.#handshake === known) await this.#remake();
    return this.#postOnce(message);
  }

  #postOnce(message: McpMessage): Promise<Response> {
    return this.#ends.client.send({ method: 'POST', message, headers: this.#headers(), signal: this.#end.signal });
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
    await this.#initialize({ ...this.#greeting, id: `atmo-${this.#remade}` }, () => undefined);
    await (await this.#postOnce(INITIALIZED)).body?.cancel();
    await Promise.all([...this.#subscribed].map((uri) => this.#subscribeAgain(uri)));
    this.#notifyChanges(this.#listsWithNotifications());
    this.#startListening();
  }

  /** Subscribes again in a new session. Retries in the background, since a hub that has just started may not have loaded the device yet. */
  async #subscribeAgain(uri: string, triesLeft = SUBSCRIBE_TRIES): Promise<void> {
    const id = `atmo-${this.#remade}-${triesLeft}-${uri}`;
    const response = await this.#postOnce({ jsonrpc: '2.0', id, method: 'resources/subscribe', params: { uri } });
    for await (const { message } of messagesIn(response)) {
      if (!isAnswerTo(id, message)) this.#ends.write(message);
      else if (isJsonObject(message.error) && triesLeft > 1) this.#subscribeLater(uri, triesLeft - 1);
    }
  }

  #subscribeLater(uri: string, triesLeft: number): void {
    const again = async () => {
      await pause(this.#ends.clock, RETRY_MS, this.#end.signal);
      if (this.#end.signal.aborted || !this.#subscribed.has(uri)) return;
      await this.#subscribeAgain(uri, triesLeft);
      for (const change of changeNotifications([], [uri])) this.#ends.write(change);
    };
    // An error is ignored here, because the next message makes a new session.
    again().catch(() => undefined);
  }

  /** Tells the client that these lists and all subscribed resources may have changed. */
  #notifyChanges(lists: readonly string[]): void {
    for (const change of changeNotifications(lists, this.#subscribed)) this.#ends.write(change);
  }

  #listsWithNotifications(): readonly string[] {
    const capabilities = this.#handshake?.capabilities ?? {};
    return ['tools', 'prompts', 'resources'].filter((kind) => objectOf(capabilities[kind]).listChanged === true);
  }

  #startListening(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    void this.#listen().finally(() => {
      this.#isListening = false;
    });
  }

  /** Reads the stream of the hub's messages. Opens the stream again until the session ends or the hub refuses the stream. */
  async #listen(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.#receive();
      } catch (error) {
        // A stream that was cut is opened again. A stream that the hub refuses is not opened again.
        if (error instanceof AtmoError && !error.toBody().retryable) return;
      }
      await pause(this.#ends.clock, RETRY_MS, this.#end.signal);
    }
  }

  /** Writes the messages of one connection to the client. */
  async #receive(): Promise<void> {
    const known = this.#handshake;
    const after = this.#lastEventId;
    const headers = { ...this.#headers(), ...(after !== undefined && { 'last-event-id': after }) };
    const response = await this.#ends.client.send({ method: 'GET', headers, signal: this.#end.signal });
    if (response.status === 404) {
      await response.body?.cancel();
      if (this.#handshake === known) await this.#remake();
      return;
    }
    // Without a last event id the stream contains only new messages, so the client may have missed some.
    if (response.ok && after === undefined) this.#notifyChanges(this.#hasListened ? this.#listsWithNotifications() : []);
    this.#hasListened ||= response.ok;
    for await (const { message, eventId } of messagesIn(response)) {
      this.#lastEventId = eventId ?? this.#lastEventId;
      this.#ends.write(message);
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
    capabilities: objectOf(capabilities),
  };
}
