import { mayRoleApprove } from '../../core/auth/people.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { storedPerson } from './household.ts';
import { admittedUntil } from './person-grants.ts';

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
