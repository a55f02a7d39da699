import { type ApproverDirectory, PERSON_NAME } from '../../core/auth/approvals.ts';
import {
  mayRoleApprove,
  PERSON_ROLES,
  type PeopleAdministration,
  type Person,
  type PersonLimits,
  type PersonRole,
  type SignIn,
} from '../../core/auth/people.ts';
import type { Authorizer, Effect, Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import type { ReadingStore } from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { present } from '../../core/json.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT, TEXTS, type ValuesOf } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { type AreaAliases, resolveArea } from '../names/resolve-names.ts';
import { areasOf } from './home-name-tools.ts';
import { DONE, HUB_ACTS, HUB_READS, SUCCESS } from './hub-tool.ts';

const PEOPLE_PERMISSION = 'admin:people';
const FOR_PEOPLE = { permissions: [PEOPLE_PERMISSION] } as const;

/** The parts of the hub that the tools for people use. */
export interface PeoplePorts {
  readonly people: PeopleAdministration;
  readonly approvers: Pick<ApproverDirectory, 'list'>;
  readonly authorizer: Authorizer;
  readonly directory: Pick<DeviceDirectory, 'list'>;
  /** The sensors, which can have areas of their own. */
  readonly readings: Pick<ReadingStore, 'sensors'>;
  readonly names: AreaAliases;
}

const nameParameter = p.string({
  description: 'Short name of the person, which never changes',
  pattern: PERSON_NAME.source,
  examples: ['ann'],
});
const signInParameter = p.string({ description: 'Id of the sign-in, as list_sign_ins tells it', pattern: '^[0-9a-f]{32}$' });
const roleParameter = p.enum(PERSON_ROLES, {
  description:
    'owner: everything. adult: everything but administration. child: devices of everyday kinds, no locks. guest: as a child, until a day',
});
const HOURS = '^([01][0-9]|2[0-3]):[0-5][0-9]$';
/** What is left out stays as it is; an empty list or text removes the limit. */
const changes = {
  title: p.string({ description: 'The name that people read', maxLength: 64, isGivenName: true, examples: ['Ann'] }).optional(),
  role: roleParameter.optional(),
  rooms: p
    .array(p.string({ description: 'Room that a device or sensor is in', maxLength: 64 }), {
      description: 'Only devices in these rooms; empty: in all',
      maxItems: 32,
    })
    .optional(),
  kinds: p
    .array(p.string({ description: 'Such as light, cover or lock', maxLength: 64 }), {
      description:
        "Only devices of these kinds; empty: those of the role. A child's kinds are light, plug, switch, cover, fan, thermostat, media and sensor",
      maxItems: 32,
    })
    .optional(),
  until: p.string({ description: 'Time at which all rights end, ISO 8601; empty: never', maxLength: 40 }).optional(),
  from: p.string({ description: 'Admitted each day from this time of the hub, HH:MM; empty: always', pattern: `${HOURS}|^$` }).optional(),
  to: p.string({ description: 'Admitted each day until this time, HH:MM', pattern: `${HOURS}|^$` }).optional(),
};
type Changes = ValuesOf<typeof changes>;

const PERSON = resultSchema(
  {
    name: TEXT,
    title: TEXT,
    role: { enum: PERSON_ROLES },
    rooms: TEXTS,
    kinds: TEXTS,
    until: INSTANT,
    from: TEXT,
    to: TEXT,
  },
  ['rooms', 'kinds', 'until', 'from', 'to'],
);
const SIGN_IN = resultSchema({ sign_in_id: TEXT, person: TEXT, label: TEXT, created_at: INSTANT, seen_at: INSTANT });

/** Returns the tools for the household: persons, invitations and sign-ins. Everybody may see and end the own sign-ins. */
export function peopleTools(ports: PeoplePorts): readonly RegisteredTool[] {
  return [...personTools(ports), inviteTool(ports), listSignInsTool(ports), endSignInTool(ports)];
}

function personTools(ports: PeoplePorts): readonly RegisteredTool[] {
  const { people } = ports;
  return [
    defineTool(
      {
        ...HUB_READS,
        ...FOR_PEOPLE,
        name: 'list_people',
        title: 'List the people of the household',
        description: 'Lists the persons who have a place on this hub, with their roles and what narrows them.',
        parameters: {},
        returns: resultSchema({ people: { type: 'array', items: PERSON } }),
      },
      async () => ({ people: people.list().map(personJson) }),
    ),
    defineTool(
      {
        ...HUB_ACTS,
        ...FOR_PEOPLE,
        name: 'add_person',
        title: 'Add a person to the household',
        description: 'Adds a person with a role, which rooms, kinds and times can narrow. invite_person then signs the person in.',
        parameters: { name: nameParameter, ...changes, role: roleParameter },
        effects: ({ name, role }) => [effectOn(ports, name, role)],
        returns: PERSON,
      },
      async ({ name, ...given }, { principal }) => {
        const person = changed({ name, title: name, role: given.role, limits: {} }, withKnownRooms(given, ports));
        people.requireRightsOf(person, principal);
        await people.add(person);
        return personJson(person);
      },
    ),
    defineTool(
      {
        ...HUB_ACTS,
        ...FOR_PEOPLE,
        name: 'change_person',
        title: 'Change what a person may do',
        description: 'Changes the name to read, the role or the limits of a person. What is left out stays. The new rights hold at once.',
        isIdempotent: true,
        parameters: { name: nameParameter, ...changes },
        effects: ({ name, role }) => [effectOn(ports, name, role)],
        returns: PERSON,
      },
      async ({ name, ...given }, { principal }) => {
        const before = requirePerson(people, name);
        const person = changed(before, withKnownRooms(given, ports));
        for (const one of [before, person]) people.requireRightsOf(one, principal);
        await people.change(person);
        return personJson(person);
      },
    ),
    defineTool(
      {
        ...HUB_ACTS,
        ...FOR_PEOPLE,
        name: 'remove_person',
        title: 'Remove a person from the household',
        description: 'Removes a person; all sign-ins, tokens and approver keys of the person end at once.',
        isDestructive: true,
        parameters: { name: nameParameter },
        effects: ({ name }) => [effectOn(ports, name, 'nobody')],
        returns: DONE,
      },
      async ({ name }, { principal }) => {
        people.requireRightsOf(requirePerson(people, name), principal);
        await people.remove(name);
        return SUCCESS;
      },
    ),
  ];
}

function inviteTool(ports: PeoplePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_PEOPLE,
      name: 'invite_person',
      title: 'Invite a person to sign in',
      description:
        'Answers a code with which one browser or command line signs in as the person, once and within ten minutes. Only this answer has the code.',
      parameters: { name: nameParameter },
      effects: ({ name }) => [effectOn(ports, name)],
      returns: resultSchema({ person: TEXT, title: TEXT, code: { ...TEXT, 'x-secret': true }, expires_at: INSTANT }),
    },
    async ({ name }, { principal }) => {
      const { people } = ports;
      people.requireRightsOf(requirePerson(people, name), principal);
      const { code, person, expiresAtMs } = await people.invite(name);
      return { person: person.name, title: person.title, code, expires_at: isoTime(expiresAtMs) };
    },
  );
}

/**
 * Returns the effect of a call on a person, who gets the role `after`. People have to approve what makes or invites an owner of the hub, or
 * ends keys with which a person approves.
 */
function effectOn({ people, approvers }: PeoplePorts, name: string, after?: PersonRole | 'nobody'): Effect {
  const before = people.find(name)?.role;
  const role = after ?? before ?? 'nobody';
  const losesKeys = (role === 'nobody' || !mayRoleApprove(role)) && approvers.list().some(({ person }) => person === name);
  const isDangerous = before === 'owner' || role === 'owner' || losesKeys;
  return { permission: PEOPLE_PERMISSION, risk: isDangerous ? 'dangerous' : 'low', target: `person/${name}/${role}` };
}

function listSignInsTool(ports: PeoplePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'list_sign_ins',
      title: 'List sign-ins',
      description: 'Lists the browsers and command lines that are signed in: the own ones, or those of everybody with admin:people.',
      parameters: {},
      returns: resultSchema({ sign_ins: { type: 'array', items: SIGN_IN } }),
    },
    async (_params, { principal }) => ({ sign_ins: visibleSignIns(ports, principal).map(signInJson) }),
  );
}

function endSignInTool(ports: PeoplePorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      permissions: ['sign-in:end'],
      name: 'end_sign_in',
      title: 'End a sign-in',
      description: 'Signs a browser or command line out, at once and for good: an own one, or any one with admin:people.',
      isDestructive: true,
      parameters: { sign_in_id: signInParameter },
      returns: SIGN_IN,
    },
    async ({ sign_in_id: id }, { principal }) => {
      if (!visibleSignIns(ports, principal).some((signIn) => signIn.id === id)) {
        throw new AtmoError('NOT_FOUND', `There is no sign-in ${id}; list_sign_ins tells which there are`);
      }
      return signInJson(await ports.people.endSignIn(id));
    },
  );
}

function visibleSignIns({ people, authorizer }: PeoplePorts, principal: Principal): readonly SignIn[] {
  if (authorizer.authorize(principal, [PEOPLE_PERMISSION]).allowed) return people.signIns();
  const own = people.personOf(principal)?.name;
  return people.signIns().filter(({ person }) => person === own);
}

function requirePerson(people: PeopleAdministration, name: string): Person {
  const person = people.find(name);
  if (person) return person;
  throw new AtmoError('NOT_FOUND', `Nobody here is called ${JSON.stringify(name)}; list_people tells who is`);
}

/** Returns the changes with the rooms by their keys. Throws NOT_FOUND, with the rooms that there are, if the hub has no such room. */
function withKnownRooms({ rooms, ...given }: Changes, ports: PeoplePorts): Changes {
  if (!rooms) return given;
  const known = areasOf(ports);
  return { ...given, rooms: [...new Set(rooms.map((room) => areaKey(resolveArea(room, known, ports.names))))] };
}

/** Returns the person with the changes. */
function changed(person: Person, { title, role, ...limits }: Changes): Person {
  return {
    name: person.name,
    title: title || person.title,
    role: role ?? person.role,
    limits: changedLimits(person.limits, limits),
  };
}

function changedLimits(before: PersonLimits, { rooms, kinds, until, from, to }: Omit<Changes, 'title' | 'role'>): PersonLimits {
  const hours = { from: from ?? before.hours?.from ?? '', to: to ?? before.hours?.to ?? '' };
  return present({
    rooms: nonEmpty(rooms ?? before.rooms),
    kinds: nonEmpty(kinds ?? before.kinds),
    untilMs: until === undefined ? before.untilMs : endOf(until),
    hours: hours.from === '' && hours.to === '' ? undefined : hours,
  });
}

function nonEmpty(names: readonly string[] | undefined): readonly string[] | undefined {
  return names && names.length > 0 ? names : undefined;
}

function endOf(until: string): number | undefined {
  if (until === '') return undefined;
  const atMs = Date.parse(until);
  if (Number.isFinite(atMs)) return atMs;
  throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(until)} is no time such as 2026-08-31T12:00:00Z`, { pointer: '/until' });
}

function personJson({ name, title, role, limits }: Person): JsonObject {
  const { rooms, kinds, untilMs, hours } = limits;
  return {
    name,
    title,
    role,
    ...present({ rooms, kinds }),
    ...(untilMs !== undefined && { until: isoTime(untilMs) }),
    ...(hours && { from: hours.from, to: hours.to }),
  };
}

function signInJson({ id, person, label, createdAtMs, seenAtMs }: SignIn): JsonObject {
  return { sign_in_id: id, person, label, created_at: isoTime(createdAtMs), seen_at: isoTime(seenAtMs) };
}
