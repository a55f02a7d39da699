import { excessPermissions, parseGrant } from '../../core/auth/permission.ts';
import { AGENT_NAME, LONGEST_TOKEN_SECONDS, type TokenRequest } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { p, type ValuesOf } from '../definition/define-tool.ts';

/** A named role of the configuration: the upper limits of the tokens that are minted for it. */
interface TokenRole {
  readonly permissions: readonly string[];
  readonly ttlSeconds?: number;
  readonly maxHops?: number;
  readonly ratePerMinute?: number;
}

export type TokenRoles = Readonly<Record<string, TokenRole>>;

type MintParams = ValuesOf<ReturnType<typeof mintParameters>>;

const DAY_SECONDS = 86_400;
const MINUTE_SECONDS = 60;

/** Returns the parameters of mint_token for a configuration with these roles. */
export function mintParameters(roles: readonly string[]) {
  const known = roles.length > 0 ? `: ${roles.join(', ')}` : '; none is configured';
  const permission = p.string({ description: 'Such as device:control:@type/light or sensor:read:*', maxLength: 322 });
  const node = p.string({ description: 'Id of a hub', maxLength: 64 });
  return {
    agent_id: p.string({
      description: 'Name of the agent; a slash and the name of the one who makes it come before it for a child',
      pattern: AGENT_NAME.source,
      examples: ['assistant'],
    }),
    permissions: p
      .array(permission, { description: "What it may do; all of the role's when left out", minItems: 1, maxItems: 64 })
      .optional(),
    role: p.string({ description: `Role of the configuration that its rights come from${known}`, maxLength: 64 }).optional(),
    ttl_seconds: p
      .integer({
        description: "How long it lasts; the role's time or a day when left out",
        minimum: 60,
        maximum: LONGEST_TOKEN_SECONDS,
        unit: 's',
      })
      .optional(),
    max_hops: p.integer({ description: 'From how many hubs away it may be used', minimum: 0, maximum: 255 }).optional(),
    allowed_nodes: p.array(node, { description: 'Hubs that act for it; every hub of this mesh when left out', maxItems: 32 }).optional(),
    rate_per_minute: p.integer({ description: 'Calls in a minute', minimum: 1, maximum: 1_000_000 }).optional(),
    key: p
      .string({
        description: 'Raw Ed25519 public key of the agent, base64url; it then proves to hold it with each request',
        pattern: '^[A-Za-z0-9_-]{43}$',
      })
      .optional(),
  };
}

/** Throws CONFIG_INVALID for the first role that has no permissions, or that has a permission that cannot be granted. */
export function checkRoles(roles: TokenRoles): void {
  for (const [name, { permissions }] of Object.entries(roles)) {
    const malformed = permissions.find((permission) => parseGrant(permission) === undefined);
    if (malformed === undefined && permissions.length > 0) continue;
    const problem = malformed === undefined ? 'has no permissions' : `has ${JSON.stringify(malformed)}, which cannot be granted`;
    throw new AtmoError('CONFIG_INVALID', `The role ${name} ${problem}; mend it under roles in the configuration`, { role: name });
  }
}

/**
 * Returns the request for a token. If the parameters name a role, they can only narrow its rights. Throws VALIDATION_ERROR for an unknown
 * role, or if there are neither role nor permissions. Throws PERMISSION_DENIED for permissions that the role does not have.
 */
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
    { required: beyond },
  );
}

function minimumOf(asked: number | undefined, ofRole: number | undefined): number | undefined {
  return asked === undefined || ofRole === undefined ? (asked ?? ofRole) : Math.min(asked, ofRole);
}
