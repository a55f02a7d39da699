import { AtmoError } from '../../core/errors.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { collectionParameter } from './collection-parameter.ts';
import type { CollectionParts } from './collection-tools.ts';

/** `rag_remove`: takes documents out of a collection, or all of it. */
export function ragRemoveTool({ store }: CollectionParts): RegisteredTool {
  return defineTool(
    {
      name: 'rag_remove',
      title: 'Remove documents',
      description: 'Takes documents out of a collection by their ids, or all of them, so that rag_search finds them no more.',
      category: 'managing',
      capabilities: ['vector_store'],
      permissions: ['rag:write:{collection}'],
      hasSideEffects: true,
      isIdempotent: true,
      tags: ['documents', 'knowledge', 'rag'],
      examples: [{ description: 'One document', params: { collection: 'manuals', ids: ['boiler'] } }],
      parameters: {
        collection: collectionParameter,
        ids: p
          .array(p.string({ description: 'Id of a document', minLength: 1, maxLength: 200 }), {
            description: 'Which documents; absent together with all: true',
            minItems: 1,
            maxItems: 1_000,
          })
          .optional(),
        all: p.boolean({ description: 'Removes the collection with all documents', default: false }),
      },
      returns: { type: 'object', required: ['removed'], properties: { removed: { type: 'integer', minimum: 0 } } },
    },
    async ({ collection, ids, all }) => {
      if ((ids !== undefined) === all) throw new AtmoError('VALIDATION_ERROR', 'rag_remove wants either ids or all: true; say which');
      return { removed: store.remove(collection, ids) };
    },
  );
}
