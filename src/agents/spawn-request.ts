import { excessPermissions } from '../core/access/permission.ts';
import type { Principal } from '../core/access/principal.ts';
import { AtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { AgentType } from './agent-record.ts';

/** What an agent is to be. */
export interface SpawnRequest {
  readonly type: AgentType;
  /** The word for it that was asked for. */
  readonly kind: string;
  readonly name?: string;
  readonly config: JsonObject;
  readonly permissions: readonly string[];
  readonly ttlMs: number;
}

/**
 * PERMISSION_DENIED unless the caller has every permission that it asks for. The issuer of the token proves the same; it is
 * looked at first here, so that a config can tell nobody what exists beyond its own rights.
 */
export function requireOwnPermissions(permissions: readonly string[], by: Principal): void {
  if (permissions.length === 0) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      'An agent without permissions can do nothing; list in permissions what it needs, such as device:control:@type/light',
    );
  }
  const beyond = excessPermissions(permissions, by.permissions);
  if (beyond.length === 0) return;
  throw new AtmoError('PERMISSION_DENIED', `${by.id} cannot give away what it does not have: ${beyond.join(', ')}`, { required: beyond });
}
