import { randomUUID } from 'node:crypto';
import { type Authenticator, type Principal, principalKey, rootAgentOf } from '../core/auth/principal.ts';
import { type Clock, repeat } from '../core/clock.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { McpFeature, McpListener, McpView } from './mcp-feature.ts';
import { sessionOwner } from './session-store.ts';

/** The notifications that the server sends to clients. */
export type McpNotification =
  | { readonly kind: 'tools_list_changed' | 'resources_list_changed' }
  | { readonly kind: 'resource_updated'; readonly uri: string };

/** An open channel to a client: a session or a stream of changes. */
export interface NotificationChannel extends McpListener {
  readonly id: string;
  notify(notice: McpNotification): void;
  close(): Promise<void>;
}

/** Limits of open channels. */
export const CHANNEL_LIMITS = { each: 16, all: 128, idleMs: 30 * 60_000, checkMs: 5_000 } as const;

interface ChannelEntry {
  readonly line: NotificationChannel;
  readonly account: string;
  usedAtMs: number;
  /** Streams that are being read now; while there is one, the line is not idle. */
  readers: number;
}

interface ChannelCollaborators {
  readonly clock: Clock;
  readonly authenticator: Pick<Authenticator, 'isStillValid'>;
  /** A line has ended for good; not called for those that end with the hub. */
  readonly onEnd?: (id: string) => void;
}

/**
 * Holds the open channels of all clients, within limits: an account above its limit loses its least recently used channel, and
 * when the total limit is reached so does the account that has most.
 */
export class NotificationChannels implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #authenticator: ChannelCollaborators['authenticator'];
  readonly #onEnd: (id: string) => void;
  readonly #places = new Map<string, ChannelEntry>();
  #stopChecks: (() => void) | undefined;

  constructor({ clock, authenticator, onEnd = () => {} }: ChannelCollaborators) {
    this.#onEnd = onEnd;
    this.#clock = clock;
    this.#authenticator = authenticator;
  }

  get size(): number {
    return this.#places.size;
  }

  /** RESOURCE_EXCEEDED when all places are taken, and nobody has more than who wants one more. */
  add(line: NotificationChannel): void {
    const account = accountOf(line.principal);
    const own = [...this.#places.values()].filter((place) => place.account === account);
    if (own.length >= CHANNEL_LIMITS.each) this.#makeRoom(own);
    else if (this.#places.size >= CHANNEL_LIMITS.all) this.#makeRoom(this.#ofGreediest(own));
    this.#places.set(line.id, { line, account, usedAtMs: this.#clock.monotonic(), readers: 0 });
    this.#stopChecks ??= repeat(this.#clock, CHANNEL_LIMITS.checkMs, () => this.#check());
  }

  /** The line of an id if this token began it; others cannot tell that it exists. */
  find(id: string, principal: Principal): NotificationChannel | undefined {
    const place = this.#places.get(id);
    if (!place || sessionOwner(place.line.principal) !== sessionOwner(principal)) return undefined;
    place.usedAtMs = this.#clock.monotonic();
    return place.line;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** Counts a stream of the line that is being read; the answer ends it. */
  reading(id: string): () => void {
    const place = this.#places.get(id);
    if (!place) return () => {};
    place.readers++;
    return () => {
      place.readers--;
      place.usedAtMs = this.#clock.monotonic();
    };
  }

  /** Closes a line that is there. */
  end(id: string): void {
    const place = this.#places.get(id);
    if (!place) return;
    this.#onEnd(id);
    this.#close(place);
  }

  /** Tells those that are concerned and whose token counts. */
  notify(notice: McpNotification, concerns: (listener: McpListener) => boolean = () => true): void {
    for (const { line } of this.#places.values()) if (this.#isValid(line) && concerns(line)) line.notify(notice);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of [...this.#places.values()]) this.#close(place);
    this.#rest();
  }

  /** The lines of who has most: of the account itself only where nobody has more; of nobody where all have one. */
  #ofGreediest(own: readonly ChannelEntry[]): readonly ChannelEntry[] {
    const accounts = Map.groupBy(this.#places.values(), ({ account }) => account);
    const [most = []] = [...accounts.values()].sort((a, b) => b.length - a.length);
    return most.length > Math.max(1, own.length) ? most : own;
  }

  #close({ line }: ChannelEntry): void {
    this.#places.delete(line.id);
    if (this.#places.size === 0) this.#rest();
    line.close().catch(() => {});
  }

  #makeRoom(places: readonly ChannelEntry[]): void {
    const [oldest] = places.toSorted((a, b) => Number(a.readers > 0) - Number(b.readers > 0) || a.usedAtMs - b.usedAtMs);
    if (!oldest)
      throw new AtmoError('RESOURCE_EXCEEDED', 'All places for MCP sessions are taken; try again later', { sessions: CHANNEL_LIMITS.all });
    this.end(oldest.line.id);
  }

  #check(): void {
    const idleSinceMs = this.#clock.monotonic() - CHANNEL_LIMITS.idleMs;
    for (const { line, usedAtMs, readers } of [...this.#places.values()]) {
      if (!this.#isValid(line) || (readers === 0 && usedAtMs <= idleSinceMs)) this.end(line.id);
    }
  }

  #isValid({ principal }: NotificationChannel): boolean {
    return this.#authenticator.isStillValid(principal);
  }

  #rest(): void {
    this.#stopChecks?.();
    this.#stopChecks = undefined;
  }
}

/** Descendants of an agent share its limit. */
function accountOf(principal: Principal): string {
  return rootAgentOf(principalKey(principal));
}

type NotificationListener = (notice: McpNotification) => void;

/** A stream of `subscriptions/listen` (2026-07-28): hears of changes as the bus that the SDK asks for one client. */
export class SubscriptionStream implements NotificationChannel {
  readonly id = randomUUID();
  readonly principal: Principal;
  readonly view: McpView;
  /** Ends the stream; set once there is one. */
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

  /** Only the hub publishes, by `tell`. */
  publish(): void {}

  notify(notice: McpNotification): void {
    for (const listener of this.#listeners) listener(notice);
  }

  close(): Promise<void> {
    return this.onClose();
  }
}

/** Why a stream of these resources would stay silent; undefined where all of them are told of. */
export function refusedSubscription(features: readonly McpFeature[], { params }: JsonObject, listener: McpListener): AtmoError | undefined {
  const { notifications } = isJsonObject(params) ? params : {};
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
