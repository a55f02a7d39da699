import { PERSON_ROLES, type PersonRole } from '../../core/auth/people.ts';
import type { JsonObject } from '../../core/json.ts';
import type { TextKey } from '../texts/text.ts';

/** A person in the result of `GET /api/v1/people`. Absent members do not narrow the person. */
export interface PersonView {
  readonly name: string;
  readonly title: string;
  readonly role: PersonRole;
  readonly rooms?: readonly string[];
  readonly kinds?: readonly string[];
  readonly until?: string;
  readonly from?: string;
  readonly to?: string;
}

/** A sign-in in the result of `GET /api/v1/sign-ins`. */
export interface SignInView {
  readonly sign_in_id: string;
  readonly person: string;
  readonly label: string;
  readonly created_at: string;
  readonly seen_at: string;
}

/** The result of `POST /api/v1/people/{name}/invitation`. */
export interface InvitationView {
  readonly person: string;
  readonly title: string;
  readonly code: string;
  readonly expires_at: string;
}

/** The result of `GET /api/v1/me`. */
export interface CallerView {
  readonly person: { readonly name: string; readonly title: string; readonly role: PersonRole } | null;
  readonly administers_people: boolean;
}

/** The name of each role on the page. */
export const ROLE_TEXTS: Readonly<Record<PersonRole, TextKey>> = {
  owner: 'people.role_owner',
  adult: 'people.role_adult',
  child: 'people.role_child',
  guest: 'people.role_guest',
};

/** What a submitted form says about a person. */
export interface PersonForm {
  readonly values: Readonly<Record<string, string>>;
  readonly rooms: readonly string[];
  readonly kinds: readonly string[];
}

/** Returns the body that stores a form. The form has all limits, so what is empty in it removes a limit. */
export function personBody({ values, rooms, kinds }: PersonForm): JsonObject {
  const { title = '', role = '', until = '', from = '', to = '' } = values;
  const isOwner = role === 'owner';
  return {
    ...(title !== '' && { title }),
    role: PERSON_ROLES.find((known) => known === role) ?? 'child',
    rooms: isOwner ? [] : rooms,
    kinds: isOwner ? [] : kinds,
    until: isOwner || until === '' ? '' : new Date(`${until}T23:59:59`).toISOString(),
    from: isOwner ? '' : from,
    to: isOwner ? '' : to,
  };
}

/** Returns the link of an invitation. The code is in the fragment, which browsers never send to a server. */
export function invitationLink(pageUrl: string, { code }: Pick<InvitationView, 'code'>): string {
  return `${pageUrl.replace(/\/$/, '')}/#invite=${code}`;
}

/** Returns the day of a time for a date field, in the zone of the browser; empty if there is no time. */
export function dayOf(until: string | undefined): string {
  if (until === undefined) return '';
  const day = new Date(until);
  const pad = (part: number) => String(part).padStart(2, '0');
  return `${day.getFullYear()}-${pad(day.getMonth() + 1)}-${pad(day.getDate())}`;
}

/** Returns whether only this machine can reach a host of this name. */
export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.');
}

/** A key in the result of `GET /api/v1/approver-keys`. */
export interface OfferedKeyView {
  readonly person: string;
  readonly key_id: string;
  readonly label: string;
  readonly kind: 'key' | 'passkey';
}

/** Returns the id of a key in groups that people can compare: `3f2a 91bc 77d0 e412`. */
export function fingerprint(keyId: string): string {
  return keyId.match(/.{1,4}/g)?.join(' ') ?? keyId;
}
