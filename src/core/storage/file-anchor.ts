import { isJsonObject } from '../json.ts';
import type { KeyValueStore } from './key-value-store.ts';

/** How far a file is: what it holds at a generation has always the same digest. */
export interface FileMark {
  /** Each commit raises it. */
  readonly generation: number;
  /** Of the content; empty where the file has none. */
  readonly digest: string;
}

/** Port: what is kept elsewhere about one file, so that its loss, its emptying and its return to an older state are noticed. */
export interface FileAnchor {
  /**
   * What the file must have reached. A file that is further is sound: the process ended between the file and its anchor. The digest is
   * empty when it is not known. Undefined when nothing is known of the file.
   */
  least(): FileMark | undefined;
  /** The commit outlives the end of the process, and not yet a power cut; a start goes on with what it found, also when it is less. */
  committed(mark: FileMark): void;
  /** The commit is on the disk. */
  synced(mark: FileMark): void;
}

const SPACE = 'file-anchors';

/** An anchor in the store, for a file that changes seldom and is synced with each change. */
export function anchorInStore(store: Pick<KeyValueStore, 'get' | 'set'>, name: string): FileAnchor {
  const keep = ({ generation, digest }: FileMark) => store.set(SPACE, name, { generation, digest });
  return {
    least: () => {
      const kept = store.get(SPACE, name);
      const { generation, digest } = isJsonObject(kept) ? kept : {};
      return typeof generation === 'number' && typeof digest === 'string' ? { generation, digest } : undefined;
    },
    committed: keep,
    synced: keep,
  };
}
