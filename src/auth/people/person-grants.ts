import { PERSON_NAME } from '../../core/auth/approvals.ts';
import { type DayHours, PERSON_ROLES, type Person, type PersonLimits, type PersonRole } from '../../core/auth/people.ts';
import { excessPermissions, parseGrant } from '../../core/auth/permission.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { isVisible } from '../../core/untrusted-text.ts';

/** Kinds of devices that children and guests may use unless the owner names others. No lock, valve, camera or oven is among them. */
export const EVERYDAY_KINDS = ['light', 'plug', 'switch', 'cover', 'fan', 'thermostat', 'media', 'sensor'] as const;
/** Lets a person end own sign-ins. The grant `*` covers it. */
const END_SIGN_IN = 'sign-in:end';
/** Lets an adult see the own notices and choose how to be told. The grant `*` covers it. */
const OWN_NOTICES = 'notice:own';
const DEVICE_ACTIONS = ['device:control', 'device:read', 'sensor:read'] as const;
/** Largest number of rooms or kinds in one grant, so that the grant's text stays below its limit. */
const NAMES_IN_GRANT = 4;
const MAX_NAMES = 32;
const MAX_TITLE_LENGTH = 64;
const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d$/;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

/**
 * Returns the grants of a person. `owner` has everything. `adult` has everything except administration, and may take part in approvals.
 * `child` and `guest` may use and read devices of some kinds. Rooms and kinds narrow the grants of every role except `owner`.
 */
export function grantsOf({ role, limits: { rooms, kinds } }: Pick<Person, 'role' | 'limits'>): readonly string[] {
  if (role === 'owner') return ['*', 'admin:*'];
  if (role === 'adult' && !rooms && !kinds) return ['*', 'admin:approvals'];
  const own = deviceGrants(rooms, kinds ?? (role === 'adult' ? undefined : EVERYDAY_KINDS));
  return [...own, END_SIGN_IN, ...(role === 'adult' ? ['admin:approvals', OWN_NOTICES] : [])];
}

/** Returns those of the persons who belong to the household at a time, in milliseconds since 1970, and have all of the permissions. */
export function holdersOf(persons: readonly Person[], permissions: readonly string[], nowMs: number): readonly Person[] {
  const present = persons.filter(({ limits: { untilMs = Number.POSITIVE_INFINITY } }) => nowMs < untilMs);
  return present.filter((person) => excessPermissions(permissions, grantsOf(person)).length === 0);
}

/** Throws PERMISSION_DENIED unless the caller is the owner of the hub or has every grant of the person. */
export function requireRights(person: Person, { kind, permissions }: Principal): void {
  const missing = kind === 'owner' ? [] : excessPermissions(grantsOf(person), permissions);
  if (missing.length === 0) return;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `As ${person.role}, ${person.name} may do more than you (${missing.slice(0, 3).join(', ')}); ask the owner of the hub to do this`,
    { required: missing },
  );
}

function deviceGrants(rooms: readonly string[] | undefined, kinds: readonly string[] | undefined): readonly string[] {
  return DEVICE_ACTIONS.flatMap((action) => resourcesOf(rooms, kinds).map((resource) => `${action}:${resource}`));
}

function resourcesOf(rooms: readonly string[] | undefined, kinds: readonly string[] | undefined): readonly string[] {
  if (!rooms) return (kinds ?? []).map((kind) => `@type/${kind}`);
  if (!kinds) return rooms.map((room) => `@area/${room}`);
  const some = (names: readonly string[]) => chunksOf(names).map((chunk) => chunk.join('+'));
  return some(rooms).flatMap((areas) => some(kinds).map((types) => `@area/${areas}/@type/${types}`));
}

function chunksOf(names: readonly string[]): readonly (readonly string[])[] {
  const starts = names.flatMap((_, index) => (index % NAMES_IN_GRANT === 0 ? [index] : []));
  return starts.map((start) => names.slice(start, start + NAMES_IN_GRANT));
}

/**
 * Returns the time until which a person is admitted without a break, in milliseconds since 1970: the end of the current hours or of all
 * grants. Returns undefined if the person is not admitted now.
 */
export function admittedUntil({ limits: { untilMs, hours } }: Pick<Person, 'limits'>, nowMs: number): number | undefined {
  const endMs = untilMs ?? Number.POSITIVE_INFINITY;
  if (nowMs >= endMs) return undefined;
  const leftMs = hours ? minutesLeft(hours, new Date(nowMs)) * MINUTE_MS : Number.POSITIVE_INFINITY;
  return leftMs <= 0 ? undefined : Math.min(endMs, nowMs + leftMs);
}

/** Returns the minutes until the hours end, or 0 if `at` is outside of them. A day with a change of the clock may differ by an hour. */
function minutesLeft({ from, to }: DayHours, at: Date): number {
  const minute = at.getHours() * 60 + at.getMinutes();
  const start = minuteOfDay(from);
  const length = (minuteOfDay(to) - start + DAY_MINUTES) % DAY_MINUTES;
  const since = (minute - start + DAY_MINUTES) % DAY_MINUTES;
  return since < length ? length - since : 0;
}

function minuteOfDay(time: string): number {
  const [hours = '0', minutes = '0'] = time.split(':');
  return Number(hours) * 60 + Number(minutes);
}

/** Throws VALIDATION_ERROR, with what to change, unless the person can be stored. */
export function requireSoundPerson({ name, title, role, limits }: Person): void {
  if (!PERSON_NAME.test(name)) {
    refuse(`${JSON.stringify(name.slice(0, 64))} is no name of a person: 1 to 32 of a-z, 0-9, ".", "_", "-", the first a letter or digit`);
  }
  if (title === '' || title.length > MAX_TITLE_LENGTH || !isVisible(title)) {
    refuse(`The name that people read has 1 to ${MAX_TITLE_LENGTH} characters that can be seen`);
  }
  if (!PERSON_ROLES.includes(role)) refuse(`A role is one of ${PERSON_ROLES.join(', ')}`);
  requireSoundLimits(role, limits);
}

function requireSoundLimits(role: PersonRole, { rooms, kinds, untilMs, hours }: PersonLimits): void {
  if (role === 'owner' && (rooms || kinds || untilMs !== undefined || hours))
    refuse('The rights of an owner have no limits; choose another role');
  if (role === 'guest' && untilMs === undefined) refuse('A guest needs an end, such as the day when the visit ends');
  for (const names of [rooms, kinds]) {
    if (names && (names.length === 0 || names.length > MAX_NAMES || !names.every((one) => SLUG.test(one)))) {
      refuse(`Rooms and kinds are 1 to ${MAX_NAMES} names such as "living-room" or "light"; leave them out for all`);
    }
  }
  if (untilMs !== undefined && !(Number.isSafeInteger(untilMs) && untilMs > 0)) refuse('The end is a time such as 2026-08-31T12:00:00Z');
  if (hours && !(TIME_OF_DAY.test(hours.from) && TIME_OF_DAY.test(hours.to) && hours.from !== hours.to)) {
    refuse('Hours are two different times of the day such as 07:00 and 20:00');
  }
  requireSoundGrants({ role, limits: { ...(rooms && { rooms }), ...(kinds && { kinds }) } });
}

/** Largest number of grants of a person: a token has at most 64, and with long names its text would not hold more. */
const MAX_GRANTS = 48;

function requireSoundGrants(person: Pick<Person, 'role' | 'limits'>): void {
  const grants = grantsOf(person);
  if (grants.length <= MAX_GRANTS && grants.every((grant) => parseGrant(grant) !== undefined)) return;
  refuse('These are too many rooms and kinds for one person; name fewer of them, or leave the rooms or the kinds out');
}

function refuse(problem: string): never {
  throw new AtmoError('VALIDATION_ERROR', problem);
}
