import type { Authorizer, Decision } from '../core/auth/authorizer.ts';
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
import type { Authenticator, Principal } from '../core/auth/principal.ts';
import type { HubId } from '../core/ids.ts';

const TEMPLATE = /^([a-z][a-z0-9_-]{0,31}):([a-z][a-z0-9_-]{0,31}):/;

interface GrantCollaborators {
  readonly groups: ResourceGroups;
  /** Devices of other hubs belong to no group when absent. */
  readonly elsewhere?: RemoteGroups;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
}

/** Decides by a principal's grants (core/permission). A token that expired or was revoked grants nothing more. */
export class GrantAuthorizer implements Authorizer {
  readonly #grants: PrincipalGrants;
  readonly #here: GrantEvaluator;
  readonly #elsewhere: RemoteGroups | undefined;

  constructor({ groups, elsewhere, validity }: GrantCollaborators) {
    this.#grants = new PrincipalGrants(validity);
    this.#here = new GrantEvaluator(this.#grants, groups);
    this.#elsewhere = elsewhere;
  }

  authorize(principal: Principal, permissions: readonly string[]): Decision {
    return this.#here.authorize(principal, permissions);
  }

  canSee(principal: Principal, permission: string): boolean {
    return this.#here.canSee(principal, permission);
  }

  mayTry(principal: Principal, permission: string): boolean {
    return this.#here.mayTry(principal, permission);
  }

  elsewhere(hubs: () => readonly HubId[]): Authorizer {
    const groups = this.#elsewhere;
    return new GrantEvaluator(this.#grants, { isMember: (resource, group) => groups?.isMember(resource, group, hubs()) ?? false });
  }
}

/** Compares grants with what is required, where devices belong to the groups of one place. */
class GrantEvaluator implements Authorizer {
  readonly #grants: PrincipalGrants;
  readonly #groups: ResourceGroups;

  constructor(grants: PrincipalGrants, groups: ResourceGroups) {
    this.#grants = grants;
    this.#groups = groups;
  }

  authorize(principal: Principal, permissions: readonly string[]): Decision {
    if (permissions.length === 0) return { allowed: true };
    const grants = this.#grants.of(principal);
    if (grants === undefined) return { allowed: false, required: permissions, reason: 'its token has expired or was revoked' };
    const missing = permissions.filter((permission) => !this.#isCovered(grants, permission));
    if (missing.length === 0) return { allowed: true };
    return { allowed: false, required: missing, reason: 'none of its grants covers that' };
  }

  canSee(principal: Principal, permission: string): boolean {
    const grants = this.#grants.of(principal) ?? [];
    const template = templateHead(permission);
    if (template) return grants.some((grant) => coversSome(grant, { namespace: template.namespace }));
    const required = parsePermission(permission);
    return required !== undefined && grants.some((grant) => concerns(grant, required, this.#groups));
  }

  mayTry(principal: Principal, permission: string): boolean {
    const grants = this.#grants.of(principal) ?? [];
    const template = templateHead(permission);
    return template ? grants.some((grant) => coversSome(grant, template)) : this.#isCovered(grants, permission);
  }

  #isCovered(grants: readonly Grant[], permission: string): boolean {
    const required = parsePermission(permission);
    if (required === undefined) return false;
    const { exact, wider } = byReach(grants);
    // Comparison is byte by byte: a grant on one resource covers what is written alike, and nothing else.
    return exact.has(permission) || wider.some((grant) => covers(grant, required, this.#groups));
  }
}

interface GrantsByReach {
  /** Texts of the grants on one resource each; a guest's token may hold a hundred. */
  readonly exact: ReadonlySet<string>;
  readonly wider: readonly Grant[];
}

const reaches = new WeakMap<readonly Grant[], GrantsByReach>();

function byReach(grants: readonly Grant[]): GrantsByReach {
  const known = reaches.get(grants);
  if (known) return known;
  const exact = grants.flatMap((grant) => (grant.kind === 'resource' ? [`${grant.namespace}:${grant.action}:${grant.resource}`] : []));
  const made = { exact: new Set(exact), wider: grants.filter((grant) => grant.kind !== 'resource') };
  reaches.set(grants, made);
  return made;
}

class PrincipalGrants {
  readonly #validity: Pick<Authenticator, 'isStillValid'>;
  /** A principal's list of grants never changes; each is parsed once. */
  readonly #parsed = new WeakMap<readonly string[], readonly Grant[]>();

  constructor(validity: Pick<Authenticator, 'isStillValid'>) {
    this.#validity = validity;
  }

  /** Undefined when the token has ended. A list with one malformed grant gives nothing at all. */
  of(principal: Principal): readonly Grant[] | undefined {
    if (!this.#validity.isStillValid(principal)) return undefined;
    const known = this.#parsed.get(principal.permissions);
    if (known) return known;
    const grants = principal.permissions.map(parseGrant);
    const sound = grants.every((grant) => grant !== undefined) ? grants : [];
    this.#parsed.set(principal.permissions, sound);
    return sound;
  }
}

/** Namespace and action of a permission whose resource is filled in from a call's parameters. */
function templateHead(permission: string): { readonly namespace: string; readonly action: string } | undefined {
  if (!permission.includes('{')) return undefined;
  const [, namespace, action] = TEMPLATE.exec(permission) ?? [];
  return namespace === undefined || action === undefined ? undefined : { namespace, action };
}
