import type { ConsentChoice, ConsentChoices } from '../../core/auth/oauth.ts';
import { intersectPermissions } from '../../core/auth/permission-intersection.ts';
import { AtmoError, invalidInput } from '../../core/errors.ts';
import { EVERYDAY_KINDS } from '../people/person-grants.ts';

/** Families of devices that "all kinds" means. Locks and valves are never among kinds: they have switches of their own. */
const HARMLESS_KINDS: readonly string[] = [...EVERYDAY_KINDS, 'heating', 'energy'];
/** Families that a person can name beside these. */
const FURTHER_KINDS: readonly string[] = ['appliance', 'pump', 'camera', 'doorbell'];
const ALL_KINDS = [...HARMLESS_KINDS, ...FURTHER_KINDS];
const LOCK = 'lock';
const VALVE = 'valve';
/**
 * What administration gives beside that of the chosen devices. Tokens, people, approvals, backups, the mesh and the settings of the hub are left
 * out: an application must not decide who else has access, and how people are asked.
 */
const ADMINISTRATION = ['admin:agents', 'admin:audit', 'admin:rules'];
/** What control gives beside the devices: sequences of calls, each of which is checked by itself, and ending own jobs. */
const WITH_CONTROL = ['sequence:run', 'job:cancel'];
/** Number of areas in one grant, so that its text stays below its limit. */
const AREAS_IN_GRANT = 3;
const MAX_AREAS = 32;
/** A token has at most 64 grants and 2,048 bytes, with about 400 bytes of other claims. */
const MAX_GRANTS = 56;
const MAX_GRANTS_LENGTH = 1_500;
const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const DAY_MS = 86_400_000;
const DEFAULT_MS = 90 * DAY_MS;
const LONGEST_MS = 365 * DAY_MS;
const SHORTEST_MS = 3_600_000;

/** What bounds a consent: what the person may do now, and until when. */
export interface ConsentBounds {
  readonly permissions: readonly string[];
  readonly untilMs: number | undefined;
  readonly nowMs: number;
}

/** Returns what a person with these bounds can choose. */
export function choicesFor({ permissions, untilMs, nowMs }: ConsentBounds): ConsentChoices {
  const maxUntilMs = Math.min(nowMs + LONGEST_MS, untilMs ?? Number.POSITIVE_INFINITY);
  const mayUse = (kind: string) =>
    intersectPermissions(deviceGrants(['device:control', 'device:read'], [`@type/${kind}`]), permissions).length > 0;
  return {
    kinds: ALL_KINDS.filter(mayUse).map((id) => ({ id, isHarmless: HARMLESS_KINDS.includes(id) })),
    canLock: mayUse(LOCK),
    canValve: mayUse(VALVE),
    canAdminister: intersectPermissions(ADMINISTRATION, permissions).length > 0,
    defaultUntilMs: Math.min(nowMs + DEFAULT_MS, maxUntilMs),
    maxUntilMs,
  };
}

/**
 * Returns the permissions that a choice gives to a client: what was chosen and the person has. Locks, valves and administration are never
 * among them unless the choice names them. Throws VALIDATION_ERROR if the choice is malformed, gives nothing or does not fit into a token.
 */
export function permissionsOf(choice: ConsentChoice, bounds: ConsentBounds): readonly string[] {
  requireSoundChoice(choice, bounds);
  const granted = [...intersectPermissions(wantedBy(choice), bounds.permissions)].sort();
  if (granted.length === 0) throw invalidInput('This choice gives nothing that you may do; choose more rooms, kinds or rights');
  if (granted.length > MAX_GRANTS || granted.join().length > MAX_GRANTS_LENGTH) {
    throw invalidInput('These are too many rooms and kinds for one grant; choose all rooms, or fewer of them');
  }
  return granted;
}

function wantedBy(choice: ConsentChoice): readonly string[] {
  const actions = [
    ...(choice.control ? ['device:control'] : []),
    ...(choice.readings ? ['device:read', 'sensor:read'] : []),
    ...(choice.administration ? ['admin:device'] : []),
  ];
  return [
    ...deviceGrants(actions, resourcesOf(choice)),
    ...(choice.control ? WITH_CONTROL : []),
    ...(choice.administration ? ADMINISTRATION : []),
  ];
}

function resourcesOf({ areas, kinds, locks, valves }: ConsentChoice): readonly string[] {
  const types = [...(kinds === 'all' ? HARMLESS_KINDS : kinds), ...(locks ? [LOCK] : []), ...(valves ? [VALVE] : [])];
  if (areas === 'all') return types.map((type) => `@type/${type}`);
  const starts = areas.flatMap((_, index) => (index % AREAS_IN_GRANT === 0 ? [index] : []));
  const chunks = starts.map((start) => areas.slice(start, start + AREAS_IN_GRANT).join('+'));
  return chunks.flatMap((chunk) => types.map((type) => `@area/${chunk}/@type/${type}`));
}

function deviceGrants(actions: readonly string[], resources: readonly string[]): readonly string[] {
  return actions.flatMap((action) => resources.map((resource) => `${action}:${resource}`));
}

function requireSoundChoice(choice: ConsentChoice, bounds: ConsentBounds): void {
  const { areas, kinds, untilMs, locks, valves, administration } = choice;
  if (areas !== 'all' && !(areas.length <= MAX_AREAS && areas.every((area) => SLUG.test(area)) && isDistinct(areas))) {
    throw invalidInput(`Rooms are "all" or up to ${MAX_AREAS} different names such as "living-room"`);
  }
  if (kinds !== 'all' && !(kinds.every((kind) => ALL_KINDS.includes(kind)) && isDistinct(kinds))) {
    throw invalidInput(`Kinds are "all" or different ones of ${ALL_KINDS.join(', ')}; locks and valves have choices of their own`);
  }
  const can = choicesFor(bounds);
  if ((locks && !can.canLock) || (valves && !can.canValve) || (administration && !can.canAdminister)) {
    throw new AtmoError('PERMISSION_DENIED', 'You can only give an application what you may do yourself');
  }
  if (!(untilMs >= bounds.nowMs + Math.min(SHORTEST_MS, can.maxUntilMs - bounds.nowMs) && untilMs <= can.maxUntilMs)) {
    throw invalidInput('The end has to be at least an hour from now, at most a year, and not after the end of your own rights');
  }
}

function isDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}
