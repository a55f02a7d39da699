import { maxRisk, type Risk } from '../../core/auth/principal.ts';
import type { AttributeDescription, ClusterDescription, CommandDescription, Privilege } from '../../core/devices/device-model.ts';
import { valueAt } from '../../core/json.ts';
import { isAdministrative } from '../files/administrative-clusters.ts';
import type { StatedRisk } from '../files/profile-format.ts';
import type { CompiledDevice, DeviceStep, ToolBlueprint } from './compiled-device.ts';
import { elementOf } from './step-outcome.ts';

/** Returns the tools of an endpoint. The stated risk `highest` becomes the highest risk of these tools, and at least `low`. */
export function settledRisks<Tool extends ToolBlueprint>(tools: readonly Tool[]): readonly (Tool & { readonly risk: Risk })[] {
  const highest = maxRisk('low', ...tools.map(({ risk }) => risk).filter((risk) => risk !== 'highest'));
  return tools.map((tool) => ({ ...tool, risk: tool.risk === 'highest' ? highest : tool.risk }));
}

/** One command or attribute that a call touches. */
export interface TouchedElement {
  readonly endpoint: number;
  readonly cluster: ClusterDescription;
  readonly command?: CommandDescription;
  readonly attribute?: AttributeDescription;
}

/**
 * Returns the risk of a command or attribute. It does not depend on the tool: unlocking with the generic tool has the same risk as with the
 * lock's own tool. The sources are, in this order, the device's own tools, the profile files (`stated`) and the Matter privilege.
 */
export function elementRisk(touched: TouchedElement, compiled: CompiledDevice, stated: StatedRisk | undefined): Risk {
  if (isAdministrative(touched.cluster.name)) return 'dangerous';
  const element = touched.command?.name ?? touched.attribute?.name ?? '';
  const privilege = privilegeOf(touched);
  const here = compiled.tools.filter((tool) => tool.endpoint === touched.endpoint);
  const acting = here.filter((tool) => tool.kind === 'act' && tool.cluster === touched.cluster.name);
  const own = acting.filter((tool) => tool.elements.includes(element)).map((tool) => tool.risk);
  const floor: Risk = privilege === 'administer' ? 'dangerous' : 'low';
  if (own.length > 0) return maxRisk(floor, ...own);
  if (stated === undefined) return privilegeRisk(privilege);
  const risk = stated === 'highest' ? maxRisk('low', ...here.map((tool) => tool.risk)) : stated;
  return maxRisk(risk, floor);
}

/**
 * Returns whether a command or write has a number outside of the bounds that the device's own tools set. If so, a call of the generic tool
 * counts as dangerous. The bounds of tools with low risk are ignored.
 */
export function exceedsLimits(step: DeviceStep, compiled: CompiledDevice): boolean {
  if (step.kind === 'read') return false;
  const here = compiled.tools.filter((tool) => tool.endpoint === step.endpoint && tool.cluster === step.cluster && tool.risk !== 'low');
  const limits = here.flatMap((tool) => tool.limits ?? []).filter((limit) => limit.element === elementOf(step));
  return limits.some(({ field, min, max }) => {
    const raw = step.kind === 'write' ? step.value : valueAt(step.fields, (field ?? '').split('.'));
    return raw !== undefined && raw !== null && !(Number(raw) >= min && Number(raw) <= max);
  });
}

/** Returns whether a command or attribute needs the administration permission for the device. */
export function needsAdministrator(touched: TouchedElement): boolean {
  return isAdministrative(touched.cluster.name) || privilegeOf(touched) === 'administer';
}

function privilegeOf({ command, attribute }: TouchedElement): Privilege {
  return command?.privilege ?? attribute?.writePrivilege ?? 'operate';
}

/** Returns the risk that follows from a Matter access privilege, for commands and attributes without a profile. */
export function privilegeRisk(privilege: Privilege): Risk {
  return ({ view: 'none', operate: 'medium', manage: 'medium', administer: 'dangerous' } as const)[privilege];
}
