import { covers, NO_GROUPS, parsePermission, requireGrant } from '../core/access/permission.ts';

/** Whether grants cover requirements. */
interface GrantVerdict {
  readonly allowed: boolean;
  /** Requirements that none of the grants covers, or that are malformed: those are always denied. */
  readonly missing: readonly string[];
  /** What cannot be known here. */
  readonly note?: string;
}

/** Checks requirements against grants as a hub would. VALIDATION_ERROR names a grant that is malformed. */
export function grantCheck(allow: readonly string[], require: readonly string[]): GrantVerdict {
  const grants = allow.map(requireGrant);
  const missing = require.filter((text) => {
    const required = parsePermission(text);
    return required === undefined || !grants.some((grant) => covers(grant, required, NO_GROUPS));
  });
  const isGrouped = missing.length > 0 && grants.some(({ kind }) => kind === 'group');
  const note = 'Only a hub knows which devices belong to a @type or @area: those grants count for none here';
  return { allowed: missing.length === 0, missing, ...(isGrouped && { note }) };
}
