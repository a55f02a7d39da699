import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

const SPACE = 'journal';
const KEY = 'restored';

/** Lets the next start know that its state comes from a backup. Times in ISO 8601. STORAGE_FAILED. */
export function leaveRestoreNote(store: KeyValueStore, note: { readonly madeAt: string; readonly restoredAt: string }): void {
  store.set(SPACE, KEY, { made_at: note.madeAt, restored_at: note.restoredAt });
}

/** When the backup was made and put back, told once; undefined otherwise. */
export function takeRestoreNote(store: KeyValueStore): JsonObject | undefined {
  const note = store.get(SPACE, KEY);
  if (!isJsonObject(note)) return undefined;
  store.delete(SPACE, KEY);
  return note;
}
