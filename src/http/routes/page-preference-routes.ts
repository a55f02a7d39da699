import { type Principal, principalKey } from '../../core/auth/principal.ts';
import { AtmoError, permissionDenied } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { json } from '../server/answer.ts';
import type { ReadRateLimiter } from '../server/rate-limits.ts';
import { defineRoute, type Route } from '../server/route.ts';

const SPACE = 'page-preferences';
const MAX_BYTES = 16 * 1024;
/** Maximum number of persons and agents with preferences. A household has a few; each costs at most 16 KiB of the hub's state. */
const MAX_ACCOUNTS = 256;

interface PreferenceCollaborators {
  readonly store: Pick<KeyValueStore, 'get' | 'set' | 'entries'>;
  readonly reads: Pick<ReadRateLimiter, 'take'>;
}

const PREFERENCES_BODY = {
  type: 'object',
  required: ['preferences'],
  properties: { preferences: { type: 'object', description: 'Any members; at most 16 KiB of JSON' } },
} as const;
const PREFERENCES_ANSWER = { description: 'preferences', schema: { $ref: '#/components/schemas/PagePreferences' } } as const;

/**
 * Returns the routes for what a person chose on the page, such as favourites and their order. The hub stores it for the page and does not
 * read it. All sign-ins of one person share it; nobody else reads or changes it here: neither the owner, nor the agents and applications of
 * the person, which have none of their own.
 */
export function pagePreferenceRoutes({ store, reads }: PreferenceCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/page-preferences',
      summary: "The caller's own choices on the page, such as favourites; an empty object before the first choice",
      answers: { 200: PREFERENCES_ANSWER },
      handle: ({ principal }) => json({ preferences: objectOf(store.get(SPACE, principalKey(principal))) }),
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/page-preferences',
      summary: "Replace the caller's own choices on the page; they are on the disk when the answer comes",
      body: PREFERENCES_BODY,
      answers: { 200: PREFERENCES_ANSWER },
      handle({ principal, body }) {
        reads.take(principal);
        const preferences = parsePreferences(body);
        const account = accountOf(principal);
        if (store.get(SPACE, account) === undefined) requireRoom(store);
        store.set(SPACE, account, preferences);
        return json({ preferences });
      },
    }),
  ];
}

/** Deletes what a person chose on the page. The next person of that name would have it otherwise. */
export function removePagePreferences(store: Pick<KeyValueStore, 'delete'>, agentId: string): void {
  store.delete(SPACE, principalKey({ kind: 'agent', id: agentId }));
}

/** Returns the key of the caller's choices. Throws PERMISSION_DENIED for an agent that somebody else has made: it has no page of its own. */
function accountOf(principal: Principal): string {
  const isDescendant = principal.id.includes('/');
  if (!isDescendant) return principalKey(principal);
  throw permissionDenied(`${principal.id} is an agent of somebody; only who signs in at the page has choices there`);
}

function parsePreferences({ preferences }: JsonObject): JsonObject {
  if (!isJsonObject(preferences)) throw new AtmoError('VALIDATION_ERROR', 'preferences: has to be an object', { pointer: '/preferences' });
  const bytes = Buffer.byteLength(JSON.stringify(preferences));
  if (bytes <= MAX_BYTES) return preferences;
  throw new AtmoError('PAYLOAD_TOO_LARGE', `The preferences have ${bytes} bytes; at most ${MAX_BYTES} are kept`, { bytes, max: MAX_BYTES });
}

function requireRoom(store: Pick<KeyValueStore, 'entries'>): void {
  if (store.entries(SPACE).length < MAX_ACCOUNTS) return;
  throw new AtmoError('RESOURCE_EXCEEDED', `${MAX_ACCOUNTS} accounts have preferences on this hub, which is the most that it keeps`);
}
