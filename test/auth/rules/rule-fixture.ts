import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import type { CallToJudge, Effect, Principal, RuleVerdict } from '../../../src/core/auth/principal.ts';
import { type DeviceFacts, parseDeviceId } from '../../../src/core/devices/device-names.ts';

export const OWNER: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };
export const AGENT: Principal = { id: 'helper', kind: 'agent', permissions: ['*'] };

/** A heater and a lamp in the kitchen, a front door in the hall, a garage door nowhere. */
export const FACTS: DeviceFacts = {
  namedDevice: () => undefined,
  areaMeant: (key) => key,
  areaOf: (device) => ({ heater: 'kitchen', lamp: 'kitchen', 'front-door': 'hall' })[device],
  typesOf: (device) =>
    new Set({ heater: ['thermostat'], lamp: ['light', 'dimmable-light'], 'front-door': ['lock', 'door-lock'], garage: ['cover'] }[device]),
};

/** One effect on a device, as its tools state it. */
export function effectOn(device: string, given: Partial<Effect> & { readonly does?: string } = {}): Effect {
  const { does = 'OnOff/On', ...rest } = given;
  const id = parseDeviceId(device);
  return { permission: `device:control:${id}`, risk: 'low', target: `${id}/1/${does}`, device: id, ...rest };
}

/** A call by an agent that has these effects. */
export function callOf(effects: readonly Effect[], given: Partial<CallToJudge> = {}): CallToJudge {
  return { principal: AGENT, toolId: 'core:some_tool@1.0.0', formerToolIds: [], params: {}, effects, ...given };
}

/** What rules in YAML say to a call; `at` is a time of the week, Monday noon unless it is said. */
export function judged(yaml: string, call: CallToJudge, at: string | null = 'mon 12:00'): RuleVerdict {
  const { set, zone } = compileRules(yaml, 'rules.yaml');
  return set.judge(call, { facts: FACTS, minute: at === null ? undefined : zone.parse(at, 0) });
}
