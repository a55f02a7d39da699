import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { Embedder } from './embedder.ts';
import { LOOKING_LIMIT_MS, modelParameter } from './model-tool.ts';

const TEXT = { type: 'string', minLength: 1, maxLength: 100_000 } as const;
const description = 'A text, or a list of up to 256';
/** Two forms in one, which no builder has: the schema is more exact than its type. */
const textParameter = {
  ...p.json({ description }),
  schema: { anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1, maxItems: 256 }], description },
};

/** `generate_embedding` (source 000 §5): texts as vectors. */
export function generateEmbeddingTool(embedder: Embedder): RegisteredTool {
  return defineTool(
    {
      name: 'generate_embedding',
      title: 'Generate embeddings',
      description:
        'Turns texts into vectors in which near meanings are near. Use it to compare texts yourself; to search in documents there is ' +
        'rag_search.',
      category: 'computing',
      capabilities: ['embeddings'],
      permissions: ['embedding:create'],
      hasSideEffects: false,
      isAsyncAllowed: true,
      timeoutMs: LOOKING_LIMIT_MS,
      retries: 1,
      tags: ['embedding', 'text', 'model'],
      examples: [{ description: 'Two texts', params: { text: ['the oven is on', 'somebody is baking'] } }],
      parameters: { text: textParameter, model: modelParameter },
      returns: {
        type: 'object',
        required: ['embeddings', 'model_used'],
        properties: {
          embeddings: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
          dimensions: { type: 'integer' },
          model_used: { type: 'string' },
        },
      },
    },
    async ({ text, model }, { signal }) => {
      const texts = Array.isArray(text) ? text.map(String) : [String(text)];
      const name = embedder.modelName(model);
      const embeddings = await embedder.embed(texts, name, signal);
      return { embeddings, dimensions: embeddings[0]?.length ?? 0, model_used: name };
    },
  );
}
