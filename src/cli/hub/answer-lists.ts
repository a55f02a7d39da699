import { AtmoError } from '../../core/errors.ts';
import { type Json, type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { usage } from '../command.ts';
import type { HubClient, Query } from './hub-client.ts';

/** Returns the objects in the field `member` of a response. Returns an empty list if the field is not a list. */
export function objectsIn(answer: Json, member: string): readonly JsonObject[] {
  return objectsOf(objectOf(answer)[member]);
}

/** Returns the only id that begins with `start`. Throws a usage error if no id, or more than one id, begins with it. */
export function resolveIdPrefix(ids: readonly string[], start: string, { what, listedBy }: { what: string; listedBy: string }): string {
  const [found, ...more] = ids.filter((id) => id.startsWith(start));
  if (found !== undefined && more.length === 0 && start !== '') return found;
  throw usage(`${found === undefined ? 'No' : 'More than one'} ${what} begins with ${JSON.stringify(start)}; ${listedBy} lists the ids`);
}

const PAGE = 1_000;
/** More pages than any hub has: one that never ends its list would fill the memory. */
const MAX_PAGES = 100;

/** Returns all tools that match the filter, from all pages. Throws RESULT_INVALID if the list does not end. */
export async function allTools(hub: Pick<HubClient, 'get'>, filter: Query): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await hub.get('/api/v1/tools', { ...filter, limit: PAGE, cursor });
    found.push(...objectsIn(page, 'tools'));
    cursor = typeof page.next_cursor === 'string' ? page.next_cursor : undefined;
    if (cursor === undefined) return found;
  }
  throw new AtmoError('RESULT_INVALID', `The list of tools has more than ${MAX_PAGES} pages, as no hub has`);
}
