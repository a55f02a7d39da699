import { covers, NO_GROUPS, parseGrant } from '../../core/auth/permission.ts';
import {
  isSelfOrDescendant,
  OWNERS_AGENT,
  type Principal,
  requireUnreservedName,
  type TokenAuthority,
  type TokenInspection,
  type TokenRecord,
} from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT, TEXTS } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { HUB_ACTS, HUB_READS } from './hub-tool.ts';
import { checkRoles, mintParameters, type TokenRoles, tokenRequest } from './token-roles.ts';

interface TokenPorts {
  readonly tokens: TokenAuthority;
  /** Roles of the configuration by name. If `checkRoles` refuses one of them, the hub does not start. */
  readonly roles: TokenRoles;
}

const FOR_TOKENS = { permissions: ['admin:token'] } as const;
const ADMIN_TOKEN = { namespace: 'admin', action: 'token' } as const;
const tokenIdParameter = p.string({ description: 'Id of the token, as list_tokens tells it', pattern: '^[0-9a-f]{32}$' });

/** Returns the tools for the tokens of agents. */
export function tokenTools(ports: TokenPorts): readonly RegisteredTool[] {
  checkRoles(ports.roles);
  return [mintTool(ports), showTool(ports), listTool(ports), revokeTool(ports)];
}

function mintTool({ tokens, roles }: TokenPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_TOKENS,
      name: 'mint_token',
      title: 'Make a token',
      description:
        'Makes a signed token with which an agent may call some tools for some time, and answers its text once. An agent that makes one gives part of its own rights.',
      parameters: mintParameters(Object.keys(roles)),
      returns: resultSchema({
        token: { ...TEXT, 'x-secret': true },
        token_id: TEXT,
        agent_id: TEXT,
        permissions: TEXTS,
        expires_at: INSTANT,
      }),
    },
    async (params, { principal: caller }) => {
      // `atmo monitor` opens the page with a token of this name, which only the owner can make.
      if (params.agent_id !== OWNERS_AGENT || caller.kind !== 'owner') requireUnreservedName(params.agent_id);
      const { token, principal } = tokens.issue(tokenRequest(params, roles), caller);
      return {
        token,
        token_id: principal.token?.id ?? '',
        agent_id: principal.id,
        permissions: principal.permissions,
        expires_at: isoTime(principal.token?.expiresAtMs ?? 0),
      };
    },
  );
}

function showTool({ tokens }: TokenPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'show_token',
      title: 'Show a token',
      description:
        "Tells what a token allows and whether it may be used now. A caller's own token and those that come from it need no permission; others need admin:token.",
      parameters: { token: p.string({ description: 'Text of the token, at1.…', maxLength: 4096, secret: true }) },
      returns: resultSchema({ state: { enum: ['valid', 'expired', 'revoked', 'unusable', 'invalid'] }, reason: TEXT }, ['reason']),
    },
    async ({ token }, { principal: caller }) => {
      const inspection = inspect(tokens, token);
      if (typeof inspection === 'string') return { state: 'invalid', reason: inspection };
      requireVisible(caller, inspection.principal);
      return inspectionView(inspection);
    },
  );
}

function listTool({ tokens }: TokenPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_TOKENS,
      name: 'list_tokens',
      title: 'List tokens',
      description: 'Lists the tokens that this hub made, newest first, until 30 days after their end; without their texts.',
      parameters: { agent_id: p.string({ description: 'Only those of this agent and its children', maxLength: 260 }).optional() },
      returns: resultSchema({ tokens: { type: 'array', items: { type: 'object' } } }),
    },
    async ({ agent_id: agentId }, { clock }) => {
      const records = tokens.list();
      const wanted = records.filter((record) => agentId === undefined || isSelfOrDescendant(record.agentId, agentId));
      const known = new Map(records.map((record) => [record.id, record]));
      return { tokens: wanted.map((record) => tokenRecordView(record, known, clock.now())) };
    },
  );
}

function revokeTool({ tokens }: TokenPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_TOKENS,
      name: 'revoke_token',
      title: 'Revoke a token',
      description:
        'Ends a token and all that come from it, at once and for good. Answers whether it was in force and whether this hub made it.',
      isIdempotent: true,
      parameters: { token_id: tokenIdParameter },
      returns: resultSchema({ revoked: { type: 'boolean' }, known: { type: 'boolean' } }),
    },
    async ({ token_id: tokenId }) => {
      const known = tokens.find(tokenId) !== undefined;
      return { revoked: tokens.revoke(tokenId), known };
    },
  );
}

/** Returns the content of the token, or the message of the error if the token is invalid. */
function inspect(tokens: TokenAuthority, token: string): TokenInspection | string {
  try {
    return tokens.inspect(token);
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    if (code !== 'TOKEN_INVALID') throw thrown;
    return message;
  }
}

function requireVisible(caller: Principal, bearer: Principal): void {
  const isOwn = caller.kind === 'agent' && isSelfOrDescendant(bearer.id, caller.id);
  if (isOwn || caller.permissions.some((permission) => givesAdminToken(permission))) return;
  throw new AtmoError('PERMISSION_DENIED', 'The token is neither yours nor one that comes from yours; to look at it needs admin:token', {
    required: ['admin:token'],
  });
}

function givesAdminToken(permission: string): boolean {
  const grant = parseGrant(permission);
  return grant !== undefined && covers(grant, ADMIN_TOKEN, NO_GROUPS);
}

/** Returns the result of show_token for a token with valid signatures. */
function inspectionView({ state, reason, principal, issuer, issuedAtMs, notBeforeMs, isBearer }: TokenInspection): JsonObject {
  const { token } = principal;
  return {
    type: 'agent_token',
    state,
    ...(reason !== undefined && { reason }),
    token_id: token.id,
    agent_id: principal.id,
    issuer,
    permissions: principal.permissions,
    issued_at: isoTime(issuedAtMs),
    not_before: isoTime(notBeforeMs),
    expires_at: isoTime(token.expiresAtMs),
    chain: token.chain,
    ...(token.allowedNodes && { allowed_nodes: token.allowedNodes }),
    ...(token.maxHops !== undefined && { max_hops: token.maxHops }),
    rate_limits: token.rateLimits.map(({ tokenId, calls, seconds }) => ({ token_id: tokenId, calls, seconds })),
    needs_proof: !isBearer,
  };
}

/** Returns the state of a token. A token is revoked if it or one of its ancestors was revoked. `known` has all tokens of this hub by id. */
export function tokenState(record: TokenRecord, known: ReadonlyMap<string, TokenRecord>, nowMs: number): TokenInspection['state'] {
  for (let link: TokenRecord | undefined = record; link; link = known.get(link.parent ?? '')) {
    if (link.revokedAtMs !== undefined) return 'revoked';
  }
  return record.expiresAtMs <= nowMs ? 'expired' : 'valid';
}

/** Returns a token as an item of the list that list_tokens returns. `known` has all tokens of this hub by id. */
function tokenRecordView(record: TokenRecord, known: ReadonlyMap<string, TokenRecord>, nowMs: number): JsonObject {
  const { id, agentId, permissions, issuedAtMs, expiresAtMs, issuedBy, role, signIn, grant, client, parent, revokedAtMs } = record;
  return {
    token_id: id,
    agent_id: agentId,
    state: tokenState(record, known, nowMs),
    permissions,
    issued_at: isoTime(issuedAtMs),
    expires_at: isoTime(expiresAtMs),
    issued_by: issuedBy,
    ...(role !== undefined && { role }),
    ...(signIn !== undefined && { sign_in: signIn }),
    ...(grant !== undefined && { grant }),
    ...(client !== undefined && { client }),
    ...(parent !== undefined && { parent }),
    ...(revokedAtMs !== undefined && { revoked_at: isoTime(revokedAtMs) }),
  };
}
