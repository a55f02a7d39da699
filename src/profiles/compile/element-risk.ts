import { maxRisk, type Risk } from '../../core/auth/authorizer.ts';
import type { AttributeDescription, ClusterDescription, CommandDescription, Privilege } from '../../core/devices/device-model.ts';
import { valueAt } from '../../core/json.ts';
import { isAdministrative } from '../files/administrative-clusters.ts';
import type { ProfileSet } from '../files/profile-set.ts';
import { type CompiledDevice, type DeviceStep, elementOf, type ToolBlueprint } from './compiled-device.ts';

/** Tools with `highest` replaced by the highest risk among the tools of the same endpoint. */
export function settledRisks<Tool extends ToolBlueprint>(tools: readonly Tool[]): readonly (Tool & { readonly risk: Risk })[] {
  const highest = tools.reduce<Risk>((risk, tool) => (tool.risk === 'highest' ? risk : maxRisk(risk, tool.risk)), 'low');
  return tools.map((tool) => ({ ...tool, risk: tool.risk === 'highest' ? highest : tool.risk }));
}

/** One command or attribute of a device that a call is about to touch. */
export interface TouchedElement {
  readonly endpoint: number;
  readonly cluster: ClusterDescription;
  readonly command?: CommandDescription;
  /** Written, not read. */
  readonly attribute?: AttributeDescription;
}

/**
 * The risk of touching an element by whatever tool: what the device's own tools say of it, else what the files state,
 * else what the privilege tells. Unlocking stays unlocking through the generic tool.
 */
export function elementRisk(touched: TouchedElement, compiled: CompiledDevice, profiles: ProfileSet): Risk {
  if (isAdministrative(touched.cluster.name)) return 'dangerous';
  const element = touched.command?.name ?? touched.attribute?.name ?? '';
  const privilege = touched.command?.privilege ?? touched.attribute?.writePrivilege ?? 'operate';
  const here = compiled.tools.filter((tool) => tool.endpoint === touched.endpoint);
  const acting = here.filter((tool) => tool.kind === 'act' && tool.cluster === touched.cluster.name);
  const own = acting.filter((tool) => tool.elements.includes(element)).map((tool) => tool.risk);
  const floor: Risk = privilege === 'administer' ? 'dangerous' : 'low';
  if (own.length > 0) return own.reduce(maxRisk, floor);
  const stated = profiles.statedRisk(touched.cluster.name, element);
  if (stated === undefined) return privilegeRisk(privilege);
  const risk = stated === 'highest' ? here.reduce<Risk>((highest, tool) => maxRisk(highest, tool.risk), 'low') : stated;
  return maxRisk(risk, floor);
}

/**
 * True for a command or write with a number that the device's own tools of some consequence would refuse: what they keep
 * within bounds does not become harmless by another way. Comfort, such as the time of a change of light, stays comfort.
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

/** True when touching it needs the administrator's permission for the device. */
export function needsAdministrator(touched: TouchedElement): boolean {
  const privilege = touched.command?.privilege ?? touched.attribute?.writePrivilege ?? 'operate';
  return isAdministrative(touched.cluster.name) || privilege === 'administer';
}

const RISK: Readonly<Record<Privilege, Risk>> = { view: 'none', operate: 'medium', manage: 'medium', administer: 'dangerous' };

/** Risk of an element of which no profile says more: what the specification asks for as privilege. */
export function privilegeRisk(privilege: Privilege): Risk {
  return RISK[privilege];
}
