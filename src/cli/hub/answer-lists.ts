import { type Json, type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { usage } from '../command.ts';
import type { HubClient, Query } from './hub-client.ts';

/** The objects in a member of an answer; empty when the hub sent something else. */
export function objectsIn(answer: Json, member: string): readonly JsonObject[] {
  return objectsOf(objectOf(answer)[member]);
}

/** The one id that begins with the typed text; wrong usage where none does, or several. */
export function resolveIdPrefix(ids: readonly string[], start: string, { what, listedBy }: { what: string; listedBy: string }): string {
  const [found, ...more] = ids.filter((id) => id.startsWith(start));
  if (found !== undefined && more.length === 0 && start !== '') return found;
  throw usage(`${found === undefined ? 'No' : 'More than one'} ${what} begins with ${JSON.stringify(start)}; ${listedBy} lists the ids`);
}

const PAGE = 1_000;

/** Every tool that fits the filter, page after page. */
export async function allTools(hub: Pick<HubClient, 'get'>, filter: Query): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  let cursor: string | undefined;
  do {
    const page = await hub.get('/api/v1/tools', { ...filter, limit: PAGE, cursor });
    found.push(...objectsIn(page, 'tools'));
    cursor = typeof page.next_cursor === 'string' ? page.next_cursor : undefined;
  } while (cursor !== undefined);
  return found;
}
