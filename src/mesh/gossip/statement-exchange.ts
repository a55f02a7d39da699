import { sha256Hex } from '../../codec/hashes.ts';
import {
  type GossipStatement,
  MAX_KNOWN_STATEMENTS,
  MAX_SENT_STATEMENTS,
  statementAnswerCodec,
  statementRequestCodec,
} from '../../codec/messages/sync.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import type { IncomingRequest, PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import type { DropCounter } from './gossip-limits.ts';
import { NeighbourRounds, requestWithin } from './neighbour-rounds.ts';

/** Port: statements that are true for good, such as revocations, each signed by who may say so. */
export interface StatementSource {
  readonly kind: GossipStatement['kind'];
  statements(): readonly Uint8Array[];
  /** True when it was new. AtmoError when it is not signed by somebody who may say so. */
  merge(statement: Uint8Array): boolean;
}

interface ExchangeCollaborators {
  readonly sources: readonly StatementSource[];
  readonly links: PeerLinks;
  readonly drops: DropCounter;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Heard when statements of others were new. */
  readonly onNews?: () => void;
  readonly random?: (() => number) | undefined;
}

const REQUEST_TIMEOUT_MS = 5_000;
const REQUEST_RATE = { burst: 40, perSecond: 4 };
/** Bytes of the statements of one answer; the rest is asked for again. */
const MAX_ANSWER_BYTES = 2_097_152;
const NAME_DIGITS = 32;

/**
 * Spreads statements from neighbour to neighbour until every hub has all of them. A question names what the asking hub knows:
 * who sees something in it that it does not know asks back. So a question tells news and fetches them.
 */
export class StatementExchange implements Service {
  readonly #parts: ExchangeCollaborators;
  readonly #asked: KeyedRateLimit;
  readonly #rounds: NeighbourRounds;

  constructor(collaborators: ExchangeCollaborators) {
    this.#parts = collaborators;
    this.#asked = new KeyedRateLimit(collaborators.clock, REQUEST_RATE);
    this.#rounds = new NeighbourRounds({
      links: collaborators.links,
      clock: collaborators.clock,
      random: collaborators.random,
      ask: (link) => this.#pull(link),
    });
  }

  async start(): Promise<void> {
    this.#parts.links.handle('statements', async (request) => this.#answer(request));
    this.#rounds.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rounds.stop();
  }

  /** There is something new here: all neighbours hear of it at once. */
  spread(): void {
    this.#rounds.enqueueAll();
  }

  async #pull(link: PeerLink): Promise<void> {
    const statements = await requestWithin(this.#parts.clock, REQUEST_TIMEOUT_MS, async (signal) => {
      // Whoever has more tells some of them now and the others later.
      const body = statementRequestCodec.encode({ known: [...this.#known().keys()].slice(0, MAX_KNOWN_STATEMENTS) });
      return statementAnswerCodec.decode(await link.request('statements', body, { signal })).statements;
    });
    const news = (statements ?? []).filter((statement) => this.#merge(statement));
    if (news.length === 0) return;
    this.#parts.onNews?.();
    this.spread();
  }

  #merge({ kind, bytes }: GossipStatement): boolean {
    try {
      return this.#parts.sources.find((source) => source.kind === kind)?.merge(bytes) ?? false;
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.drops.count('bad_statement');
      this.#parts.logger.warn('mesh.bad_statement', { kind, problem: toAtmoError(error).message });
      return false;
    }
  }

  #answer({ from, body }: IncomingRequest): Uint8Array {
    if (!this.#asked.tryTake(from)) throw new AtmoError('RATE_LIMITED', 'Statements were asked for too often; ask again in a second');
    const own = this.#known();
    const theirs = new Set(statementRequestCodec.decode(body).known);
    if ([...theirs].some((name) => !own.has(name))) this.#rounds.enqueue(from);
    let bytes = 0;
    const statements = [...own].filter(([name, statement]) => {
      if (theirs.has(name)) return false;
      bytes += statement.bytes.length;
      return bytes <= MAX_ANSWER_BYTES;
    });
    return statementAnswerCodec.encode({ statements: statements.slice(0, MAX_SENT_STATEMENTS).map(([, statement]) => statement) });
  }

  #known(): ReadonlyMap<string, GossipStatement> {
    const all = this.#parts.sources.flatMap((source) =>
      source.statements().map((bytes): GossipStatement => ({ kind: source.kind, bytes })),
    );
    return new Map(all.map((statement) => [sha256Hex(statement.bytes).slice(0, NAME_DIGITS), statement]));
  }
}
