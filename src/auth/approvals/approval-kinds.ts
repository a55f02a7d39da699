import type { ApprovalDecision, ApprovalKind, PlannedCall } from '../../core/auth/approvals.ts';
import type { Effect } from '../../core/auth/principal.ts';
import { deviceElement, readsIn } from '../../core/devices/action-descriptions.ts';
import { type DeviceFacts, OPENING_TYPES, typeSlug } from '../../core/devices/device-names.ts';

const GUARDED_CLUSTERS: ReadonlySet<string> = new Set([
  ...['DoorLock', 'ValveConfigurationAndControl', 'ClosureControl', 'ClosureDimension'],
  // An action of a bridge may open whatever the bridge controls.
  'Actions',
]);
const GUARDED_TYPES = ['lock', 'valve', ...OPENING_TYPES.map(typeSlug)];
/** Clusters whose dangerous elements open nothing: ovens and the limits of alarms. Any other dangerous device may be a garage door. */
const APPLIANCE_CLUSTERS: ReadonlySet<string> = new Set([
  ...['MicrowaveOvenControl', 'OvenCavityOperationalState', 'OperationalState'],
  ...['SmokeCoAlarm', 'BooleanStateConfiguration'],
]);

interface CallToClassify {
  readonly effects: readonly Pick<Effect, 'target' | 'permission' | 'risk'>[];
  readonly plan: PlannedCall;
}

type KnownDevices = Pick<DeviceFacts, 'namedDevice' | 'typesOf'>;

/** Returns the kinds of what a call touches, its steps included. */
export function kindsOf({ effects, plan }: CallToClassify, devices: KnownDevices): readonly ApprovalKind[] {
  const reads = readsIn(effects);
  const acting = effects.filter(({ target }) => !reads.has(target));
  const all = [...acting.flatMap((effect) => kindsOfEffect(effect, devices)), ...kindsOfPlan(plan, devices)];
  return all.length === 0 ? ['other'] : [...new Set(all)];
}

/** The facts about a request that decide which answers are offered. */
interface RequestToAnswer {
  readonly kinds: readonly ApprovalKind[];
  readonly needed: number;
  /** Devices that the call would change. */
  readonly devices: readonly string[];
  readonly isOwners: boolean;
}

/** Returns the answers that the hub accepts for a request. */
export function offeredAnswers({ kinds, needed, devices, isOwners }: RequestToAnswer): readonly ApprovalDecision[] {
  const isRepeatable = needed === 1 && kinds.every((kind) => kind === 'devices' || kind === 'other');
  const isRefusable = !isOwners && devices.length > 0;
  return ['approve', ...(isRepeatable ? ['approve_for_hour' as const] : []), 'deny', ...(isRefusable ? ['refuse' as const] : [])];
}

/** Returns the ids of the devices that effects change. A device that is only read, or is unknown, is left out. */
export function changedDevices(effects: CallToClassify['effects'], devices: Pick<DeviceFacts, 'namedDevice'>): readonly string[] {
  const reads = readsIn(effects);
  const ids = effects.filter(({ target }) => !reads.has(target)).map(({ target }) => deviceIdOf(target));
  return [...new Set(ids)].filter((id) => devices.namedDevice(id) !== undefined);
}

/** Returns the first segment of a target, which is the device's id if the target belongs to a device. */
export function deviceIdOf(target: string): string {
  return target.split('/', 1)[0] ?? '';
}

/** Returns the kind of one effect. Administration of a lock, such as its removal, is of both kinds. */
function kindsOfEffect(effect: CallToClassify['effects'][number], devices: KnownDevices): readonly ApprovalKind[] {
  const isAdministration = /^admin:/.test(effect.permission);
  if (isGuarded(effect.target, devices)) return isAdministration ? ['guarded', 'administration'] : ['guarded'];
  return [isAdministration ? 'administration' : kindOf(effect, devices)];
}

/** Returns the kind of an effect that is neither administration nor on a lock, valve or garage door that is known as one. */
function kindOf({ target, permission, risk }: CallToClassify['effects'][number], devices: KnownDevices): ApprovalKind {
  if (/^(proc|docker):/.test(permission)) return 'programs';
  const element = deviceElement(target);
  if (!element && devices.namedDevice(deviceIdOf(target)) === undefined) return 'other';
  return risk === 'dangerous' && mayOpen(element) ? 'guarded' : 'devices';
}

/** Returns whether something dangerous may open a lock, valve or garage door, if it happens at this element, or anywhere at a device. */
function mayOpen(element: ReturnType<typeof deviceElement>): boolean {
  return element === undefined || !APPLIANCE_CLUSTERS.has(element.cluster);
}

function isGuarded(target: string, devices: Pick<DeviceFacts, 'typesOf'>): boolean {
  const cluster = deviceElement(target)?.cluster;
  if (cluster !== undefined && GUARDED_CLUSTERS.has(cluster)) return true;
  const types = devices.typesOf(deviceIdOf(target));
  return GUARDED_TYPES.some((type) => types.has(type));
}

/** Returns the kinds of a plan's programs and steps. What a step would do beyond devices is not known, so it counts as administration. */
function kindsOfPlan(plan: PlannedCall, devices: KnownDevices): readonly ApprovalKind[] {
  const own: readonly ApprovalKind[] = plan.program ? ['programs'] : [];
  return [...own, ...(plan.steps ?? []).flatMap((step) => [...kindsOfStep(step, devices), ...kindsOfPlan(step, devices)])];
}

function kindsOfStep({ targets, reads = [], open, dangerous }: PlannedCall, devices: KnownDevices): readonly ApprovalKind[] {
  const changed = targets.filter((target) => !reads.includes(target));
  // What is done to which device is not known, so a dangerous tool may open a lock.
  if (open || targets.length === 0) return dangerous ? ['guarded', 'administration'] : ['administration'];
  return changed.flatMap((target) => {
    const element = deviceElement(target);
    if (!element) return isGuarded(target, devices) ? ['guarded', 'administration'] : 'administration';
    return (dangerous === true && mayOpen(element)) || isGuarded(target, devices) ? 'guarded' : 'devices';
  });
}
