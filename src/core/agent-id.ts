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
