import type { RemoteEvents, RemoteSubscription } from '../../calls/mesh-ports.ts';
import { subscribedEventCodec } from '../../codec/messages/call.ts';
import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import { EVENT_TYPES, type EventListener, type EventType, type HubEvent } from '../../core/events.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { isVisible, visibleJson } from '../../core/untrusted-text.ts';
import type { MeshQueries } from './remote-queries.ts';

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;
/** Milliseconds for which a hub may be unreachable before subscriptions to its events fail. */
const PATIENCE_MS = 60_000;
/** Remaining time in a subscription request, in milliseconds. It is the largest possible value, because a subscription has no end time. */
const REMAINING_MS = 0xffff_ffff;

/** Subscribes to events of other hubs. After a lost connection, subscribes again and reports the gap. */
export class MeshEvents implements RemoteEvents {
  readonly #queries: MeshQueries;
  readonly #clock: Clock;

  constructor(queries: MeshQueries, clock: Clock) {
    this.#queries = queries;
    this.#clock = clock;
  }

  /** Implements `RemoteEvents.subscribe`. Rejects if the first attempt fails, a retry cannot help, or the hub is unreachable for 60 s. */
  async subscribe(hubId: string, subscription: RemoteSubscription, listener: EventListener): Promise<void> {
    const { signal } = subscription;
    const state: Attempt = { pauseMs: FIRST_PAUSE_MS, isGap: false, wasSubscribed: false, lostMs: undefined };
    while (!signal.aborted) {
      try {
        await this.#listen(hubId as HubId, { subscription, listener, state });
      } catch (error) {
        if (signal.aborted) return;
        this.#requireTemporary(toAtmoError(error), state);
      }
      state.isGap = true;
      await pause(this.#clock, state.pauseMs, signal);
      state.pauseMs = Math.min(MAX_PAUSE_MS, state.pauseMs * 2);
    }
  }

  async #listen(
    target: HubId,
    {
      subscription,
      listener,
      state,
    }: { readonly subscription: RemoteSubscription; readonly listener: EventListener; readonly state: Attempt },
  ): Promise<void> {
    const { principal, types = EVENT_TYPES, subjects, signal, onGap } = subscription;
    const body = { kind: 'subscribe', types: [...types], ...(subjects && { subjects: [...subjects] }) } as const;
    await this.#queries.send(
      { target, body, principal, remainingMs: REMAINING_MS },
      {
        signal,
        onAccept: () => {
          state.pauseMs = FIRST_PAUSE_MS;
          state.wasSubscribed = true;
          state.lostMs = undefined;
          if (state.isGap) onGap?.();
        },
        onPart: ({ content, isAfterGap }) => {
          if (isAfterGap) onGap?.();
          const event = parseRemoteEvent(content, { types, ...(subjects && { subjects }) });
          if (event) listener(event);
        },
      },
    );
  }

  /** Throws the error if the first attempt failed, a retry cannot help, or the hub has been unreachable for a minute. */
  #requireTemporary(error: AtmoError, state: Attempt): void {
    const isLost = error.code === 'OUTCOME_UNKNOWN';
    if (!state.wasSubscribed || (!isLost && ERROR_CODES[error.code].retry !== 'later')) throw error;
    state.lostMs ??= this.#clock.monotonic();
    if (this.#clock.monotonic() - state.lostMs < PATIENCE_MS) return;
    throw isLost ? new AtmoError('NODE_UNAVAILABLE', error.message) : error;
  }
}

interface Attempt {
  pauseMs: number;
  isGap: boolean;
  /** True once the hub has accepted the subscription. */
  wasSubscribed: boolean;
  /** Time at which the hub became unreachable, by the monotonic clock. Undefined while the hub is reachable. */
  lostMs: number | undefined;
}

/** The types and subjects of a subscription. */
interface EventFilter {
  readonly types: readonly EventType[];
  readonly subjects?: readonly string[];
}

/** Form of an event's id, source and time. It excludes line breaks, because each value becomes one line of server-sent events. */
const WORD = /^[\w.:/+-]{1,128}$/;
const MAX_SUBJECT = 512;

/**
 * Returns the known fields of another hub's event. Returns undefined if the filter excludes the event. Also returns undefined if a line
 * break in the id, source, time or subject would make the event look like two events.
 */
export function parseRemoteEvent(part: Uint8Array, { types, subjects }: EventFilter): HubEvent | undefined {
  const { id, source, type, subject, time, data } = subscribedEventCodec.decode(part).event;
  const known = EVENT_TYPES.find((name) => name === type);
  if (!known || !types.includes(known) || !isWord(id) || !isWord(source) || !isWord(time)) return undefined;
  if (!isSubject(subject) || subjects?.includes(subject) === false) return undefined;
  return isJsonObject(data)
    ? { specversion: '1.0', id, source, type: known, subject, time, data: visibleJson(data) as JsonObject }
    : undefined;
}

function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_SUBJECT && isVisible(value) && !/[\n\t]/.test(value);
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && WORD.test(value);
}
