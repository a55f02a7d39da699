import { isReservedName } from '../../core/auth/principal.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { type Json, objectOf } from '../../core/json.ts';
import { agentNameOf } from '../people/household.ts';

const SPACE = 'oauth.agents';
const MAX_NAME_LENGTH = 48;
/** Longer than a grant lasts, so that a person who gives access again meets the same agent. */
const KEPT_MS = 400 * 86_400_000;
const MAX_SUFFIX = 1_000;
/** Names that are kept for one person. */
const MAX_OF_PERSON = 64;

interface AgentParts extends Pick<HubContext, 'store'> {
  readonly time: Pick<TrustedTime, 'now'>;
  /** Returns whether another agent has this id. */
  readonly isTaken: (id: string) => boolean;
  /** Returns whether the owner's rules name this agent. A client that is new must not find exceptions there that were made for another. */
  readonly isInRules: (id: string) => boolean;
}

interface NamedAgent {
  readonly id: string;
  readonly person: string;
  readonly clientId: string;
  readonly atMs: number;
}

/**
 * Names the agents of clients. An agent of a client belongs to the person who gave access, like the agents that the person has made: `ann/claude-ai`.
 * So the person's rules, refusals and limits hold for it. It stays the same if the client asks again.
 */
export class ClientAgents {
  readonly #parts: AgentParts;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** Returns the id of a client's agent, made of what the client calls itself: `ann/claude-ai`, or `ann/claude-ai-2` if that is taken. */
  idFor(client: { readonly id: string; readonly name: string }, person: string): string {
    const known = this.#of(person);
    const own = known.find(({ clientId }) => clientId === client.id);
    const id = own?.id ?? this.#free(`${agentNameOf({ name: person })}/${slugOf(client.name)}`, known);
    const [oldest] = known;
    if (!own && known.length >= MAX_OF_PERSON && oldest) this.#parts.store.delete(SPACE, oldest.id);
    this.#parts.store.set(SPACE, id, { person, clientId: client.id, atMs: this.#parts.time.now() }, { ttlMs: KEPT_MS });
    return id;
  }

  /** Returns the agents of a person's clients, first the one to which access was given the longest time ago. */
  #of(person: string): readonly NamedAgent[] {
    const known = this.#parts.store.entries(SPACE).flatMap(({ key, value }) => readAgent(key, value) ?? []);
    return known.filter((agent) => agent.person === person).sort((a, b) => a.atMs - b.atMs);
  }

  #free(wanted: string, known: readonly NamedAgent[]): string {
    const { isTaken, isInRules } = this.#parts;
    const isFree = (id: string) => !known.some((agent) => agent.id === id) && !isTaken(id) && !isInRules(id);
    if (isFree(wanted) && !isReservedName(nameIn(wanted))) return wanted;
    for (let suffix = 2; suffix < MAX_SUFFIX; suffix++) if (isFree(`${wanted}-${suffix}`)) return `${wanted}-${suffix}`;
    return this.#free(`${wanted}-x`, known);
  }
}

/** Returns whether the agent with this id is that of a client to which a person has given access, or had. */
export function isAgentOfClient(store: Pick<HubContext['store'], 'get'>, id: string): boolean {
  return store.get(SPACE, id) !== undefined;
}

function nameIn(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

function readAgent(id: string, value: Json): NamedAgent | undefined {
  const { person, clientId, atMs } = objectOf(value);
  if (typeof person !== 'string' || typeof clientId !== 'string' || typeof atMs !== 'number') return undefined;
  return { id, person, clientId, atMs };
}

function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME_LENGTH)
    .replace(/^-+|-+$/g, '');
  return slug === '' ? 'application' : slug;
}
