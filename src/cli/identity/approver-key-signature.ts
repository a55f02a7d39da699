import type { KeyObject } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { signStatement } from '../../wire/approval-statement.ts';

/** Who decides what. */
export interface Decider {
  readonly decision: 'approve' | 'deny';
  readonly person: string;
  readonly key: KeyObject;
}

/** The body of `POST /api/v1/approvals/{id}` for a request as `GET` told it (docs/approvals.md). */
export function signedDecision(request: JsonObject, { decision, person, key }: Decider): JsonObject {
  const told = (name: string): string => {
    const value = request[name];
    if (typeof value === 'string') return value;
    throw new AtmoError('HUB_UNREACHABLE', `The hub told a request without ${name}; is it a hub of this version?`);
  };
  const statement = {
    approval_id: told('approval_id'),
    decision,
    tool: told('tool'),
    call_hash: told('call_hash'),
    hub: told('hub'),
    expires_at: told('expires_at'),
    person,
  };
  return { decision, person, signature: signStatement(statement, key) };
}
