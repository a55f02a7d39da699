import { createHash } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { modelParameter, WRITING_LIMIT_MS } from '../models/model-tool.ts';
import { collectionParameter } from './collection-parameter.ts';
import type { PartedDocument } from './collection-store.ts';
import type { CollectionParts } from './collection-tools.ts';
import { documentParts } from './document-parts.ts';
import { unitVector } from './unit-vector.ts';

const MAX_METADATA = 8_192;
/** A manual, or a folder of notes. */
const MAX_PARAMS_BYTES = 4 * 1_048_576;

interface GivenDocument {
  readonly id?: string;
  readonly content: string;
  readonly metadata: JsonObject;
}

interface CutDocument {
  readonly id: string;
  readonly metadata: JsonObject;
  readonly texts: readonly string[];
}

const PARAMETERS = {
  collection: collectionParameter,
  documents: p.array(
    p.object(
      {
        id: p.string({ description: 'Its name; made from the content when absent', minLength: 1, maxLength: 200 }).optional(),
        content: p.string({ description: 'The text', minLength: 1, maxLength: 500_000 }),
        metadata: p.record({ description: 'What filters ask for, such as {source: "manual"}', default: {} }),
      },
      { description: 'A document' },
    ),
    { description: 'The documents', minItems: 1, maxItems: 100 },
  ),
  model: modelParameter,
};

const RETURNS = {
  type: 'object',
  required: ['ids', 'parts', 'model_used'],
  properties: {
    ids: { type: 'array', items: { type: 'string' } },
    parts: { type: 'integer', minimum: 0, description: 'Passages that the documents were cut into' },
    model_used: { type: 'string' },
  },
};

/** `rag_add`: documents for `rag_search`. */
export function ragAddTool({ store, embedder }: CollectionParts): RegisteredTool {
  return defineTool(
    {
      name: 'rag_add',
      title: 'Add documents',
      description:
        'Adds texts to a collection, so that rag_search finds passages of them. Use it for manuals, notes and house rules; a document ' +
        'of the same id is replaced.',
      category: 'managing',
      capabilities: ['embeddings', 'vector_store'],
      permissions: ['rag:write:{collection}'],
      hasSideEffects: true,
      isIdempotent: true,
      isAsyncAllowed: true,
      timeoutMs: WRITING_LIMIT_MS,
      maxParamsBytes: MAX_PARAMS_BYTES,
      retries: 1,
      tags: ['documents', 'knowledge', 'rag'],
      examples: [
        {
          description: 'A note',
          params: {
            collection: 'manuals',
            documents: [{ id: 'boiler', content: 'Descale the boiler once a year.', metadata: { source: 'manual' } }],
          },
        },
      ],
      parameters: PARAMETERS,
      returns: RETURNS,
    },
    async ({ collection, documents, model: name }, { signal }) => {
      const model = name === undefined ? (store.facts(collection)?.model ?? embedder.modelName()) : embedder.modelName(name);
      const cut = documents.map(cutDocument);
      const texts = cut.flatMap((document) => document.texts);
      const vectors = await embedder.embed(texts, model, signal);
      store.put(collection, { model, width: vectors[0]?.length ?? 0 }, withVectors(cut, vectors));
      return { ids: cut.map(({ id }) => id), parts: texts.length, model_used: model };
    },
  );
}

function cutDocument({ id, content, metadata }: GivenDocument): CutDocument {
  const texts = documentParts(content);
  if (texts.length === 0) throw new AtmoError('VALIDATION_ERROR', 'A document of white space alone cannot be found; leave it out');
  if (JSON.stringify(metadata).length > MAX_METADATA) {
    throw new AtmoError('PAYLOAD_TOO_LARGE', `The metadata of a document is longer than ${MAX_METADATA} characters`);
  }
  return { id: id ?? createHash('sha256').update(content).digest('hex').slice(0, 16), metadata, texts };
}

function withVectors(cut: readonly CutDocument[], vectors: readonly (readonly number[])[]): readonly PartedDocument[] {
  let at = 0;
  return cut.map(({ id, metadata, texts }) => ({
    id,
    metadata,
    parts: texts.map((text) => ({ text, vector: unitVector(vectors[at++] ?? []) })),
  }));
}
