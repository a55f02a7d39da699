import { toAtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { toolId } from '../definition/tool-name.ts';
import { recordFromJson, recordToJson, type ToolRecord } from './tool-record.ts';

const SPACE = 'registered_tool';

/** The registered tools on the disk. */
export class ToolRecordStore {
  readonly #store: KeyValueStore;
  readonly #logger: Logger;

  constructor({ store, logger }: { readonly store: KeyValueStore; readonly logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
  }

  /** STORAGE_FAILED, PAYLOAD_TOO_LARGE. */
  keep(record: ToolRecord): void {
    this.#store.set(SPACE, toolId(record.definition), recordToJson(record));
  }

  forget(id: string): void {
    this.#store.delete(SPACE, id);
  }

  /** One that cannot be read stays on the disk and is told in the log: a newer hub may have written it. */
  all(): readonly ToolRecord[] {
    return this.#store.entries(SPACE).flatMap(({ key, value }) => {
      try {
        return [recordFromJson(value)];
      } catch (thrown) {
        this.#logger.warn('tools.record_unreadable', { tool: key, problem: toAtmoError(thrown).message });
        return [];
      }
    });
  }
}
