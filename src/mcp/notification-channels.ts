import { randomUUID } from 'node:crypto';
import { type Authenticator, type Principal, principalKey, rootAgentOf } from '../core/auth/principal.ts';
import { type Clock, repeat } from '../core/clock.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject, objectOf } from '../core/json.ts';
import type { McpFeature, McpListener, McpView } from './mcp-feature.ts';
import { sessionOwner } from './session-store.ts';

/** The notifications that the server sends to clients. */
export type McpNotification =
  | { readonly kind: 'tools_list_changed' | 'resources_list_changed' }
  | { readonly kind: 'resource_updated'; readonly uri: string };

/** An open channel to a client: a session, or a stream of changes. */
export interface NotificationChannel extends McpListener {
  readonly id: string;
  notify(notification: McpNotification): void;
  close(): Promise<void>;
}

/** Limits on open channels: `each` per account, `all` in total. Every `checkMs`, channels that have been idle for `idleMs` are closed. */
export const CHANNEL_LIMITS = { each: 16, all: 128, idleMs: 30 * 60_000, checkMs: 5_000 } as const;

interface ChannelEntry {
  readonly channel: NotificationChannel;
  readonly account: string;
  usedAtMs: number;
  /** Number of streams that the client is reading now. A channel with a reader is not idle. */
  readers: number;
}

interface ChannelCollaborators {
  readonly clock: Clock;
  readonly authenticator: Pick<Authenticator, 'isStillValid'>;
  /** Called when the channel has ended, except when the hub stops. */
  readonly onEnd?: (id: string) => void;
  /** Called instead when the token of a channel has ended and its grant of OAuth may give another. */
  readonly onTokenEnd?: (id: string) => void;
}

/**
 * Holds the open channels of all clients. A new channel above the limit of its account closes the account's least recently used channel. A
 * new channel above the total limit closes a channel of the account with the most channels.
 */
export class NotificationChannels implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #authenticator: ChannelCollaborators['authenticator'];
  readonly #onEnd: (id: string) => void;
  readonly #onTokenEnd: (id: string) => void;
  readonly #places = new Map<string, ChannelEntry>();
  #stopChecks: (() => void) | undefined;

  constructor({ clock, authenticator, onEnd = () => {}, onTokenEnd = onEnd }: ChannelCollaborators) {
    this.#onEnd = onEnd;
    this.#onTokenEnd = onTokenEnd;
    this.#clock = clock;
    this.#authenticator = authenticator;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Adds a channel. At the total limit, throws RESOURCE_EXCEEDED if this account has no channel and every other account has only one. */
  add(channel: NotificationChannel): void {
    const account = accountOf(channel.principal);
    const own = [...this.#places.values()].filter((place) => place.account === account);
    if (own.length >= CHANNEL_LIMITS.each) this.#makeRoom(own);
    else if (this.#places.size >= CHANNEL_LIMITS.all) this.#makeRoom(this.#ofGreediest(own));
    this.#places.set(channel.id, { channel, account, usedAtMs: this.#clock.monotonic(), readers: 0 });
    this.#stopChecks ??= repeat(this.#clock, CHANNEL_LIMITS.checkMs, () => this.#check());
  }

  /** Returns the channel with this id if the principal's token opened it. For other callers, the channel does not exist. */
  find(id: string, principal: Principal): NotificationChannel | undefined {
    const place = this.#places.get(id);
    if (!place || sessionOwner(place.channel.principal) !== sessionOwner(principal)) return undefined;
    place.usedAtMs = this.#clock.monotonic();
    return place.channel;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** Records that a client reads a stream of the channel. The returned function records that the client has stopped. */
  reading(id: string): () => void {
    const place = this.#places.get(id);
    if (!place) return () => {};
    place.readers++;
    return () => {
      place.readers--;
      place.usedAtMs = this.#clock.monotonic();
    };
  }

  /** Closes the channel with this id, if there is one. */
  end(id: string): void {
    const place = this.#places.get(id);
    if (!place) return;
    this.#onEnd(id);
    this.#close(place);
  }

  /** Sends a notification to the selected channels whose token is still valid. */
  notify(notification: McpNotification, concerns: (listener: McpListener) => boolean = () => true): void {
    for (const { channel } of this.#places.values()) if (this.#isValid(channel) && concerns(channel)) channel.notify(notification);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of [...this.#places.values()]) this.#close(place);
    this.#rest();
  }

  /** Returns the channels of the account with the most channels, if these are at least two and more than in `own`. Else returns `own`. */
  #ofGreediest(own: readonly ChannelEntry[]): readonly ChannelEntry[] {
    const accounts = Map.groupBy(this.#places.values(), ({ account }) => account);
    const [most = []] = [...accounts.values()].sort((a, b) => b.length - a.length);
    return most.length > Math.max(1, own.length) ? most : own;
  }

  #close({ channel }: ChannelEntry): void {
    this.#places.delete(channel.id);
    if (this.#places.size === 0) this.#rest();
    channel.close().catch(() => {});
  }

  #makeRoom(places: readonly ChannelEntry[]): void {
    const [oldest] = places.toSorted((a, b) => Number(a.readers > 0) - Number(b.readers > 0) || a.usedAtMs - b.usedAtMs);
    if (!oldest)
      throw new AtmoError('RESOURCE_EXCEEDED', 'All places for MCP sessions are taken; try again later', { sessions: CHANNEL_LIMITS.all });
    this.end(oldest.channel.id);
  }

  #check(): void {
    const idleSinceMs = this.#clock.monotonic() - CHANNEL_LIMITS.idleMs;
    for (const place of [...this.#places.values()]) {
      const { channel, usedAtMs, readers } = place;
      if (!this.#isValid(channel)) this.#endWithToken(place);
      else if (readers === 0 && usedAtMs <= idleSinceMs) this.end(channel.id);
    }
  }

  #endWithToken(place: ChannelEntry): void {
    const { id, principal } = place.channel;
    if (principal.token?.grant === undefined) this.#onEnd(id);
    else this.#onTokenEnd(id);
    this.#close(place);
  }

  #isValid({ principal }: NotificationChannel): boolean {
    return this.#authenticator.isStillValid(principal);
  }

  #rest(): void {
    this.#stopChecks?.();
    this.#stopChecks = undefined;
  }
}

/** Returns the account of a principal. An agent and its descendants share one account. */
function accountOf(principal: Principal): string {
  return rootAgentOf(principalKey(principal));
}

type NotificationListener = (notification: McpNotification) => void;

/** A stream of `subscriptions/listen` (MCP 2026-07-28). To the SDK it looks like an event bus with one client. */
export class SubscriptionStream implements NotificationChannel {
  readonly id = randomUUID();
  readonly principal: Principal;
  readonly view: McpView;
  /** Ends the stream. Set when the stream has been opened. */
  onClose: () => Promise<void> = async () => {};
  readonly #listeners = new Set<NotificationListener>();

  constructor({ principal, view }: McpListener) {
    this.principal = principal;
    this.view = view;
  }

  subscribe(listener: NotificationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Does nothing: only the hub sends notifications, and it calls `notify`. */
  publish(): void {}

  notify(notification: McpNotification): void {
    for (const listener of this.#listeners) listener(notification);
  }

  close(): Promise<void> {
    return this.onClose();
  }
}

/** Returns the error of a feature that refuses the requested subscriptions. Returns undefined if the stream can be opened. */
export function refusedSubscription(features: readonly McpFeature[], { params }: JsonObject, listener: McpListener): AtmoError | undefined {
  const { notifications } = objectOf(params);
  const wanted = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  if (!Array.isArray(wanted)) return undefined;
  const uris = wanted.filter((uri) => typeof uri === 'string');
  try {
    for (const feature of features) feature.admitSubscriptions?.(uris, listener);
    return undefined;
  } catch (thrown) {
    return toAtmoError(thrown);
  }
}
