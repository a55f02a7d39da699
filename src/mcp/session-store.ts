import { sha256Hex } from '../codec/hashes.ts';
import { type Principal, principalKey, rootAgentOf } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { toAtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { McpView } from './mcp-feature.ts';

/** The data with which a session is restored: the client's `initialize` and its subscriptions. */
export interface SessionFacts {
  /** Parameters of the client's `initialize` request. */
  readonly opening: JsonObject;
  readonly view: McpView;
  readonly subscriptions: readonly string[];
  /** Log level that the client set by `logging/setLevel`. */
  readonly level?: string;
}

interface LiveSession {
  readonly id: string;
  readonly principal: Principal;
  /** The data to store; undefined before `initialize`. */
  readonly facts: SessionFacts | undefined;
}

/** A stored session. It contains a hash instead of the session's id, because the id gives access to the session. */
interface StoredSession extends SessionFacts {
  /** SHA-256 of the session's id. */
  readonly hash: string;
  /** The `sessionOwner` of the principal that began the session. */
  readonly owner: string;
  readonly savedAtMs: number;
}

/** Limits on stored sessions. Times are in milliseconds, lengths in characters of JSON. */
export const SESSION_RETENTION = {
  /** Time after the hub's stop during which a session can be resumed. */
  keptMs: 24 * 3_600_000,
  /** Time in which changes are collected into one write. */
  gatherMs: 1_000,
  /** Time between two writes when there are many. After a power cut the changes of this time are lost. */
  writeEveryMs: 30_000,
  /** Number of writes that need not wait for `writeEveryMs`, so that the few sessions of a usual home are stored at once. */
  burst: 8,
  /** Interval of writes if nothing changes. Each write renews the time from which `keptMs` counts. */
  renewEveryMs: 6 * 3_600_000,
  /** Maximum length of a session that is stored. */
  sessionLength: 65_536,
  /** Maximum total length of stored sessions. Above it, sessions of the agent with the greatest total length are removed. */
  length: 262_144,
} as const;
const SPACE = 'mcp.sessions';
const KEY = 'all';

/**
 * Returns the owner of a session. Each token is a separate owner, because an agent's tokens may have different permissions and expiry. The
 * tokens of one grant of OAuth are one owner: each replaces the one before it every hour.
 */
export function sessionOwner(principal: Principal): string {
  const { token } = principal;
  return token ? `${principalKey(principal)} ${token.grant ?? token.id}` : principalKey(principal);
}

/**
 * Stores sessions across restarts of the hub, because most clients of MCP 2025-11-25 and before never begin a second session. All sessions
 * are stored as one entry. It is written after changes, periodically, and when the hub stops.
 */
export class SessionStore implements Disposable {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #live = new Map<string, LiveSession>();
  /** Sessions of an earlier process that no client has resumed yet, by the hash of their id. They are read when they are first needed. */
  #earlier: Map<string, StoredSession> | undefined;
  #isChanged = false;
  /** Writes that may follow at once. A new one comes every `writeEveryMs`. */
  #credit: number = SESSION_RETENTION.burst;
  #creditedMs: number;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor({ store, clock, logger }: Pick<HubContext, 'clock' | 'logger' | 'store'>) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
    this.#creditedMs = clock.monotonic();
  }

  /** Records that a session was begun, resumed or changed. */
  changed(session: LiveSession): void {
    if (this.#isClosed) return;
    this.#live.set(session.id, session);
    this.#earlier?.delete(sha256Hex(session.id));
    this.#noteChange();
  }

  /** Returns the data of a session of an earlier process. Returns undefined if there is none, or if another token began the session. */
  find(id: string, principal: Principal): SessionFacts | undefined {
    const stored = this.#earlierOnes().get(sha256Hex(id));
    return stored && this.#counts(stored) && stored.owner === sessionOwner(principal) ? stored : undefined;
  }

  drop(id: string): void {
    const wasLive = this.#live.delete(id);
    const wasKept = this.#earlier?.delete(sha256Hex(id)) ?? false;
    if (wasLive || wasKept) this.#noteChange();
  }

  /** Keeps a session whose token has ended, so that it can be resumed with the next token of the same grant. */
  park(id: string): void {
    const session = this.#live.get(id);
    this.drop(id);
    if (!session?.facts) return;
    const hash = sha256Hex(id);
    this.#earlierOnes().set(hash, { hash, owner: sessionOwner(session.principal), ...session.facts, savedAtMs: this.#clock.now() });
  }

  /** Writes pending changes. Called when the hub stops. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTimer?.();
    if (this.#isChanged || this.#live.size > 0) this.#write();
  }

  #noteChange(): void {
    if (this.#isClosed || this.#isChanged) return;
    this.#isChanged = true;
    const { gatherMs, writeEveryMs } = SESSION_RETENTION;
    this.#addCredit();
    this.#writeIn(Math.max(gatherMs, (1 - this.#credit) * writeEveryMs));
  }

  #addCredit(): void {
    const { burst, writeEveryMs } = SESSION_RETENTION;
    const nowMs = this.#clock.monotonic();
    this.#credit = Math.min(burst, this.#credit + (nowMs - this.#creditedMs) / writeEveryMs);
    this.#creditedMs = nowMs;
  }

  #writeIn(delayMs: number): void {
    this.#stopTimer?.();
    this.#stopTimer = this.#clock.after(delayMs, () => {
      this.#write();
      if (this.#live.size > 0) this.#writeIn(SESSION_RETENTION.renewEveryMs);
    });
  }

  /** Writes the sessions. Only logs a failure, because the requests have succeeded and the next change causes another write. */
  #write(): void {
    this.#isChanged = false;
    this.#addCredit();
    this.#credit = Math.max(0, this.#credit - 1);
    const savedAtMs = this.#clock.now();
    const live = [...this.#live.values()].flatMap(({ id, principal, facts }) =>
      facts ? [{ hash: sha256Hex(id), owner: sessionOwner(principal), ...facts, savedAtMs }] : [],
    );
    try {
      const earlier = [...this.#earlierOnes().values()].filter((stored) => this.#counts(stored));
      if (live.length + earlier.length === 0) this.#store.delete(SPACE, KEY);
      else
        this.#store.set(SPACE, KEY, { sessions: withinBounds([...live, ...earlier]).map(storedForm) }, { ttlMs: SESSION_RETENTION.keptMs });
    } catch (error) {
      this.#logger.warn('mcp.sessions_not_kept', { problem: toAtmoError(error).message });
    }
  }

  #counts({ savedAtMs }: StoredSession): boolean {
    return savedAtMs + SESSION_RETENTION.keptMs > this.#clock.now();
  }

  #earlierOnes(): Map<string, StoredSession> {
    this.#earlier ??= new Map(this.#read().map((stored) => [stored.hash, stored]));
    return this.#earlier;
  }

  #read(): readonly StoredSession[] {
    const value = this.#store.get(SPACE, KEY);
    const sessions = isJsonObject(value) && Array.isArray(value.sessions) ? value.sessions : [];
    return sessions.flatMap((session) => storedSessionIn(session) ?? []);
  }
}

/** While all sessions together are too long, removes the oldest session of the account whose sessions have the greatest total length. */
function withinBounds(sessions: readonly StoredSession[]): readonly StoredSession[] {
  const measured = sessions
    .map((stored) => ({ stored, account: accountOf(stored), length: JSON.stringify(storedForm(stored)).length }))
    .filter(({ length }) => length <= SESSION_RETENTION.sessionLength)
    .toSorted((a, b) => a.stored.savedAtMs - b.stored.savedAtMs);
  const lengths = new Map<string, number>();
  for (const { account, length } of measured) lengths.set(account, (lengths.get(account) ?? 0) + length);
  let total = measured.reduce((sum, { length }) => sum + length, 0);
  while (total > SESSION_RETENTION.length) {
    const [[most] = []] = [...lengths].sort(([, a], [, b]) => b - a);
    const [gone] = measured.splice(
      measured.findIndex(({ account }) => account === most),
      1,
    );
    if (!gone) break;
    total -= gone.length;
    lengths.set(gone.account, (lengths.get(gone.account) ?? 0) - gone.length);
  }
  return measured.map(({ stored }) => stored);
}

/** Returns the account of a session. An agent and its descendants share one account. */
function accountOf({ owner }: StoredSession): string {
  return rootAgentOf(owner.split(' ', 1)[0] ?? owner);
}

function storedForm({ hash, owner, opening, view, subscriptions, level, savedAtMs }: StoredSession): JsonObject {
  const facts = { opening, view: { ...view }, subscriptions: [...subscriptions], ...(level !== undefined && { level }) };
  return { hash, owner, ...facts, savedAtMs };
}

function storedSessionIn(value: Json): StoredSession | undefined {
  if (!isJsonObject(value)) return undefined;
  const { hash, owner, opening, view, subscriptions, level, savedAtMs } = value;
  const known = viewIn(view);
  if (typeof hash !== 'string' || typeof owner !== 'string' || typeof savedAtMs !== 'number') return undefined;
  if (!isJsonObject(opening) || !known || !Array.isArray(subscriptions)) return undefined;
  const uris = subscriptions.filter((uri): uri is string => typeof uri === 'string');
  return { hash, owner, opening, view: known, subscriptions: uris, ...(typeof level === 'string' && { level }), savedAtMs };
}

function viewIn(value: Json | undefined): McpView | undefined {
  if (!isJsonObject(value)) return undefined;
  if (value.kind === 'home' || value.kind === 'devices') return { kind: value.kind };
  return value.kind === 'area' && typeof value.area === 'string' ? { kind: 'area', area: value.area } : undefined;
}
