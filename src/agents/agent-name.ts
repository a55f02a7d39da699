import { randomBytes } from 'node:crypto';
import { AGENT_NAME } from '../core/access/agent-id.ts';
import type { Principal } from '../core/access/principal.ts';
import { AtmoError } from '../core/errors.ts';
import { slug } from '../core/ids.ts';
import type { AgentType } from './agent-record.ts';

/** An id is the resource of permissions, which have 256 characters. */
const MAX_ID_LENGTH = 200;

/** The part of an agent's id that its name makes: the name itself where it can be, else its letters and digits. */
export function idPartOf(name: string | undefined, type: AgentType): string {
  if (name === undefined) return `${type}-${randomBytes(4).toString('hex')}`;
  const part = AGENT_NAME.test(name) ? name : slug(name, '-').slice(0, 64);
  if (AGENT_NAME.test(part)) return part;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The name ${JSON.stringify(name.slice(0, 64))} has no letter or digit that an id could be made of`,
  );
}

/** The id of a child: below that of the agent that spawns it, so that nobody can take another's. */
export function childId(parent: Principal, part: string): string {
  const id = parent.kind === 'owner' ? part : `${parent.id}/${part}`;
  if (id.length <= MAX_ID_LENGTH) return id;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The agent's id would have ${id.length} characters, more than ${MAX_ID_LENGTH}; give it a shorter name`,
  );
}
