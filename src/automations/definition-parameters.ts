import type { Principal } from '../core/auth/principal.ts';
import { AtmoError } from '../core/errors.ts';
import { p, resultSchema, TEXT } from '../tools/definition/define-tool.ts';
import type { AgentRecord } from './agent-store.ts';
import type { AgentQueries } from './automation-ports.ts';

/** Schema of the hash of a definition. */
export const HASH = { ...TEXT, description: 'SHA-256 over the definition, in hex' } as const;

/** Schema of what differs between two definitions. */
export const DIFFERENCES = {
  type: 'array',
  items: resultSchema(
    {
      path: { ...TEXT, description: 'JSON Pointer' },
      before: { 'x-secret': true, description: 'Absent for what was added' },
      after: { 'x-secret': true, description: 'Absent for what was taken away' },
    },
    ['before', 'after'],
  ),
} as const;

/** Example of a permission, for the description of a parameter. */
export const ONE_PERMISSION = 'Such as device:control:@type/light';
/** Examples of permissions, for the description of a parameter. */
export const SOME_PERMISSIONS = 'Such as sensor:read:* or device:control:@type/light';

/** Returns the parameter with the id of an agent or automation. */
export function agentIdParameter(description: string) {
  return p.string({ description, minLength: 1, maxLength: 256 });
}

/** Returns the parameter with what an automation may do. `example` says how a permission is written. */
export function permissionsParameter(
  description: string,
  { example, ...bounds }: { readonly example: string; readonly minItems?: number },
) {
  return p.array(p.string({ description: example, maxLength: 320 }), { description, ...bounds, maxItems: 32 });
}

/** Returns an automation that the caller may see. Throws NOT_FOUND if there is none with this id. */
export function requireSeen(id: string, by: Principal, agents: AgentQueries): AgentRecord {
  const record = agents.list(by).find((one) => one.id === id && one.type === 'automation');
  if (!record) throw unknownAutomation(id);
  return record;
}

/** Returns the error that there is no automation with this id. */
export function unknownAutomation(id: string): AtmoError {
  return new AtmoError('NOT_FOUND', `There is no automation ${JSON.stringify(id.slice(0, 100))}; list_automations returns the ids`);
}
