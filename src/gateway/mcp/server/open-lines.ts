import { familyOf } from '../../../core/access/agent-id.ts';
import { type Authenticator, type Principal, principalKey } from '../../../core/access/principal.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { repeat } from '../../../core/time/repeat.ts';
import type { McpListener } from '../mcp-feature.ts';
import { sessionOwner } from './kept-sessions.ts';

/** What clients can be told without having asked. */
export type Notice =
  | { readonly kind: 'tools_list_changed' | 'resources_list_changed' }
  | { readonly kind: 'resource_updated'; readonly uri: string };

/** Something that stays open for a client: a session, or a stream of changes. */
export interface OpenLine extends McpListener {
  readonly id: string;
  tell(notice: Notice): void;
  close(): Promise<void>;
}

/** How much may stay open. */
export const LINE_LIMITS = { each: 16, all: 128, idleMs: 30 * 60_000, checkMs: 5_000 } as const;

interface Place {
  readonly line: OpenLine;
  readonly account: string;
  usedAtMs: number;
  /** Streams that are being read now; while there is one, the line is not idle. */
  readers: number;
}

interface LineCollaborators {
  readonly clock: Clock;
  readonly authenticator: Pick<Authenticator, 'isStillValid'>;
  /** A line has ended for good; not called for those that end with the hub. */
  readonly onEnd?: (id: string) => void;
}

/**
 * All that is open for clients, within bounds: an account that wants too much loses what it has not used for longest, and when all
 * places are taken so does the account that has most.
 */
export class OpenLines implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #authenticator: LineCollaborators['authenticator'];
  readonly #onEnd: (id: string) => void;
  readonly #places = new Map<string, Place>();
  #stopChecks: (() => void) | undefined;

  constructor({ clock, authenticator, onEnd = () => {} }: LineCollaborators) {
    this.#onEnd = onEnd;
    this.#clock = clock;
    this.#authenticator = authenticator;
  }

  get size(): number {
    return this.#places.size;
  }

  /** RESOURCE_EXCEEDED when all places are taken, and nobody has more than who wants one more. */
  add(line: OpenLine): void {
    const account = accountOf(line.principal);
    const own = [...this.#places.values()].filter((place) => place.account === account);
    if (own.length >= LINE_LIMITS.each) this.#makeRoom(own);
    else if (this.#places.size >= LINE_LIMITS.all) this.#makeRoom(this.#ofGreediest(own));
    this.#places.set(line.id, { line, account, usedAtMs: this.#clock.monotonic(), readers: 0 });
    this.#stopChecks ??= repeat(this.#clock, LINE_LIMITS.checkMs, () => this.#check());
  }

  /** The line of an id if this token began it; others cannot tell that it exists. */
  find(id: string, principal: Principal): OpenLine | undefined {
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
  tell(notice: Notice, concerns: (listener: McpListener) => boolean = () => true): void {
    for (const { line } of this.#places.values()) if (this.#isValid(line) && concerns(line)) line.tell(notice);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of [...this.#places.values()]) this.#close(place);
    this.#rest();
  }

  /** The lines of who has most: of the account itself only where nobody has more; of nobody where all have one. */
  #ofGreediest(own: readonly Place[]): readonly Place[] {
    const accounts = Map.groupBy(this.#places.values(), ({ account }) => account);
    const [most = []] = [...accounts.values()].sort((a, b) => b.length - a.length);
    return most.length > Math.max(1, own.length) ? most : own;
  }

  #close({ line }: Place): void {
    this.#places.delete(line.id);
    if (this.#places.size === 0) this.#rest();
    line.close().catch(() => {});
  }

  #makeRoom(places: readonly Place[]): void {
    const [oldest] = places.toSorted((a, b) => Number(a.readers > 0) - Number(b.readers > 0) || a.usedAtMs - b.usedAtMs);
    if (!oldest)
      throw new AtmoError('RESOURCE_EXCEEDED', 'All places for MCP sessions are taken; try again later', { sessions: LINE_LIMITS.all });
    this.end(oldest.line.id);
  }

  #check(): void {
    const idleSinceMs = this.#clock.monotonic() - LINE_LIMITS.idleMs;
    for (const { line, usedAtMs, readers } of [...this.#places.values()]) {
      if (!this.#isValid(line) || (readers === 0 && usedAtMs <= idleSinceMs)) this.end(line.id);
    }
  }

  #isValid({ principal }: OpenLine): boolean {
    return this.#authenticator.isStillValid(principal);
  }

  #rest(): void {
    this.#stopChecks?.();
    this.#stopChecks = undefined;
  }
}

/** The children of an agent share its places. */
function accountOf(principal: Principal): string {
  return familyOf(principalKey(principal));
}
