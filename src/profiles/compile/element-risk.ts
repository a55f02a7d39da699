import { maxRisk, type Risk } from '../../core/auth/principal.ts';
import type { AttributeDescription, ClusterDescription, CommandDescription, Privilege } from '../../core/devices/device-model.ts';
import { valueAt } from '../../core/json.ts';
import { isAdministrative } from '../files/administrative-clusters.ts';
import type { StatedRisk } from '../files/profile-format.ts';
import type { CompiledDevice, DeviceStep, ToolBlueprint } from './compiled-device.ts';
import { elementOf } from './step-outcome.ts';

/** Returns the tools with the risk `highest` replaced by the highest risk among the tools of the same endpoint. */
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
 * Returns the risk of a command or attribute, whichever tool uses it. The risk comes from the device's own tools, else from the profile
 * files (`stated`), else from the Matter privilege. So the generic tool unlocks a lock with the same risk as the lock's own tool.
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
 * Returns whether a command or write has a number outside of the bounds of the device's own tools. Tools with low risk have no such bounds.
 * Outside of the bounds, the generic tool counts as dangerous.
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

/** Returns the risk of an element without a profile, by its Matter access privilege. */
export function privilegeRisk(privilege: Privilege): Risk {
  return ({ view: 'none', operate: 'medium', manage: 'medium', administer: 'dangerous' } as const)[privilege];
}
