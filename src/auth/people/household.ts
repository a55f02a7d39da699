import { isDeepStrictEqual } from 'node:util';
import { mayRoleApprove, type PeopleDirectory, type Person, type PersonLimits, type PersonRole } from '../../core/auth/people.ts';
import { OWNERS_AGENT, type Principal, requireUnreservedName } from '../../core/auth/principal.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, present } from '../../core/json.ts';
import type { ApproverRegistry } from '../approvals/approver-registry.ts';
import { admittedUntil, requireSoundPerson } from './person-grants.ts';

const SPACE = 'people';
const MAX_PERSONS = 64;
/** Name of the person to whom the hub belongs. This person always exists. */
const OWNER_NAME = 'owner';
const OWNER: Person = { name: OWNER_NAME, title: 'Owner', role: 'owner', limits: {} };

interface HouseholdCollaborators extends Pick<HubContext, 'store'> {
  readonly approvers: Pick<ApproverRegistry, 'list'>;
}

/**
 * Stores the persons of the household. The owner is a person without a record. Somebody who has an approver key and no record is an adult,
 * since `atmo login` has given keys to persons before there were records.
 */
export class Household implements PeopleDirectory {
  readonly #ports: HouseholdCollaborators;

  constructor(ports: HouseholdCollaborators) {
    this.#ports = ports;
  }

  list(): readonly Person[] {
    const records = this.#records();
    const known = new Set(records.map(({ person }) => person.name));
    const staying = records.filter(({ isLeaving }) => !isLeaving).map(({ person }) => person);
    const others = [OWNER_NAME, ...this.#ports.approvers.list().map(({ person }) => person)].filter((name) => !known.has(name));
    return [...staying, ...[...new Set(others)].map(withoutRecord)].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  find(name: string): Person | undefined {
    return this.list().find((person) => person.name === name);
  }

  /** Returns whether the household has a person of this name, be it one who leaves or whose record cannot be read. */
  isKnown(name: string): boolean {
    return this.find(name) !== undefined || storedPerson(this.#ports.store, name) !== undefined;
  }

  personOf({ id, kind, permissions }: Principal): Person | undefined {
    if (kind === 'hub') return undefined;
    // Only the owner can give `admin:*`, so no other agent can pass for the owner by its name.
    if (kind === 'owner' || (id === OWNERS_AGENT && permissions.includes('admin:*'))) return this.find(OWNER_NAME);
    return this.find(id);
  }

  /** Stores a new person. Throws VALIDATION_ERROR (malformed), CONFLICT (the name is taken, or too many persons) or STORAGE_FAILED. */
  add(person: Person): void {
    if (person.name !== OWNER_NAME) requireUnreservedName(person.name);
    requireSoundPerson(person);
    const records = this.#records();
    if (this.find(person.name) || records.some((record) => record.person.name === person.name)) {
      throw new AtmoError('CONFLICT', `There is a person ${person.name} already; choose another name`);
    }
    if (records.length >= MAX_PERSONS) throw new AtmoError('CONFLICT', `A household has at most ${MAX_PERSONS} persons; remove one first`);
    this.#save(person);
  }

  /**
   * Stores the changed person. If role or limits differ, marks the record until `settle`, because tokens and keys of before have to end
   * too. Throws NOT_FOUND, VALIDATION_ERROR, CONFLICT (the owner's role) or STORAGE_FAILED.
   */
  change(person: Person): void {
    const before = this.require(person.name);
    if (person.name === OWNER_NAME && person.role !== 'owner') throw new AtmoError('CONFLICT', 'The owner of the hub keeps the role owner');
    requireSoundPerson(person);
    const isUnsettled = !hasSameRights(before, person) || this.unsettled().some(({ name }) => name === person.name);
    this.#ports.store.set(SPACE, person.name, { ...recordOf(person), ...(isUnsettled && { unsettled: true }) });
  }

  /** Returns the persons with a new role or new limits whose former tokens and keys may not have ended yet. */
  unsettled(): readonly Person[] {
    return this.#records().flatMap(({ person, isUnsettled, isLeaving }) => (isUnsettled && !isLeaving ? [person] : []));
  }

  /** Removes the mark of `change`, after the tokens and keys of before have ended. */
  settle(person: Person): void {
    this.#save(person);
  }

  /** Marks a person as leaving. From then on the person does not exist; `forget` completes the removal. */
  leave(name: string): Person {
    const person = this.require(name);
    if (name === OWNER_NAME) throw new AtmoError('CONFLICT', 'The owner of the hub cannot be removed');
    this.#ports.store.set(SPACE, name, { ...recordOf(person), leaving: true });
    return person;
  }

  /** Deletes the record of a person who leaves. */
  forget(name: string): void {
    this.#ports.store.delete(SPACE, name);
  }

  /** Returns the names of the persons whose removal a former process did not complete. */
  leaving(): readonly string[] {
    return this.#records().flatMap(({ person, isLeaving }) => (isLeaving ? [person.name] : []));
  }

  /** Returns the person. Throws NOT_FOUND if there is none. */
  require(name: string): Person {
    const person = this.find(name);
    if (person) return person;
    throw new AtmoError('NOT_FOUND', `Nobody here is called ${JSON.stringify(name.slice(0, 32))}; "atmo people" lists who is`);
  }

  #save(person: Person): void {
    this.#ports.store.set(SPACE, person.name, recordOf(person));
  }

  #records(): readonly StoredPerson[] {
    return this.#ports.store.entries(SPACE).flatMap(({ key, value }) => readRecord(key, value) ?? []);
  }
}

/**
 * Returns what is stored about a person: no `person` if the person leaves or the record is malformed. Returns undefined if there is no
 * record.
 */
export function storedPerson(store: Pick<HubContext['store'], 'get'>, name: string): { readonly person?: Person } | undefined {
  const value = store.get(SPACE, name);
  if (value === undefined) return undefined;
  const found = readRecord(name, value);
  return found && !found.isLeaving ? { person: found.person } : {};
}

/** Returns the name under which a person's sign-ins call tools. */
export function agentNameOf({ name }: Pick<Person, 'name'>): string {
  return name === OWNER_NAME ? OWNERS_AGENT : name;
}

function withoutRecord(name: string): Person {
  return name === OWNER_NAME ? OWNER : { name, title: name, role: 'adult', limits: {} };
}

function hasSameRights(one: Person, other: Person): boolean {
  const rightsOf = (person: Person) => ({ ...recordOf(person), title: '' });
  return isDeepStrictEqual(rightsOf(one), rightsOf(other));
}

function recordOf({ title, role, limits }: Person): JsonObject {
  const { rooms, kinds, untilMs, hours } = limits;
  return { title, role, ...present({ rooms, kinds, untilMs }), ...(hours && { hours: { from: hours.from, to: hours.to } }) };
}

/** A person as stored, with the marks of a removal or change that is not complete. */
interface StoredPerson {
  readonly person: Person;
  readonly isLeaving: boolean;
  readonly isUnsettled: boolean;
}

/** Parses a stored person. Returns undefined for a malformed record, so that it grants nothing. */
function readRecord(name: string, value: Json): StoredPerson | undefined {
  if (!isJsonObject(value) || typeof value.title !== 'string') return undefined;
  const { title, role, rooms, kinds, untilMs, hours, leaving, unsettled } = value;
  const limits = present({ rooms, kinds, untilMs, hours }) as unknown as PersonLimits;
  const person: Person = { name, title, role: role as PersonRole, limits };
  try {
    requireSoundPerson(person);
  } catch {
    return undefined;
  }
  return { person, isLeaving: leaving === true, isUnsettled: unsettled === true };
}

interface ApprovingCollaborators extends Pick<HubContext, 'store'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/** Says who may approve dangerous calls at this time: owners and adults who are admitted, and everybody without a record. */
export class ApprovingPersons {
  readonly #ports: ApprovingCollaborators;

  constructor(ports: ApprovingCollaborators) {
    this.#ports = ports;
  }

  /** Throws PERMISSION_DENIED if the person may not approve now. */
  requireMayApprove(name: string): void {
    const found = storedPerson(this.#ports.store, name);
    if (found === undefined) return;
    const { person } = found;
    if (!person) throw denied(name, 'who is being removed from the household, or whose record cannot be read');
    if (!mayRoleApprove(person.role)) throw denied(name, `whose role is ${person.role}`);
    if (admittedUntil(person, this.#ports.time.now()) === undefined) throw denied(name, 'who is not admitted at this time');
  }
}

function denied(name: string, reason: string): AtmoError {
  return new AtmoError('PERMISSION_DENIED', `Only owners and adults who are admitted can approve, and not ${name}, ${reason}`);
}
