import type { OfferedKey } from './approvals.ts';
import type { Principal } from './principal.ts';

/** The roles of persons. A role is a named set of grants; `guest` is for a limited time. */
export const PERSON_ROLES = ['owner', 'adult', 'child', 'guest'] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

/** Returns whether persons with this role may approve dangerous calls. */
export function mayRoleApprove(role: PersonRole): boolean {
  return role === 'owner' || role === 'adult';
}

/** Hours of the day in the hub's local time, `HH:MM`. If `from` is later than `to`, they go over midnight. */
export interface DayHours {
  readonly from: string;
  readonly to: string;
}

/** What narrows the grants of a person's role. The owner's grants cannot be narrowed. */
export interface PersonLimits {
  /** Keys of the areas (`areaKey`) to which the person is limited; absent: all areas. */
  readonly rooms?: readonly string[];
  /** Device types or families (`light`) to which the person is limited; absent: those of the role. */
  readonly kinds?: readonly string[];
  /** End of all grants, milliseconds since 1970. */
  readonly untilMs?: number;
  /** Hours of each day in which the person is admitted; absent: all hours. */
  readonly hours?: DayHours;
}

/** A person of the household. */
export interface Person {
  /** Matches PERSON_NAME. It names the person in tokens, approvals, notices and the audit log, and never changes. */
  readonly name: string;
  /** The name that people read, such as `Ann`. */
  readonly title: string;
  readonly role: PersonRole;
  readonly limits: PersonLimits;
}

/** Port: the persons of the household. */
export interface PeopleDirectory {
  /** Returns the persons, sorted by name. The owner is always among them, and so is everybody who has an approver key. */
  list(): readonly Person[];
  find(name: string): Person | undefined;
  /** Returns the person who acts as this principal: the owner, or a person with a sign-in or login. Returns undefined for agents. */
  personOf(principal: Principal): Person | undefined;
}

/** An invitation with its code, which the hub does not store. Whoever has the code can sign in once as the person. */
export interface Invitation {
  readonly person: Person;
  /** Secret of 130 bits in Crockford's base 32, in groups of five characters with hyphens. */
  readonly code: string;
  readonly expiresAtMs: number;
}

/** A browser or command line that is signed in as a person until somebody ends it. */
export interface SignIn {
  /** 32 hex digits. */
  readonly id: string;
  readonly person: string;
  /** The browser or machine, such as `Firefox on Android`. */
  readonly label: string;
  /** Raw public key with which it renews its token, base64url: Ed25519 (32 bytes) or P-256 (65 bytes, uncompressed). */
  readonly key: string;
  readonly createdAtMs: number;
  readonly seenAtMs: number;
}

/** The answer to a person who has signed in, or renewed the token of a sign-in. */
export interface SignInToken {
  readonly signIn: SignIn;
  readonly person: Person;
  readonly token: string;
  readonly expiresAtMs: number;
}

/** A proof that the caller holds the key of a sign-in: a signature over `signInStatement`. */
export interface SignInProof {
  /** Challenge of `challenge()`, which serves one request. */
  readonly challenge: string;
  /** Signature over the statement, base64url: Ed25519 (RFC 8032), or ECDSA with P-256 and SHA-256 as 64 bytes r and s. */
  readonly signature: string;
}

/**
 * Port: signs persons in. Rejects with TOKEN_INVALID (unknown, used or expired invitation; ended sign-in; wrong signature or challenge),
 * PERMISSION_DENIED (the person is not admitted at this time), RATE_LIMITED or STORAGE_FAILED.
 */
export interface SignInService {
  /** Returns a challenge for one request within a minute. */
  challenge(): string;
  /** Uses an invitation. If the answer was lost, the same key may accept it again until it expires, and gets the same sign-in. */
  accept(request: { readonly code: string; readonly key: string; readonly label: string } & SignInProof): Promise<SignInToken>;
  /** Returns a new token for a sign-in. */
  renew(request: { readonly signInId: string } & SignInProof): Promise<SignInToken>;
}

/** A key with which a person wants to approve: a raw public key, or a new passkey as the browser returned it (base64url). */
export interface KeyOffer {
  readonly label: string;
  /** Id of the sign-in that offers the key; absent if no sign-in does. */
  readonly signIn?: string;
  readonly key?: string;
  readonly passkey?: {
    readonly challenge: string;
    readonly credentialId: string;
    readonly clientData: string;
    readonly authenticatorData: string;
  };
}

/** Port: administers the household. Every method rejects with STORAGE_FAILED if the change cannot be stored. */
export interface PeopleAdministration extends PeopleDirectory {
  /** Adds a person. Rejects with VALIDATION_ERROR (malformed) or CONFLICT (name taken, or too many persons). */
  add(person: Person): Promise<void>;
  /** Changes a person. New limits hold at once. Rejects with NOT_FOUND, VALIDATION_ERROR or CONFLICT (the owner's role). */
  change(person: Person): Promise<void>;
  /** Removes a person, with all sign-ins, tokens and approver keys. Rejects with NOT_FOUND or CONFLICT (the owner, or the last key). */
  remove(name: string): Promise<void>;
  /** Makes an invitation, valid for ten minutes. It replaces an earlier invitation of the person. Rejects with NOT_FOUND or CONFLICT. */
  invite(name: string): Promise<Invitation>;
  /**
   * Throws PERMISSION_DENIED unless the caller has everything that the person may do. Nobody but the owner of the hub can make, invite or
   * change a person with more rights than the own ones.
   */
  requireRightsOf(person: Person, caller: Principal): void;
  /** Returns the sign-ins that have not ended, the newest first. */
  signIns(): readonly SignIn[];
  /**
   * Stores a key with which a person wants to approve. Rejects with VALIDATION_ERROR (malformed), TOKEN_INVALID (the passkey was not made
   * for a challenge of this hub), PERMISSION_DENIED (the role may not approve) or CONFLICT (enrolled already, or too many keys).
   */
  offerKey(person: string, offer: KeyOffer): Promise<OfferedKey>;
  /** Returns the id of the sign-in that got the caller's token, or the token from which it was derived; undefined if no sign-in did. */
  signInOf(caller: Principal): string | undefined;
  /**
   * Throws PERMISSION_DENIED unless the key of the caller's sign-in has signed the subject as a consent. Whoever has stolen a token can therefore
   * not give access that outlives it. Does nothing for a caller without a sign-in.
   */
  requireAgreement(caller: Principal, subject: string, proof: SignInProof | undefined): void;
  /** Ends a sign-in with its tokens and the approver keys that it offered. Rejects with NOT_FOUND. */
  endSignIn(id: string): Promise<SignIn>;
}

/** What a sign-in's key signs for. */
export type SignInAction = 'accept' | 'renew' | 'consent';

/** Returns what the key of a sign-in signs when a person allows a request: the request, with exactly the permissions that were shown. */
export function consentSubject(requestId: string, permissions: readonly string[]): string {
  return `${requestId} ${permissions.join(' ')}`;
}

/**
 * Returns the bytes that the key of a sign-in signs. `subject` is the invitation's code, the id of the sign-in, or `consentSubject`. Tokens, approvals and
 * challenges of hubs begin with other bytes, so that the signature is valid for nothing else.
 */
export function signInStatement(action: SignInAction, subject: string, challenge: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`atmosphere-edge sign-in v1\n${action}\n${subject}\n${challenge}`);
}

/** Returns an invitation's code as it is compared: in upper case, without separators, and with the letters that look like digits. */
export function plainCode(code: string): string {
  return code.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
}
