import { excessPermissions, parseGrant } from '../../core/auth/permission.ts';
import type { TokenRequest } from '../../core/auth/tokens.ts';
import { AtmoError } from '../../core/errors.ts';

/** A named profile: what a token of this role may do unless it is to do less. */
interface TokenRole {
  readonly permissions: readonly string[];
  readonly ttlSeconds?: number;
  readonly maxHops?: number;
  readonly ratePerMinute?: number;
}

export type TokenRoles = Readonly<Record<string, TokenRole>>;

/** Parameters of mint_token. */
export interface MintParams {
  readonly agent_id: string;
  readonly permissions?: readonly string[];
  readonly role?: string;
  readonly ttl_seconds?: number;
  readonly max_hops?: number;
  readonly allowed_nodes?: readonly string[];
  readonly rate_per_minute?: number;
  readonly key?: string;
}

const DAY_SECONDS = 86_400;
const MINUTE_SECONDS = 60;

/** CONFIG_INVALID names the first role that holds what cannot be granted. */
export function checkRoles(roles: TokenRoles): void {
  for (const [name, { permissions }] of Object.entries(roles)) {
    const malformed = permissions.find((permission) => parseGrant(permission) === undefined);
    if (malformed === undefined && permissions.length > 0) continue;
    const problem = malformed === undefined ? 'has no permissions' : `has ${JSON.stringify(malformed)}, which cannot be granted`;
    throw new AtmoError('CONFIG_INVALID', `The role ${name} ${problem}; mend it under roles in the configuration`, { role: name });
  }
}

/** The token that is asked for; what is said beside a role can only narrow it. VALIDATION_ERROR, PERMISSION_DENIED. */
export function tokenRequest(params: MintParams, roles: TokenRoles): TokenRequest {
  const role = params.role === undefined ? undefined : roleNamed(params.role, roles);
  const maxHops = minimumOf(params.max_hops, role?.maxHops);
  const perMinute = minimumOf(params.rate_per_minute, role?.ratePerMinute);
  const ttlSeconds = minimumOf(params.ttl_seconds, role?.ttlSeconds) ?? DAY_SECONDS;
  return {
    agentId: params.agent_id,
    permissions: permissionsOf(params, role),
    ttlMs: ttlSeconds * 1000,
    ...(maxHops !== undefined && { maxHops }),
    ...(params.allowed_nodes && { allowedNodes: params.allowed_nodes }),
    ...(perMinute !== undefined && { rateLimit: { calls: perMinute, seconds: MINUTE_SECONDS } }),
    ...(params.key !== undefined && { key: params.key }),
    ...(params.role !== undefined && { role: params.role }),
  };
}

function roleNamed(name: string, roles: TokenRoles): TokenRole {
  const role = Object.hasOwn(roles, name) ? roles[name] : undefined;
  if (role) return role;
  const known = Object.keys(roles).join(', ') || 'none';
  throw new AtmoError('VALIDATION_ERROR', `There is no role ${JSON.stringify(name)}; the configuration has: ${known}`, {
    pointer: '/role',
  });
}

function permissionsOf({ permissions, role: name }: MintParams, role: TokenRole | undefined): readonly string[] {
  if (!role) {
    if (permissions) return permissions;
    throw new AtmoError('VALIDATION_ERROR', 'Say what the token may do: permissions, or a role of the configuration', {
      pointer: '/permissions',
    });
  }
  if (!permissions) return role.permissions;
  const beyond = excessPermissions(permissions, role.permissions);
  if (beyond.length === 0) return permissions;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `The role ${name} does not have ${beyond.join(', ')}; leave the role out to give more than it has`,
    {
      required: beyond,
    },
  );
}

function minimumOf(asked: number | undefined, ofRole: number | undefined): number | undefined {
  return asked === undefined || ofRole === undefined ? (asked ?? ofRole) : Math.min(asked, ofRole);
}
