import { pause } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, objectOf } from '../../core/json.ts';
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
  SUBSCRIPTION_KEY,
  statedVersion,
} from './http-client.ts';

const LISTEN = 'subscriptions/listen';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const RETRY_MS = 1_000;
/** For each method, the parameter whose value the header `Mcp-Name` repeats (MCP version 2026-07-28, standard request headers). */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
const SAFE_HEADER = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** Sends messages of MCP version 2026-07-28 or newer. Each message is a separate HTTP request, which ends if the client cancels it. */
export class McpStatelessRequests {
  readonly #ends: McpEnds;
  readonly #running = new Map<McpId, AbortController>();

  constructor(ends: McpEnds) {
    this.#ends = ends;
  }

  /** Cancels a request of the client. Returns false if no request with this id runs. */
  cancel(id: unknown): boolean {
    const running = typeof id === 'string' || typeof id === 'number' ? this.#running.get(id) : undefined;
    running?.abort();
    return running !== undefined;
  }

  /** Handles a message of the client. Never rejects. */
  async handle(message: McpMessage): Promise<void> {
    const id = requestIdOf(message);
    const controller = new AbortController();
    const { signal } = controller;
    if (id !== undefined) this.#running.set(id, controller);
    try {
      if (message.method === LISTEN) await this.#listen(message, signal);
      else await forwardMessages(await this.#send(message, signal), id, this.#ends.write);
    } catch (thrown) {
      // Only requests get a response; notifications get none.
      if (id !== undefined && !signal.aborted) this.#ends.write(failureResponse(id, toAtmoError(thrown)));
    } finally {
      if (id !== undefined) this.#running.delete(id);
    }
  }

  close(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  /** Keeps a subscription open until the client cancels it. Subscribes again after the hub has restarted. */
  async #listen(message: McpMessage, signal: AbortSignal): Promise<void> {
    let isKnown = false;
    while (!signal.aborted) {
      try {
        for await (const { message: arrival } of messagesIn(await this.#send(message, signal))) {
          const isFirst = arrival.method === ACKNOWLEDGED;
          if (isAnswerTo(requestIdOf(message), arrival)) {
            if (!isKnown || isJsonObject(arrival.error)) return this.#ends.write(arrival);
            break;
          }
          if (isFirst && isKnown) for (const missed of missedNotifications(message)) this.#ends.write(missed);
          else this.#ends.write(arrival);
          isKnown ||= isFirst;
        }
      } catch (error) {
        // The loop ends if the hub refuses the subscription, or if the first try cannot reach the hub.
        if (!isKnown || (error instanceof AtmoError && !error.toBody().retryable)) throw error;
      }
      await pause(this.#ends.clock, RETRY_MS, signal);
    }
  }

  #send(message: McpMessage, signal: AbortSignal): Promise<Response> {
    return this.#ends.client.send({ method: 'POST', message, headers: headersOf(message), signal });
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

/** Returns a header value. A text that a header cannot contain becomes base64 with a marker (MCP version 2026-07-28, value encoding). */
function headerText(text: string): string {
  const isPlain = SAFE_HEADER.test(text) && !(text.startsWith('=?base64?') && text.endsWith('?='));
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** Returns notifications for all lists and resources to which the client has subscribed, because it may have missed their changes. */
function missedNotifications(message: McpMessage): readonly McpMessage[] {
  const wanted = objectOf(paramsOf(message).notifications);
  const uris = Array.isArray(wanted.resourceSubscriptions) ? wanted.resourceSubscriptions : [];
  const lists = ['tools', 'prompts', 'resources'].filter((kind) => wanted[`${kind}ListChanged`] === true);
  return changeNotifications(lists, uris, { _meta: { [SUBSCRIPTION_KEY]: message.id ?? null } });
}
