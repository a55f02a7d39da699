import { AGENT_NAME } from '../../core/access/agent-id.ts';
import { requireGrant } from '../../core/access/permission.ts';
import { LONGEST_TOKEN_SECONDS, type TokenRequest } from '../../core/access/token-authority.ts';
import { AtmoError } from '../../core/errors.ts';
import { CLAIM_BOUNDS, NODE_ID } from './token-claims.ts';

const MIN_TTL_MS = 60_000;
/** Longest life of a token: 400 days. */
export const MAX_TTL_MS = LONGEST_TOKEN_SECONDS * 1_000;

/** Who stands under these names in the journal and in events is not an agent. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['owner', 'hub', 'nobody', 'replay']);

/** The request's permissions, each once and sorted; VALIDATION_ERROR names what no token could hold. */
export function checkTokenRequest(request: TokenRequest): readonly string[] {
  const { agentId, ttlMs } = request;
  if (!AGENT_NAME.test(agentId)) refuse(`The agent id ${JSON.stringify(agentId.slice(0, 80))} is not of the form ${AGENT_NAME.source}`);
  if (RESERVED_NAMES.has(agentId)) refuse(`The agent id ${agentId} means somebody else here; choose another`);
  if (!(ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS)) refuse('A token lasts from 60 seconds to 400 days');
  checkLimits(request);
  return checkPermissions(request.permissions);
}

function checkLimits({ allowedNodes = [], maxHops = 0, rateLimit }: TokenRequest): void {
  const { allowedNodes: maxNodes, maxHops: mostHops, rateCalls, rateSeconds } = CLAIM_BOUNDS;
  if (allowedNodes.length > maxNodes) refuse(`A token names at most ${maxNodes} hubs; leave them out to allow all`);
  if (!allowedNodes.every((node) => NODE_ID.test(node))) refuse(`An id of a hub is of the form ${NODE_ID.source}`);
  if (!isWithin(maxHops, 0, mostHops)) refuse(`max_hops is a whole number from 0 to ${mostHops}`);
  if (!rateLimit || (isWithin(rateLimit.calls, 1, rateCalls) && isWithin(rateLimit.seconds, 1, rateSeconds))) return;
  refuse(`A rate is 1 to ${rateCalls} calls in 1 to ${rateSeconds} seconds`);
}

function checkPermissions(permissions: readonly string[]): readonly string[] {
  const distinct = [...new Set(permissions)].sort();
  if (distinct.length === 0) refuse('A token without permissions is worth nothing; name at least one');
  if (distinct.length > CLAIM_BOUNDS.permissions)
    refuse(`A token holds at most ${CLAIM_BOUNDS.permissions} permissions, not ${distinct.length}`);
  for (const permission of distinct) requireGrant(permission);
  return distinct;
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function refuse(message: string): never {
  throw new AtmoError('VALIDATION_ERROR', message);
}
