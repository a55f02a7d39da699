import { covers, NO_GROUPS, parseGrant, parsePermission } from '../core/auth/permission.ts';

/** True when grants cover a permission. A grant over a group of devices covers nothing here: connectors have no devices. */
export function hasPermission(grants: readonly string[], permission: string): boolean {
  const required = parsePermission(permission);
  return required !== undefined && grants.map(parseGrant).some((grant) => grant && covers(grant, required, NO_GROUPS));
}

/** The names of which a caller may learn: it holds `permission` with the name. */
export function permittedNames(grants: readonly string[], permission: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => hasPermission(grants, `${permission}:${name}`));
}
