import { setImmediate as nextTurn } from 'node:timers/promises';
import { sha256Hex } from '../../codec/hashes.ts';
import {
  type GossipStatement,
  MAX_KNOWN_STATEMENTS,
  MAX_SENT_STATEMENTS,
  statementAnswerCodec,
  statementRequestCodec,
} from '../../codec/messages/sync.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { oncePerObject, type Service } from '../../core/lifecycle.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import type { IncomingRequest, PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import type { DropCounter } from './gossip-limits.ts';
import { NeighbourRounds, requestWithin } from './neighbour-rounds.ts';

/** Port: source of signed statements that stay valid forever, such as revocations. */
export interface StatementSource {
  readonly kind: GossipStatement['kind'];
  statements(): readonly Uint8Array[];
  /** Adds a statement and returns whether it was new. Throws an AtmoError if the signer has no right to make the statement. */
  merge(statement: Uint8Array): boolean;
}

interface ExchangeCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly sources: readonly StatementSource[];
  readonly links: PeerLinks;
  readonly drops: DropCounter;
  /** Called when new statements of other hubs have arrived. */
  readonly onNews?: () => void;
  readonly random?: (() => number) | undefined;
}

const REQUEST_TIMEOUT_MS = 5_000;
const REQUEST_RATE = { burst: 40, perSecond: 4 };
/** Maximum size, in bytes, of the statements in one response. The remaining statements need another request. */
const MAX_ANSWER_BYTES = 2_097_152;
const NAME_DIGITS = 32;
/** The names of statements. Each hub asks each neighbour for its statements all the time, and most stay the same. */
const nameOf = oncePerObject((bytes: Uint8Array) => sha256Hex(bytes).slice(0, NAME_DIGITS));
const LONGEST_TURN_MS = 20;

/**
 * Spreads statements from neighbour to neighbour until every hub has all of them. A request lists the statements of its sender. The
 * neighbour answers with its other statements. If it lacks a listed statement, it sends a request back.
 */
export class StatementExchange implements Service {
  readonly #parts: ExchangeCollaborators;
  readonly #rateLimit: KeyedRateLimit;
  readonly #rounds: NeighbourRounds;

  constructor(parts: ExchangeCollaborators) {
    this.#parts = parts;
    this.#rateLimit = new KeyedRateLimit(parts.clock, REQUEST_RATE);
    this.#rounds = new NeighbourRounds(parts, (link) => this.#fetch(link));
  }

  async start(): Promise<void> {
    this.#parts.links.handle('statements', async (request) => this.#answer(request));
    this.#rounds.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rounds.stop();
  }

  /** Offers a new statement of this hub to all neighbours at once. */
  spread(): void {
    this.#rounds.enqueueAll();
  }

  async #fetch(link: PeerLink): Promise<void> {
    const statements = await requestWithin(this.#parts.clock, REQUEST_TIMEOUT_MS, async (signal) => {
      // The request may list only some of this hub's statements. The neighbour gets the others in answers to its own requests.
      const body = statementRequestCodec.encode({ known: [...this.#known().keys()].slice(0, MAX_KNOWN_STATEMENTS) });
      return statementAnswerCodec.decode(await link.request('statements', body, { signal })).statements;
    });
    if (!(await this.#mergeAll(statements ?? []))) return;
    this.#parts.onNews?.();
    this.spread();
  }

  /** Returns whether one was new. Each may have a signature to check and there may be thousands, so other work gets its turns. */
  async #mergeAll(statements: readonly GossipStatement[]): Promise<boolean> {
    const { clock } = this.#parts;
    let isNews = false;
    let turnMs = clock.monotonic();
    for (const statement of statements) {
      isNews = this.#merge(statement) || isNews;
      if (clock.monotonic() - turnMs < LONGEST_TURN_MS) continue;
      await nextTurn();
      turnMs = clock.monotonic();
    }
    return isNews;
  }

  #merge({ kind, bytes }: GossipStatement): boolean {
    try {
      return this.#parts.sources.find((source) => source.kind === kind)?.merge(bytes) ?? false;
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.drops.count('bad_statement');
      this.#parts.logger.warn('mesh.statement_refused', { kind, problem: error.message });
      return false;
    }
  }

  #answer({ from, body }: IncomingRequest): Uint8Array {
    if (!this.#rateLimit.tryTake(from))
      throw new AtmoError('RATE_LIMITED', 'The requests for statements are too frequent; try again in a second');
    const own = this.#known();
    const theirs = new Set(statementRequestCodec.decode(body).known);
    if (!theirs.isSubsetOf(own)) this.#rounds.enqueue(from);
    let bytes = 0;
    const missing = own.entries().filter(([name, statement]) => {
      if (theirs.has(name)) return false;
      bytes += statement.bytes.length;
      return bytes <= MAX_ANSWER_BYTES;
    });
    return statementAnswerCodec.encode({ statements: [...missing.take(MAX_SENT_STATEMENTS).map(([, statement]) => statement)] });
  }

  #known(): ReadonlyMap<string, GossipStatement> {
    const all = this.#parts.sources.flatMap((source) =>
      source.statements().map((bytes): GossipStatement => ({ kind: source.kind, bytes })),
    );
    return new Map(all.map((statement) => [nameOf(statement.bytes), statement]));
  }
}
