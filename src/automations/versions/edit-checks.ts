import type { PeopleDirectory } from '../../core/auth/people.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { AgentRecord } from '../agent-store.ts';
import type { DefinitionPorts } from '../automation-ports.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { checkDefinition, requireAutomation, requireMaker, requireOwnPermissions } from '../spawn-checks.ts';
import type { AutomationEdit } from '../version-store.ts';
import { type Definition, requireAccepted, sortedPermissions } from './definition.ts';

/** Who wants to edit which automation, and how. */
interface WantedEdit {
  readonly before: AgentRecord;
  readonly edit: AutomationEdit;
  readonly by: Principal;
}

type EditPorts = DefinitionPorts & { readonly people: Pick<PeopleDirectory, 'personOf'> };

/**
 * Returns the definition that an edit makes, with ids in place of names, and its plan. Throws NOT_SUPPORTED for an external agent,
 * PERMISSION_DENIED unless `by` may edit the automation and give it these permissions, CONFLICT if it is not what a person accepted, and as
 * `checkDefinition` does.
 */
export function checkEdit({ before, edit, by }: WantedEdit, ports: EditPorts): Definition & { readonly plan?: AutomationPlan } {
  const { id, type } = before;
  requireAutomation(before, 'be edited: what it does stands elsewhere');
  requireMaker(before, by, { verb: 'edit', authorizer: ports.authorizer });
  requirePersonIfAccepted(before, by, ports.people);
  const permissions = sortedPermissions(edit.permissions ?? before.permissions);
  requireOwnPermissions(permissions, by);
  const checked = checkDefinition({ type, config: edit.config }, { ...by, id, permissions }, ports);
  requireAccepted({ config: checked.config, permissions }, edit.accepted);
  return { ...checked, permissions };
}

/** Throws PERMISSION_DENIED for an agent that edits what a person accepted: the person would not see the change. */
function requirePersonIfAccepted({ id, accepted }: Pick<AgentRecord, 'id' | 'accepted'>, by: Principal, people: EditPorts['people']): void {
  if (!accepted || people.personOf(by)) return;
  const what = `${accepted.by} accepted ${id} as it is; an agent proposes a change with propose_automation and replaces`;
  throw new AtmoError('PERMISSION_DENIED', what);
}
