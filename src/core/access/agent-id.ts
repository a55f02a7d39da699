/** The name of an agent: its whole id when the owner made it, and what comes after its parent's id and a slash otherwise. */
export const AGENT_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

/** The first of a line of agents, from an id or a `principalKey`. An agent and all that come from it share every bound. */
export function familyOf(idOrKey: string): string {
  return idOrKey.split('/', 1)[0] ?? idOrKey;
}

/** True for the agent itself and for every agent that comes from it. */
export function isSelfOrDescendant(id: string, ancestor: string): boolean {
  return id === ancestor || id.startsWith(`${ancestor}/`);
}

/**
 * An agent whose token another hub issued is `<name>@<hub id>`, its children `<name>@<hub id>/<child>`: the names are that
 * hub's, and even its `owner` is an agent here. No agent of this hub has an `@` in its name. One that has its hub already is
 * answered as it is.
 */
export function guestId(id: string, hubId: string): string {
  const [root = id, ...children] = id.split('/');
  return root.includes('@') ? id : [`${root}@${hubId}`, ...children].join('/');
}

/** The hub of a guest's id; undefined for an agent of this hub. */
export function hubOfGuest(id: string): string | undefined {
  const root = familyOf(id);
  const at = root.indexOf('@');
  return at > 0 ? root.slice(at + 1) : undefined;
}
