import type { JsonObject } from '../core/json.ts';
import type { HubClient, Query } from './hub/hub-client.ts';
import { objectsIn } from './hub/json-list.ts';

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
