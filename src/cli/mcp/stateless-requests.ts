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
  SUBSCRIPTION_KEY,
  statedVersion,
} from './http-client.ts';

const LISTEN = 'subscriptions/listen';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const RETRY_MS = 1_000;
/** What `Mcp-Name` repeats of the parameters, by method (2026-07-28, Streamable HTTP, standard request headers). */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
const SAFE_HEADER = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** Messages of 2026-07-28 and later: each is a request of HTTP of its own, which ends when the client cancels it. */
export class McpStatelessRequests {
  readonly #door: McpHttpClient;
  readonly #write: (message: McpMessage) => void;
  readonly #clock: Clock;
  readonly #running = new Map<McpId, AbortController>();

  constructor(parts: { readonly door: McpHttpClient; readonly write: (message: McpMessage) => void; readonly clock?: Clock }) {
    this.#door = parts.door;
    this.#write = parts.write;
    this.#clock = parts.clock ?? systemClock;
  }

  /** Ends a request, as the client asked; false when none of this id runs. */
  cancel(id: unknown): boolean {
    const running = typeof id === 'string' || typeof id === 'number' ? this.#running.get(id) : undefined;
    running?.abort();
    return running !== undefined;
  }

  /** Resolves when all has been said. Never throws. */
  async handle(message: McpMessage): Promise<void> {
    const id = requestIdOf(message);
    // Nobody waits for what becomes of a notification.
    if (id === undefined) return void (await this.#exchange(message, new AbortController().signal).catch(() => undefined));
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      if (message.method === LISTEN) await this.#listen(message, controller.signal);
      else await this.#exchange(message, controller.signal);
    } catch (thrown) {
      if (!controller.signal.aborted) this.#write(failureResponse(id, toAtmoError(thrown)));
    } finally {
      this.#running.delete(id);
    }
  }

  close(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #exchange(message: McpMessage, signal: AbortSignal): Promise<void> {
    const id = requestIdOf(message);
    let isAnswered = false;
    for await (const arrival of this.#arrivals(message, signal)) {
      isAnswered ||= isAnswerTo(id, arrival);
      this.#write(arrival);
    }
    if (id !== undefined && !isAnswered && !signal.aborted) throw answerInterrupted();
  }

  /** A subscription lives as long as the client wants: what ends it from the other side is a hub that stops, and it comes back. */
  async #listen(message: McpMessage, signal: AbortSignal): Promise<void> {
    let isKnown = false;
    while (!signal.aborted) {
      try {
        for await (const arrival of this.#arrivals(message, signal)) {
          const isFirst = arrival.method === ACKNOWLEDGED;
          if (isAnswerTo(requestIdOf(message), arrival)) {
            if (!isKnown || isJsonObject(arrival.error)) return this.#write(arrival);
            break;
          }
          if (isFirst && isKnown) for (const missed of missedNotifications(message)) this.#write(missed);
          else this.#write(arrival);
          isKnown ||= isFirst;
        }
      } catch (error) {
        // Refused for good, or the hub was not there to begin with.
        if (!isKnown || (error instanceof AtmoError && !error.toBody().retryable)) throw error;
      }
      await pause(this.#clock, RETRY_MS, signal);
    }
  }

  async *#arrivals(message: McpMessage, signal: AbortSignal): AsyncIterable<McpMessage> {
    const response = await this.#door.send({ method: 'POST', message, headers: headersOf(message), signal });
    for await (const arrival of messagesIn(response)) yield arrival.message;
  }
}

function headersOf(message: McpMessage): Record<string, string> {
  const method = String(message.method);
  const named = Object.hasOwn(NAMED_BY, method) ? paramsOf(message)[NAMED_BY[method] ?? ''] : undefined;
  return {
    'mcp-protocol-version': statedVersion(message) ?? '',
    ...(requestIdOf(message) !== undefined && { 'mcp-method': method }),
    ...(typeof named === 'string' && { 'mcp-name': headerText(named) }),
  };
}

/** Text that no header can hold as it is goes in base64, marked as such (2026-07-28, Streamable HTTP, value encoding). */
function headerText(text: string): string {
  const isPlain = SAFE_HEADER.test(text) && !(text.startsWith('=?base64?') && text.endsWith('?='));
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** What may have changed while nobody listened: all that the client listens for. */
function missedNotifications(message: McpMessage): readonly McpMessage[] {
  const { notifications } = paramsOf(message);
  const wanted: JsonObject = isJsonObject(notifications) ? notifications : {};
  const _meta = { [SUBSCRIPTION_KEY]: message.id ?? null };
  const uris = Array.isArray(wanted.resourceSubscriptions) ? wanted.resourceSubscriptions : [];
  return [
    ...['tools', 'prompts', 'resources']
      .filter((kind) => wanted[`${kind}ListChanged`] === true)
      .map((kind) => notification(`notifications/${kind}/list_changed`, { _meta })),
    ...uris.map((uri) => notification('notifications/resources/updated', { _meta, uri })),
  ];
}

/** The answer to a request whose response ended too early. */
export function answerInterrupted(): AtmoError {
  return new AtmoError(
    'OUTCOME_UNKNOWN',
    'The hub went away before it answered: what was asked may or may not have been done; look at the state before you ask again',
  );
}
