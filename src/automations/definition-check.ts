import type { Principal } from '../core/auth/principal.ts';
import type { JsonObject } from '../core/json.ts';
import type { AgentRecord } from './agent-store.ts';
import { checkActions } from './automation-access.ts';
import type { AccessPorts, DefinitionPorts } from './automation-ports.ts';
import { requireVisible } from './observed.ts';
import { boundDefinition } from './plan/bind-names.ts';
import { checkExternalConfig } from './plan/parse-automation.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';

/** A definition that was checked: its configuration with ids in place of names, and the plan of an automation. */
interface CheckedDefinition {
  readonly config: JsonObject;
  readonly plan?: AutomationPlan;
}

/**
 * Checks what an agent would do, as the agent itself, and binds its names to ids. Throws VALIDATION_ERROR or PAYLOAD_TOO_LARGE for an invalid
 * configuration, and errors about tools, sensors, devices and permissions.
 */
export function checkDefinition(
  { type, config: written }: Pick<AgentRecord, 'type' | 'config'>,
  asAgent: Principal,
  ports: DefinitionPorts,
): CheckedDefinition {
  if (type === 'external') {
    checkExternalConfig(written, ports.validator);
    return { config: written };
  }
  const { config, plan } = boundDefinition(written, asAgent, ports);
  requirePossible(plan, asAgent, ports);
  return { config, plan };
}

/** Throws if a plan looks at what the principal may not observe, or as `checkActions` does. */
export function requirePossible(plan: AutomationPlan, principal: Principal, ports: AccessPorts): void {
  requireVisible(plan, principal, ports);
  checkActions(plan.actions, principal, ports);
}
