import { PERSON_NAME } from '../../core/auth/approvals.ts';
import type { PeopleDirectory } from '../../core/auth/people.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { PresenceStore } from './presence-store.ts';

const COMMON = { category: 'managing', capabilities: ['agent_runtime'], isIdempotent: true, preferLocal: true } as const;
const PRESENCE = { enum: ['home', 'away'] } as const;
const TAGS = ['presence', 'home', 'away', 'automation'];

type KnownPeople = Pick<PeopleDirectory, 'find' | 'list'>;

/** Returns the tools with which phones, agents and persons say and read who is at home. */
export function presenceTools(presences: PresenceStore, people: KnownPeople): readonly RegisteredTool[] {
  return [setPresenceTool(presences, people), listPresenceTool(presences)];
}

function setPresenceTool(presences: PresenceStore, people: KnownPeople): RegisteredTool {
  return defineTool(
    {
      ...COMMON,
      name: 'set_presence',
      title: 'Say who is at home',
      description: 'Says that a person of the household is at home or away, for example by a phone that joins or leaves the Wi-Fi.',
      hasSideEffects: true,
      permissions: ['presence:set:{person}'],
      tags: TAGS,
      parameters: {
        person: p.string({ description: 'Name of the person, as list_people tells it', pattern: PERSON_NAME.source }),
        presence: p.enum(['home', 'away'], { description: 'Where the person is now' }),
      },
      returns: resultSchema({ changed: { type: 'boolean', description: 'False when it was known before' } }),
      restorable: ({ person }) => ({
        path: `presence/${person}`,
        now: () => presences.get(person)?.presence ?? null,
        // Nothing makes it unknown again whether somebody is at home.
        restore: (presence) => (presence === null ? undefined : { tool: 'core:set_presence', params: { person, presence } }),
      }),
    },
    async ({ person, presence }, { principal }) => {
      requirePerson(person, people);
      return { changed: presences.set({ person, presence, setBy: principal.id }) };
    },
  );
}

function requirePerson(person: string, people: KnownPeople): void {
  if (people.find(person)) return;
  const known = people.list().map(({ name }) => name);
  throw new AtmoError('NOT_FOUND', `Nobody of the household is called ${JSON.stringify(person)}; there is ${known.join(', ')}`);
}

function listPresenceTool(presences: PresenceStore): RegisteredTool {
  return defineTool(
    {
      ...COMMON,
      name: 'list_presence',
      title: 'List who is at home',
      description: 'Lists of whom it is known whether they are at home or away, since when, and who said so.',
      hasSideEffects: false,
      permissions: ['presence:read'],
      tags: TAGS,
      parameters: {},
      returns: resultSchema({
        people: {
          type: 'array',
          items: {
            type: 'object',
            required: ['person', 'presence', 'set_by', 'since'],
            properties: { person: TEXT, presence: PRESENCE, set_by: TEXT, since: INSTANT },
          },
        },
      }),
    },
    async () => ({
      people: presences
        .list()
        .map(({ person, presence, setBy, sinceMs }) => ({ person, presence, set_by: setBy, since: isoTime(sinceMs) })),
    }),
  );
}
