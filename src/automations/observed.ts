import { type Authorizer, isSelfOrDescendant, type Principal } from '../core/auth/principal.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import { parseDeviceId, parseSensorId } from '../core/devices/device-names.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import { AtmoError, invalidInput } from '../core/errors.ts';
import { oncePerObject } from '../core/lifecycle.ts';
import { callerView } from '../tools/definition/tool-permissions.ts';
import { canSeeDevice } from '../tools/names/resolve-names.ts';
import type { HouseState } from './house/house.ts';
import { type SimpleCondition, simpleConditions } from './plan/condition-schema.ts';
import { usesIn } from './plan/expression.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import { conditionsIn, expressionsOf } from './plan/step-schema.ts';
import type { Trigger } from './plan/trigger-schema.ts';

/** The parts of the hub that know what there is to observe. */
interface VisibilityPorts {
  readonly authorizer: Authorizer;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly house: Pick<HouseState, 'place'>;
}

/** What an automation looks at. */
export type Observed = Trigger | SimpleCondition;

/** Returns what a plan looks at: its triggers, its conditions at any depth, and what its expressions use. */
export const observedBy = oncePerObject(({ triggers, conditions, actions }: AutomationPlan): readonly Observed[] => {
  const asked = simpleConditions([...conditions, ...conditionsIn(actions).flat()]);
  return [...triggers, ...asked, ...usedBy(expressionsOf({ conditions, actions }))];
});

/** Returns what expressions look at. */
export function usedBy(expressions: Iterable<string>): readonly Observed[] {
  const written = [...expressions];
  const readings = [...usesIn(written, 'readings')].map((sensor_id): Observed => ({ type: 'reading', sensor_id }));
  return [...readings, ...[...usesIn(written, 'flags')].map((flag): Observed => ({ type: 'flag', flag }))];
}

/**
 * Returns whether the principal may observe what a trigger or condition is about. For a sensor, the principal needs the permission to read
 * its value. For a device, the permission to see the device is enough. The sun shows where the house is. The time of day needs no permission.
 */
export function canObserve(about: Observed, principal: Principal, authorizer: Authorizer): boolean {
  if ('device_id' in about) return canSeeDevice(parseDeviceId(about.device_id), callerView(principal, authorizer));
  const permission = permissionOf(about, principal);
  return permission === undefined || authorizer.authorize(principal, [permission]).allowed;
}

/** Returns the permission to observe something, also a device; undefined if it needs none. */
export function permissionToObserve(about: Observed, principal: Principal): string | undefined {
  return 'device_id' in about ? `device:read:${about.device_id}` : permissionOf(about, principal);
}

/** Returns the permission to observe something; undefined if it needs none. */
function permissionOf(about: Exclude<Observed, { readonly device_id: string }>, principal: Principal): string | undefined {
  switch (about.type) {
    case 'reading':
      return `sensor:read:${about.sensor_id}`;
    case 'sun':
      return 'location:read:hub';
    case 'flag':
      return `flag:read:${about.flag}`;
    case 'presence':
      return 'presence:read';
    case 'scene':
      return `scene:read:${about.scene_id}`;
    case 'decision':
      return about.agent_id !== undefined && isSelfOrDescendant(about.agent_id, principal.id) ? undefined : 'admin:approvals';
    case 'automation_ended':
      return isKin(about.agent_id, principal.id) ? undefined : 'admin:agents';
    default:
      return undefined;
  }
}

/** Returns whether an agent is a descendant of the principal, or was made by the same one. */
function isKin(agentId: string, principalId: string): boolean {
  return isSelfOrDescendant(agentId, principalId) || makerOf(agentId) === makerOf(principalId);
}

function makerOf(agentId: string): string {
  return agentId.split('/').slice(0, -1).join('/');
}

/**
 * Throws SENSOR_NOT_FOUND or DEVICE_NOT_FOUND if a sensor or device is unknown, and the same error if the principal may not see it. Throws
 * PERMISSION_DENIED for other things that the principal may not observe, NOT_CONFIGURED if the place of the sun is not known, VALIDATION_ERROR
 * if the automation would set itself off.
 */
export function requireVisible(plan: AutomationPlan, principal: Principal, ports: VisibilityPorts): void {
  for (const about of observedBy(plan)) {
    if (!exists(about, ports) || !canObserve(about, principal, ports.authorizer)) throw hidden(about, principal);
    if (about.type === 'sun' && ports.house.place() === undefined) throw nowhere();
    if (about.type === 'automation_ended' && about.agent_id === principal.id) throw invalidInput('It cannot be set off by its own end');
  }
}

function hidden(about: Observed, principal: Principal): AtmoError {
  const whose = 'The permissions of this agent show it no';
  if ('sensor_id' in about) {
    const sensor = JSON.stringify(about.sensor_id);
    return new AtmoError('SENSOR_NOT_FOUND', `${whose} sensor ${sensor}; write the id of one, as list_sensors returns it`);
  }
  if ('device_id' in about) {
    return new AtmoError('DEVICE_NOT_FOUND', `${whose} device ${JSON.stringify(about.device_id)}; write the id of one`);
  }
  const required = [permissionOf(about, principal) ?? ''];
  return new AtmoError('PERMISSION_DENIED', `For ${about.type}, the agent would lack ${required[0]}; add it to permissions`, { required });
}

function nowhere(): AtmoError {
  const what = 'Where the house is, is not known, so the sun cannot be computed';
  return new AtmoError('NOT_CONFIGURED', `${what}; set latitude and longitude of connectors.location.hub in the configuration of the hub`);
}

function exists(about: Observed, { readings, devices }: VisibilityPorts): boolean {
  if ('sensor_id' in about) return readings.current(parseSensorId(about.sensor_id)) !== undefined;
  return 'device_id' in about ? devices.get(parseDeviceId(about.device_id)) !== undefined : true;
}

/** Members of triggers and conditions by which the needed permission differs. */
const SUBJECTS = ['type', 'sensor_id', 'device_id', 'flag', 'scene_id', 'agent_id'] as const;

/**
 * What an automation looks at, each thing once. All that ask within one event get one judgement: a run may have dozens of waits that the same
 * event checks, and each thing is judged against all grants.
 */
export class ObservedByPlan {
  readonly #authorizer: Authorizer;
  readonly #observed: readonly Observed[];
  readonly #judged = new Map<Principal, boolean>();

  constructor(plan: AutomationPlan, authorizer: Authorizer) {
    this.#authorizer = authorizer;
    this.#observed = [...new Map(observedBy(plan).map((about) => [keyOf(about), about])).values()];
  }

  /** Returns whether a principal may observe all of it now. */
  areVisibleTo(principal: Principal): boolean {
    const known = this.#judged.get(principal);
    if (known !== undefined) return known;
    const areVisible = this.#observed.every((about) => canObserve(about, principal, this.#authorizer));
    this.#judged.set(principal, areVisible);
    queueMicrotask(() => this.#judged.clear());
    return areVisible;
  }
}

function keyOf(about: Observed): string {
  const members: Partial<Record<string, unknown>> = { ...about };
  return JSON.stringify(SUBJECTS.map((name) => members[name] ?? null));
}
