import { sha256Hex } from '../codec/hashes.ts';
import { type Principal, principalKey, rootAgentOf } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { toAtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { McpView } from './mcp-feature.ts';

/** What makes a session again: what its client said of itself, and what it wants to hear. */
export interface SessionFacts {
  /** Parameters of `initialize`. */
  readonly opening: JsonObject;
  readonly view: McpView;
  readonly subscriptions: readonly string[];
  /** As of `logging/setLevel`. */
  readonly level?: string;
}

/** A session that is open now. */
interface LiveSession {
  readonly id: string;
  readonly principal: Principal;
  /** Undefined while no `initialize` has been understood. */
  readonly facts: SessionFacts | undefined;
}

/** A session as it lies on the disk, where nobody finds an id that opens it. */
interface StoredSession extends SessionFacts {
  /** SHA-256 of the session's id. */
  readonly hash: string;
  /** `sessionOwner` of who began it. */
  readonly owner: string;
  readonly savedAtMs: number;
}

/** How sessions are kept: times in milliseconds, lengths in characters of JSON. */
export const SESSION_RETENTION = {
  /** How long a session may be taken up again after the hub stopped. */
  keptMs: 24 * 3_600_000,
  /** The changes of this time are written together. */
  gatherMs: 1_000,
  /** Between two writes; a hub that is cut off loses the changes of this time at most. */
  writeEveryMs: 30_000,
  /** So often open sessions are written without a change, since what is older than `keptMs` counts for nothing. */
  renewEveryMs: 6 * 3_600_000,
  /** One session that needs more does not outlive the hub. */
  sessionLength: 65_536,
  /** All that is written; who has most of it gives way. */
  length: 262_144,
} as const;
const SPACE = 'mcp.sessions';
const KEY = 'all';

/** Whose a session is: of one token, since tokens of one agent may hold different grants, and one may end before the other. */
export function sessionOwner(principal: Principal): string {
  const { token } = principal;
  return token ? `${principalKey(principal)} ${token.id}` : principalKey(principal);
}

interface SessionStoreCollaborators {
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The sessions of the handshake era on the disk, so that they outlive a restart of the hub: most clients never begin a second one. All
 * are one entry of the store, which is written now and then and when the hub stops, however many sessions clients begin and end.
 */
export class SessionStore implements Disposable {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #live = new Map<string, LiveSession>();
  /** Those of before the hub started that nobody has taken up yet, by hash; read when they are first asked for. */
  #earlier: Map<string, StoredSession> | undefined;
  #isChanged = false;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor({ store, clock, logger }: SessionStoreCollaborators) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** A session was begun, taken up again, or has other facts than before. */
  changed(session: LiveSession): void {
    if (this.#isClosed) return;
    this.#live.set(session.id, session);
    this.#earlier?.delete(sha256Hex(session.id));
    this.#noteChange();
  }

  /** The facts of a session of before the hub started, for the token that began it; for others there is none. */
  find(id: string, principal: Principal): SessionFacts | undefined {
    const kept = this.#earlierOnes().get(sha256Hex(id));
    return kept && this.#counts(kept) && kept.owner === sessionOwner(principal) ? kept : undefined;
  }

  /** A session ended for good. */
  drop(id: string): void {
    const wasLive = this.#live.delete(id);
    const wasKept = this.#earlier?.delete(sha256Hex(id)) ?? false;
    if (wasLive || wasKept) this.#noteChange();
  }

  /** Writes what is there when the hub stops. */
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
    this.#writeIn(Math.max(gatherMs, this.#writtenMs + writeEveryMs - this.#clock.monotonic()));
  }

  #writeIn(delayMs: number): void {
    this.#stopTimer?.();
    this.#stopTimer = this.#clock.after(delayMs, () => {
      this.#write();
      if (this.#live.size > 0) this.#writeIn(SESSION_RETENTION.renewEveryMs);
    });
  }

  /** What cannot be written is logged, and tried again with the next change: the requests themselves were answered. */
  #write(): void {
    this.#isChanged = false;
    this.#writtenMs = this.#clock.monotonic();
    const savedAtMs = this.#clock.now();
    const live = [...this.#live.values()].flatMap(({ id, principal, facts }) =>
      facts ? [{ hash: sha256Hex(id), owner: sessionOwner(principal), ...facts, savedAtMs }] : [],
    );
    try {
      const earlier = [...this.#earlierOnes().values()].filter((kept) => this.#counts(kept));
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
    this.#earlier ??= new Map(this.#read().map((kept) => [kept.hash, kept]));
    return this.#earlier;
  }

  #read(): readonly StoredSession[] {
    const value = this.#store.get(SPACE, KEY);
    const sessions = isJsonObject(value) && Array.isArray(value.sessions) ? value.sessions : [];
    return sessions.flatMap((session) => storedSessionIn(session) ?? []);
  }
}

/** As many as there is room for: of who has most the oldest goes, until all fit. */
function withinBounds(sessions: readonly StoredSession[]): readonly StoredSession[] {
  const measured = sessions
    .map((kept) => ({ kept, account: accountOf(kept), length: JSON.stringify(storedForm(kept)).length }))
    .filter(({ length }) => length <= SESSION_RETENTION.sessionLength)
    .toSorted((a, b) => a.kept.savedAtMs - b.kept.savedAtMs);
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
  return measured.map(({ kept }) => kept);
}

/** An agent and all that come from it share their room. */
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
