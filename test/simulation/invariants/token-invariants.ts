import { BrokenInvariant } from '../broken-invariant.ts';
import type { GivenToken } from '../ledger.ts';

/** A token that a hub has made for an agent from another one. */
interface MadeToken extends GivenToken {
  readonly parent: GivenToken;
}

/** What an agent asked a hub for, and when. Milliseconds of the world. */
interface AskedToken {
  readonly permissions: readonly string[];
  readonly begunMs: number;
}

/** Checks that a hub has made a token no wider than the one that it comes from, and than what was asked for. Throws BrokenInvariant. */
export function checkNarrower({ id, agent, permissions, expiresMs, parent }: MadeToken, asked: AskedToken): void {
  const { begunMs } = asked;
  const fail = (problem: string) => {
    throw new BrokenInvariant('a token is no wider than its parent', `${id} of ${agent} ${problem}`, [id, parent.id]);
  };
  const excess = permissions.filter((permission) => !parent.permissions.includes(permission) || !asked.permissions.includes(permission));
  if (excess.length > 0) fail(`allows ${excess}`);
  if (expiresMs > parent.expiresMs) fail(`lasts ${expiresMs - parent.expiresMs} ms longer`);
  if (!agent.startsWith(`${parent.agent}/`)) fail(`is not of an agent below ${parent.agent}`);
  if ((parent.revokedMs ?? begunMs) < begunMs) fail(`was made after its parent was revoked at ${parent.revokedMs} ms`);
}
