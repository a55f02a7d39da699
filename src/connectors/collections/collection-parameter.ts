import { AtmoError } from '../../core/errors.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { knownTo } from '../models/held-permissions.ts';
import type { CollectionFacts, CollectionStore } from './collection-store.ts';

/** Parameter of every tool on a collection. */
export const collectionParameter = p.string({
  description: 'Name of the collection',
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  default: 'default',
});

/** What a collection was made with; NOT_FOUND with the names of those that the caller may search when there is none of the name. */
export function requireCollection(store: CollectionStore, collection: string, grants: readonly string[]): CollectionFacts {
  const facts = store.facts(collection);
  if (facts) return facts;
  const candidates = knownTo(grants, 'rag:search', store.names());
  const known = candidates.length === 0 ? '; rag_add makes one' : `; there is ${candidates.join(', ')}`;
  throw new AtmoError('NOT_FOUND', `There is no collection ${collection} at this hub${known}`, { candidates });
}
