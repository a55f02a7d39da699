import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openMatterDatabase } from './matter-database.ts';

/** More messages to groups than a hub sends between a backup and its return. */
const SKIPPED = 2 ** 24;
const LAST = 2 ** 32 - 1;

/**
 * Moves the counter of messages to groups ahead (Matter core specification §4.6.1.3), in a storage that comes from a backup and is
 * not open: devices take what counts from where they have heard this hub already for a replay. Does nothing where there is none.
 */
export function skipGroupCounter(matterDir: string): void {
  const path = join(matterDir, 'hub/storage.db');
  if (!existsSync(path)) return;
  // Counted like every other change, so that it is not taken for damage.
  const database = openMatterDatabase(path);
  try {
    const counter = database
      .prepare<{ text: string }>("SELECT value_json AS text FROM kvstore WHERE context = 'sessions' AND key = 'groupDataCounter'")
      .get();
    const value = typeof counter?.text === 'string' ? Number(counter.text) : Number.NaN;
    if (!Number.isSafeInteger(value)) return;
    const ahead = Math.min(value + SKIPPED, LAST);
    database.exec(`UPDATE kvstore SET value_json = '${ahead}' WHERE context = 'sessions' AND key = 'groupDataCounter'`);
  } finally {
    database.close();
  }
}
