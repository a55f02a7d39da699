import type { Json } from './json.ts';

/** Port: small durable state. A write is on the disk when the call returns; the stored form is JSON. */
export interface KeyValueStore {
  get(space: string, key: string): Json | undefined;
  /** `ttlMs` counts from now; absent = for ever. */
  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void;
  delete(space: string, key: string): boolean;
  entries(space: string): readonly { readonly key: string; readonly value: Json }[];
}
