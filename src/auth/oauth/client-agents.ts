import type { HubContext } from '../../core/context.ts';
import { objectOf } from '../../core/json.ts';

const SPACE = 'oauth.agents';
const MAX_NAME_LENGTH = 48;
/** Names that mean something else in the audit log and for people, and can never be those of an application. */
const RESERVED: ReadonlySet<string> = new Set(['owner', 'hub', 'nobody', 'replay', 'monitor', 'preview']);
/** Longer than a grant lasts, so that a person who gives access again meets the same agent. */
const KEPT_MS = 400 * 86_400_000;
const MAX_SUFFIX = 1_000;

interface AgentParts extends Pick<HubContext, 'store'> {
  /** Returns whether a person or another agent has this name. */
  readonly isTaken: (name: string) => boolean;
  /** Returns whether the owner's rules name this agent. A client that is new must not find exceptions there that were made for another. */
  readonly isInRules: (name: string) => boolean;
}

/**
 * Names the agents of clients. A client has one agent for each person, always the same, so that what people have refused to it holds on if
 * it asks again; no other client and no person ever has its name.
 */
export class ClientAgents {
  readonly #parts: AgentParts;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** Returns the name of the agent of a client, made of what the client calls itself: `claude-ai`, or `claude-ai-2` if that is taken. */
  nameFor(client: { readonly id: string; readonly name: string }, person: string): string {
    const known = this.#parts.store.entries(SPACE);
    const owner = `${person} ${client.id}`;
    const own = known.find(({ key, value }) => objectOf(value).owner === owner && !this.#parts.isTaken(key))?.key;
    const names = new Set(known.map(({ key }) => key));
    const name = own ?? this.#free(slugOf(client.name), names);
    this.#parts.store.set(SPACE, name, { owner }, { ttlMs: KEPT_MS });
    return name;
  }

  #free(slug: string, names: ReadonlySet<string>): string {
    const { isTaken, isInRules } = this.#parts;
    const isFree = (name: string) => !RESERVED.has(name) && !names.has(name) && !isTaken(name) && !isInRules(name);
    if (isFree(slug)) return slug;
    for (let suffix = 2; suffix < MAX_SUFFIX; suffix++) if (isFree(`${slug}-${suffix}`)) return `${slug}-${suffix}`;
    return this.#free(`${slug}-x`, names);
  }
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
