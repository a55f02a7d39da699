import { AtmoError } from '../src/core/errors.ts';
import type { Json } from '../src/core/json.ts';
import { MemoryKeyValueStore } from './memory-key-value-store.ts';

/** A store on a disk that takes nothing, as one that is full or mounted read-only, while `isFull`. */
export class FullStore extends MemoryKeyValueStore {
  isFull = true;

  override set(space: string, key: string, value: Json, options: { readonly ttlMs?: number } = {}): void {
    if (this.isFull) throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    super.set(space, key, value, options);
  }
}
