/** Who calls. Doors make one from a credential; nothing in a request's body can change it. */
export interface Principal {
  /** `owner`, or an agent's id. */
  readonly id: string;
  readonly kind: 'owner' | 'agent' | 'hub';
  /** Grants as in the permission grammar; the owner holds `*` and `admin:*`. */
  readonly permissions: readonly string[];
}

/** Tells principals apart also where an agent has the id of the owner or of a hub. */
export function principalKey({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}

/** Port: turns a bearer credential into a principal. */
export interface Authenticator {
  /** Throws UNAUTHENTICATED, TOKEN_INVALID or TOKEN_EXPIRED. */
  authenticate(credential: string | undefined): Promise<Principal>;
}
