import { hubOfGuest } from '../../core/access/agent-id.ts';
import type { Principal } from '../../core/access/principal.ts';

/** The hub that issued the token of an agent with this id; undefined for an agent of this hub. */
export function originOf({ id, kind }: Principal): string | undefined {
  return kind === 'agent' ? hubOfGuest(id) : undefined;
}
