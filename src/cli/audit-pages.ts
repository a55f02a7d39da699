import type { JsonObject } from '../core/json.ts';
import type { HubClient, Query } from './hub/hub-client.ts';
import { objectsIn } from './hub/json-list.ts';

const PATH = '/api/v1/audit';
/** Rows that one request asks for. */
const WINDOW_ROWS = 200;

/** Pages through the journal towards the past: each list is newest first. */
export async function* newestPages(hub: HubClient, query: Query): AsyncGenerator<readonly JsonObject[]> {
  let before = query.before;
  do {
    const page = await hub.get(PATH, { ...query, before });
    yield objectsIn(page, 'rows');
    before = typeof page.next_before === 'number' ? page.next_before : undefined;
  } while (before !== undefined);
}

/** Every row up to `lastSeq`, oldest first, without holding more than a few hundred of them. */
export async function* allRows(hub: HubClient, query: Query, lastSeq: number): AsyncGenerator<JsonObject> {
  for (let first = await oldestSeq(hub, lastSeq); first <= lastSeq; first += WINDOW_ROWS) {
    const rows: JsonObject[] = [];
    const end = Math.min(first + WINDOW_ROWS, lastSeq + 1);
    for await (const page of newestPages(hub, { ...query, before: end, limit: WINDOW_ROWS })) {
      rows.push(...page.filter((row) => Number(row.seq) >= first));
      if (page.some((row) => Number(row.seq) < first)) break;
    }
    yield* rows.toReversed();
  }
}

/** Number of the oldest row that is kept: numbers have no gaps, so halving finds it. */
async function oldestSeq(hub: HubClient, lastSeq: number): Promise<number> {
  let [low, high] = [1, lastSeq];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const page = await hub.get(PATH, { before: middle + 1, limit: 1 });
    if (objectsIn(page, 'rows').length > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
