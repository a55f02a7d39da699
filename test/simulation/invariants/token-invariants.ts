import { BrokenInvariant } from '../broken-invariant.ts';
import type { GivenToken } from '../ledger.ts';

/** A token that a hub has made for an agent from another one. */
interface MadeToken extends GivenToken {
  readonly parent: GivenToken;
}

/** Checks that a hub has made a token no wider than the one that it comes from. It was asked at `begunMs`. Throws BrokenInvariant. */
export function checkNarrower({ id, agent, permissions, expiresMs, parent }: MadeToken, begunMs: number): void {
  const fail = (problem: string) => {
    throw new BrokenInvariant('a token is no wider than its parent', `${id} of ${agent} ${problem}`, [id, parent.id]);
  };
  const excess = permissions.filter((permission) => !parent.permissions.includes(permission));
  if (excess.length > 0) fail(`allows ${excess}`);
  if (expiresMs > parent.expiresMs) fail(`lasts ${expiresMs - parent.expiresMs} ms longer`);
  if (!agent.startsWith(`${parent.agent}/`)) fail(`is not of an agent below ${parent.agent}`);
  if ((parent.revokedMs ?? begunMs) < begunMs) fail(`was made after its parent was revoked at ${parent.revokedMs} ms`);
}
