import type { PeopleDirectory } from '../../core/auth/people.ts';
import { excessPermissions } from '../../core/auth/permission.ts';
import type { Authorizer, Principal } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { AutomationEdit } from '../agent-changes.ts';
import type { AgentRecord } from '../agent-store.ts';
import { requireAutomation, requireMaker, requireOther, requireOwnPermissions } from '../spawn-checks.ts';
import { sortedPermissions } from './definition.ts';

/** Who wants to edit which automation, and how. */
interface WantedEdit {
  readonly before: AgentRecord;
  readonly edit: AutomationEdit;
  readonly by: Principal;
}

type People = Pick<PeopleDirectory, 'personOf'>;

/** The parts of the hub that decide who may edit what. */
interface EditPorts {
  readonly authorizer: Authorizer;
  readonly people: People;
}

/**
 * Returns the permissions that an automation has after an edit. Throws NOT_SUPPORTED for an external agent, and PERMISSION_DENIED unless `by` may
 * edit the automation and give it these permissions.
 */
export function permissionsAfter({ before, edit, by }: WantedEdit, { authorizer, people }: EditPorts): readonly string[] {
  const { id } = before;
  requireAutomation(before, 'be edited: what it does stands elsewhere');
  requireOther(id, by, 'edit');
  requireMaker(before, by, { verb: 'edit', authorizer });
  requirePersonIfAccepted(before, by, people);
  const permissions = sortedPermissions(edit.permissions ?? before.permissions);
  requireOwnPermissions(permissions, by);
  requireNoMore(permissions, { before, by }, people);
  return permissions;
}

/** Throws PERMISSION_DENIED for an agent that edits what a person accepted: the person would not see the change. */
function requirePersonIfAccepted({ id, accepted }: Pick<AgentRecord, 'id' | 'accepted'>, by: Principal, people: People): void {
  if (!accepted || people.personOf(by)) return;
  const what = `${accepted.by} accepted ${id} as it is; an agent proposes a change with propose_automation and replaces`;
  throw new AtmoError('PERMISSION_DENIED', what);
}

/**
 * Throws PERMISSION_DENIED if somebody whose own rights are bounded gives an automation of the owner more than it has. Its token is the owner's: it
 * renews itself, and has none of the bounds of the editor.
 */
function requireNoMore(permissions: readonly string[], { before, by }: Omit<WantedEdit, 'edit'>, people: People): void {
  if (before.parent !== undefined || isUnbounded(by, people)) return;
  const beyond = excessPermissions(permissions, before.permissions);
  if (beyond.length === 0) return;
  const why = 'it is an automation of the owner, which has no end and no limits of yours';
  throw new AtmoError('PERMISSION_DENIED', `${by.id} cannot give ${before.id} more than it has, because ${why}: ${beyond.join(', ')}`, {
    required: beyond,
  });
}

/** Returns whether the caller is the owner, or a person whose rights no limit and no bound of the token narrows in time, rate or place. */
export function isUnbounded(by: Principal, people: People): boolean {
  if (by.kind === 'owner') return true;
  const person = people.personOf(by);
  if (!person || Object.keys(person.limits).length > 0) return false;
  const { maxHops, allowedNodes, rateLimits = [] } = by.token ?? {};
  return maxHops === undefined && allowedNodes === undefined && rateLimits.length === 0;
}
