import { rootAgentOf } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { NamedThing } from '../plan/bind-names.ts';
import type { Definition } from '../versions/definition.ts';

const SPACE = 'automation.proposals';
const DAY_MS = 86_400_000;
/** Time for which a proposal waits, in milliseconds; the answer to it is kept so long too. */
const PROPOSAL_LIFE_MS = 7 * DAY_MS;
const MAX_OPEN = 32;
/** Largest number of open proposals of an agent together with all that come from it. */
const MAX_OPEN_OF_ONE = 8;
/** Largest number of proposals of an agent, with all that come from it, in a day: what was declined can be proposed again so often. */
const MAX_IN_A_DAY = 16;
/** Largest number of proposals that are kept, with those that were answered. */
const MAX_KEPT = 128;

/** The answer of a person to a proposal. */
interface ProposalAnswer {
  readonly kind: 'accepted' | 'declined';
  readonly by: string;
  readonly atMs: number;
  readonly reason?: string;
  /** Id of the automation that was made of it, or edited. */
  readonly agentId?: string;
}

/** An automation that an agent proposes. Times are in milliseconds since 1970. */
export interface Proposal extends Definition {
  readonly id: string;
  readonly name: string;
  /** What the agent says about it. */
  readonly sentence?: string;
  /** Id of the agent that proposes it. */
  readonly by: string;
  readonly atMs: number;
  readonly endsAtMs: number;
  readonly hash: string;
  /** The automation that it would replace, in the version that it had when this was proposed. */
  readonly replaces?: { readonly id: string; readonly version: number };
  /** What it names, with the names that these things had when it was proposed. */
  readonly named: readonly (NamedThing & { readonly name: string })[];
  /** Absent while it waits. */
  readonly answer?: ProposalAnswer;
}

/** Stores the proposals of agents and the answers to them. */
export class ProposalStore {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;

  constructor(store: KeyValueStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns the proposals and the answered ones, the newest first. */
  all(): readonly Proposal[] {
    const entries = this.#store.entries(SPACE);
    // The cast is safe because only this class writes proposals.
    const proposals = entries.flatMap(({ value }) => (isJsonObject(value) ? [value as unknown as Proposal] : []));
    return proposals.sort((a, b) => b.atMs - a.atMs);
  }

  open(): readonly Proposal[] {
    return this.all().filter(isOpen);
  }

  /** Returns the proposal that waits. Throws NOT_FOUND, or CONFLICT if it was answered. */
  requireOpen(id: string): Proposal {
    const proposal = this.all().find((one) => one.id === id);
    if (!proposal) throw new AtmoError('NOT_FOUND', `There is no proposal ${JSON.stringify(id.slice(0, 64))}; it may have ended`);
    if (!proposal.answer) return proposal;
    throw new AtmoError('CONFLICT', `${proposal.answer.by} has ${proposal.answer.kind} the proposal ${id} already`);
  }

  /** Throws RESOURCE_EXCEEDED if too many proposals wait, or RATE_LIMITED if the agent has proposed too much within a day. */
  requireRoom(by: string): void {
    const kept = this.all();
    const open = kept.filter(isOpen);
    const family = rootAgentOf(by);
    const ofFamily = (proposals: readonly Proposal[]) => proposals.filter((one) => rootAgentOf(one.by) === family);
    if (ofFamily(open).length >= MAX_OPEN_OF_ONE) throw full(`${MAX_OPEN_OF_ONE} proposals of ${family}`);
    if (open.length >= MAX_OPEN) throw full(`${MAX_OPEN} proposals`);
    const recent = ofFamily(kept).filter(({ atMs }) => this.#clock.now() - atMs < DAY_MS);
    const oldest = recent.at(-1);
    if (!oldest || recent.length < MAX_IN_A_DAY) return;
    const retryAfterMs = oldest.atMs + DAY_MS - this.#clock.now();
    const message = `${family} has made ${MAX_IN_A_DAY} proposals within a day, which is the most`;
    throw new AtmoError('RATE_LIMITED', message, { retry_after_ms: retryAfterMs });
  }

  /** Returns the times of a proposal that is made now. */
  times(): Pick<Proposal, 'atMs' | 'endsAtMs'> {
    const atMs = this.#clock.now();
    return { atMs, endsAtMs: atMs + PROPOSAL_LIFE_MS };
  }

  /** Stores a proposal until its end. Forgets the oldest answered ones beyond those that are kept. Throws STORAGE_FAILED. */
  put(proposal: Proposal): void {
    this.#store.set(SPACE, proposal.id, copyJson(proposal), { ttlMs: Math.max(1, proposal.endsAtMs - this.#clock.now()) });
    const answered = this.all().filter((one) => !isOpen(one));
    for (const { id } of answered.slice(MAX_KEPT - MAX_OPEN)) this.#store.delete(SPACE, id);
  }
}

function isOpen({ answer }: Proposal): boolean {
  return answer === undefined;
}

function full(what: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `${what} wait for people, which is the most; try again when some were answered or ended`);
}
