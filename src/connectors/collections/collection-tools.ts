import type { Capability } from '../../tools/capability-catalogue.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { Embedder } from '../models/embedder.ts';
import type { CollectionStore } from './collection-store.ts';
import { ragAddTool } from './rag-add-tool.ts';
import { ragRemoveTool } from './rag-remove-tool.ts';
import { ragSearchTool } from './rag-search-tool.ts';

/** What tools over collections work with. */
export interface CollectionParts {
  readonly store: CollectionStore;
  readonly embedder: Embedder;
}

/** What hubs with collections have (source 000 §5, requires). */
export const VECTOR_STORE: Capability = { type: 'vector_store', description: () => 'Documents that are found by their meaning' };

/** `rag_search`, `rag_add` and `rag_remove`; the first two need a model for embeddings, and say so where `missing` does. */
export function collectionTools(parts: CollectionParts, missing: string | undefined): readonly RegisteredTool[] {
  const tools = [ragSearchTool(parts), ragAddTool(parts), ragRemoveTool(parts)];
  return missing === undefined ? tools : tools.map((tool) => withoutSetting(tool, missing));
}
