import { covers, NO_GROUPS, parseGrant, parsePermission } from '../core/auth/permission.ts';

/** Whether grants give a permission; one over a group of devices gives nothing here, where there are no devices. */
export function hasPermission(grants: readonly string[], permission: string): boolean {
  const required = parsePermission(permission);
  return required !== undefined && grants.map(parseGrant).some((grant) => grant && covers(grant, required, NO_GROUPS));
}

/** Those of some names that a caller may know of: the ones for which it holds `permission` and the name. */
export function permittedNames(grants: readonly string[], permission: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => hasPermission(grants, `${permission}:${name}`));
}
