import {
  concerns,
  covers,
  coversSome,
  type Grant,
  parseGrant,
  parsePermission,
  type RemoteGroups,
  type ResourceGroups,
} from '../core/auth/permission.ts';
import type { Authenticator, Authorizer, Decision, Principal } from '../core/auth/principal.ts';
import type { HubId } from '../core/ids.ts';
import { oncePerObject } from '../core/lifecycle.ts';

const TEMPLATE = /^([a-z][a-z0-9_-]{0,31}):([a-z][a-z0-9_-]{0,31}):/;

interface GrantParts {
  readonly groups: ResourceGroups;
  /** Groups that contain devices of other hubs. */
  readonly elsewhere: RemoteGroups;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
}

/** Compares a principal's grants with the required permissions. An expired or revoked token has no grants. */
export class GrantAuthorizer implements Authorizer {
  readonly #parts: GrantParts;

  constructor(parts: GrantParts) {
    this.#parts = parts;
  }

  authorize(principal: Principal, permissions: readonly string[]): Decision {
    if (permissions.length === 0) return { allowed: true };
    const grants = this.#grantsOf(principal);
    if (grants === undefined) return { allowed: false, required: permissions, reason: 'its token has expired or was revoked' };
    const missing = permissions.filter((permission) => !this.#isCovered(grants, permission));
    if (missing.length === 0) return { allowed: true };
    return { allowed: false, required: missing, reason: 'none of its grants covers that' };
  }

  canSee(principal: Principal, permission: string): boolean {
    const grants = this.#grantsOf(principal)?.all ?? [];
    const template = templateHead(permission);
    if (template) return grants.some((grant) => coversSome(grant, { namespace: template.namespace }));
    const required = parsePermission(permission);
    return required !== undefined && grants.some((grant) => concerns(grant, required, this.#parts.groups));
  }

  mayTry(principal: Principal, permission: string): boolean {
    const grants = this.#grantsOf(principal);
    if (!grants) return false;
    const template = templateHead(permission);
    return template ? grants.all.some((grant) => coversSome(grant, template)) : this.#isCovered(grants, permission);
  }

  elsewhere(hubs: () => readonly HubId[]): Authorizer {
    const { elsewhere, validity } = this.#parts;
    const groups: ResourceGroups = { isMember: (resource, group) => elsewhere.isMember(resource, group, hubs()) };
    return new GrantAuthorizer({ groups, elsewhere, validity });
  }

  /** Returns the principal's grants; undefined if its token has expired or was revoked. */
  #grantsOf(principal: Principal): Grants | undefined {
    return this.#parts.validity.isStillValid(principal) ? parsedGrants(principal.permissions) : undefined;
  }

  #isCovered({ exact, wider }: Grants, permission: string): boolean {
    const required = parsePermission(permission);
    if (required === undefined) return false;
    // Permissions are compared byte by byte: a grant for a single resource covers only the identical permission.
    return exact.has(permission) || wider.some((grant) => covers(grant, required, this.#parts.groups));
  }
}

interface Grants {
  readonly all: readonly Grant[];
  /** Grants for single resources. They are a set, because a token may have many of them. */
  readonly exact: ReadonlySet<string>;
  readonly wider: readonly Grant[];
}

/** Returns the parsed grants, or none if one is malformed. A principal's permissions never change, so each list is parsed only once. */
const parsedGrants = oncePerObject((permissions: readonly string[]): Grants => {
  const parsed = permissions.map(parseGrant);
  const all = parsed.every((grant) => grant !== undefined) ? parsed : [];
  const exact = all.flatMap((grant) => (grant.kind === 'resource' ? [`${grant.namespace}:${grant.action}:${grant.resource}`] : []));
  return { all, exact: new Set(exact), wider: all.filter(({ kind }) => kind !== 'resource') };
});

/** Returns the namespace and action of a permission with a placeholder (`agent:kill:{agent_id}`); undefined for other permissions. */
function templateHead(permission: string): { readonly namespace: string; readonly action: string } | undefined {
  if (!permission.includes('{')) return undefined;
  const [, namespace, action] = TEMPLATE.exec(permission) ?? [];
  return namespace === undefined || action === undefined ? undefined : { namespace, action };
}
