import { familyOf } from '../core/access/agent-id.ts';
import type { Principal } from '../core/access/principal.ts';
import { AtmoError } from '../core/errors.ts';
import type { AgentRecord } from './agent-record.ts';

const MAX_AGENTS = 64;
/** Of one agent, with all that come from it: its children would otherwise take the places of everybody else. */
const MAX_FAMILY = 16;

/** RESOURCE_EXCEEDED when there is no place for one more agent of `by`. Nobody can take the places of the owner. */
export function requirePlace(living: readonly AgentRecord[], by: Principal): void {
  const isOwner = by.kind === 'owner';
  const counted = isOwner ? living.filter(({ parent }) => parent === undefined) : living;
  if (counted.length >= MAX_AGENTS) throw full(`${isOwner ? 'The owner has' : 'This hub has'} ${counted.length} agents`);
  const root = familyOf(by.id);
  const family = living.filter(({ id }) => id !== root && familyOf(id) === root);
  if (!isOwner && family.length >= MAX_FAMILY) throw full(`${root} and what comes from it have ${MAX_FAMILY} agents`);
}

function full(what: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `${what}, which is the most; end one with kill_agent first`);
}
