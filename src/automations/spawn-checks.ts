import { randomBytes } from 'node:crypto';
import { excessPermissions } from '../core/auth/permission.ts';
import { AGENT_NAME, type Authorizer, type Principal, rootAgentOf, type TokenAuthority } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { slug } from '../core/ids.ts';
import { tokenState } from '../tools/builtin/token-tools.ts';
import { type AgentRecord, type AgentStore, type AgentType, isLiving } from './agent-store.ts';

/**
 * Throws VALIDATION_ERROR if no permission is requested, and PERMISSION_DENIED if the caller lacks a requested permission. The token issuer
 * checks this too. The early check keeps errors about the configuration from revealing what the caller may not see.
 */
export function requireOwnPermissions(permissions: readonly string[], by: Principal): void {
  if (permissions.length === 0) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      'An agent without permissions can do nothing; list in permissions what it needs, such as device:control:@type/light',
    );
  }
  const beyond = excessPermissions(permissions, by.permissions);
  if (beyond.length === 0) return;
  throw new AtmoError('PERMISSION_DENIED', `${by.id} cannot give away what it does not have: ${beyond.join(', ')}`, { required: beyond });
}

/** Throws PERMISSION_DENIED unless `by` is the parent of the agent, or the owner or a holder of `admin:agents` for one of the owner. */
export function requireMaker(
  { id, parent }: Pick<AgentRecord, 'id' | 'parent'>,
  by: Principal,
  { verb, authorizer }: { readonly verb: string; readonly authorizer: Authorizer },
): void {
  const isOwners = parent === undefined && authorizer.authorize(by, ['admin:agents']).allowed;
  if (isOwners || by.id === parent) return;
  const who = parent === undefined ? 'the owner' : `${parent}, whose token it comes from,`;
  throw new AtmoError('PERMISSION_DENIED', `Only ${who} can ${verb} ${id}`);
}

/** Throws PERMISSION_DENIED if an automation would change itself: with `admin:agents` it could lengthen its own life. */
export function requireOther(id: string, by: Principal, verb: string): void {
  if (by.id === id) throw new AtmoError('PERMISSION_DENIED', `${id} cannot ${verb} itself`);
}

const MAX_AGENTS = 64;
/** Maximum number of living agents in one family (an agent and its descendants), so that no family uses up the common maximum. */
const MAX_FAMILY = 16;

/** Throws RESOURCE_EXCEEDED if `by` may not spawn another agent. For the owner, only agents that the owner spawned are counted. */
export function requireAgentCapacity(living: readonly AgentRecord[], by: Principal): void {
  const isOwner = by.kind === 'owner';
  const counted = isOwner ? living.filter(({ parent }) => parent === undefined) : living;
  if (counted.length >= MAX_AGENTS) throw full(`${isOwner ? 'The owner has' : 'This hub has'} ${counted.length} agents`);
  const root = rootAgentOf(by.id);
  const family = living.filter(({ id }) => id !== root && rootAgentOf(id) === root);
  if (!isOwner && family.length >= MAX_FAMILY) throw full(`${root} and what comes from it have ${MAX_FAMILY} agents`);
}

function full(what: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `${what}, which is the most; end one with kill_agent first`);
}

/** The parts of the hub that know which tokens are valid. */
interface TokenPorts {
  readonly tokens: Pick<TokenAuthority, 'list'>;
  readonly clock: Clock;
}

/** Throws CONFLICT if the id is in use: two agents with one id would share their jobs and approvals. */
export function requireFree(id: string, agents: Pick<AgentStore, 'get'>, { tokens, clock }: TokenPorts): void {
  const nowMs = clock.now();
  const records = new Map(tokens.list().map((token) => [token.id, token]));
  const isHeld = records.values().some((token) => token.agentId === id && tokenState(token, records, nowMs) === 'valid');
  const known = agents.get(id);
  if (!isHeld && !(known && isLiving(known))) return;
  throw new AtmoError('CONFLICT', `There is an agent ${id} with a token already; choose another name, or end it first`);
}

/** Throws CONFLICT if an agent that has ended was killed, or if its id is in use again, and RESOURCE_EXCEEDED if there is no room for it. */
export function requireRevivable(
  { record: { id, status }, by }: { readonly record: AgentRecord; readonly by: Principal },
  agents: Pick<AgentStore, 'get' | 'living'>,
  ports: TokenPorts,
): void {
  if (status !== 'expired') throw new AtmoError('CONFLICT', `${id} was ended; spawn_agent makes it anew`);
  requireAgentCapacity(agents.living(), by);
  requireFree(id, agents, ports);
}

/** Maximum length of an agent's id. The id is part of permissions such as `agent:kill:<id>`, which have at most 256 characters. */
const MAX_ID_LENGTH = 200;

/** Returns the last part of an agent's id: the name, converted to a valid form if necessary. Without a name, the part is random. */
export function idPartOf(name: string | undefined, type: AgentType): string {
  if (name === undefined) return `${type}-${randomBytes(4).toString('hex')}`;
  const part = AGENT_NAME.test(name) ? name : slug(name, '-').slice(0, 64);
  if (AGENT_NAME.test(part)) return part;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The name ${JSON.stringify(name.slice(0, 64))} has no letter or digit that an id could be made of`,
  );
}

/** Returns the id of a child agent. It begins with the parent's id, so that no agent can take an id of another family. */
export function childId(parent: Principal, part: string): string {
  const id = parent.kind === 'owner' ? part : `${parent.id}/${part}`;
  if (id.length <= MAX_ID_LENGTH) return id;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The agent's id would have ${id.length} characters, more than ${MAX_ID_LENGTH}; give it a shorter name`,
  );
}

/** Returns who an automation with an id would be, with the bounds of the caller's token. */
export function draftPrincipal(id: string, permissions: readonly string[], by: Principal): Principal {
  return { ...(by.token && { token: by.token }), id, kind: 'agent', permissions };
}

/** Returns the id that a draft of the caller would get by its name. */
export function draftId(by: Principal, name = 'draft'): string {
  return childId(by, idPartOf(name, 'automation'));
}

/** Throws NOT_SUPPORTED for an external agent, of which the message says what it cannot do. */
export function requireAutomation({ id, type }: AgentRecord, lacks: string): void {
  if (type !== 'automation') throw new AtmoError('NOT_SUPPORTED', `${id} cannot ${lacks}`);
}
