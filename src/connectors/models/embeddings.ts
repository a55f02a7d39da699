import { isJsonObject, type Json } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { resultSchema } from '../connector.ts';
import { answerOf, type ModelRegistry, type NamedModel, requestModel, unusableAnswer } from './model-client.ts';
import { modelParameter, SHORT_TIMEOUT_MS } from './model-inputs.ts';

const TEXT = { type: 'string', minLength: 1, maxLength: 100_000 } as const;
const textDescription = 'A text, or a list of up to 256';
/** A parameter that is a text or a list of texts. The parameter builder `p` has no such type, so the schema is written here. */
const textParameter = {
  ...p.json({ description: textDescription }),
  schema: { anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1, maxItems: 256 }], description: textDescription },
};

/** Returns the tool `generate_embedding`, which converts texts to vectors. */
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
      timeoutMs: SHORT_TIMEOUT_MS,
      retries: 1,
      tags: ['embedding', 'text', 'model'],
      examples: [{ description: 'Two texts', params: { text: ['the oven is on', 'somebody is baking'] } }],
      parameters: { text: textParameter, model: modelParameter },
      returns: resultSchema(['embeddings', 'model_used'], {
        embeddings: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
        dimensions: { type: 'integer' },
        model_used: { type: 'string' },
      }),
    },
    async ({ text, model }, { signal }) => {
      const texts = Array.isArray(text) ? text.map(String) : [String(text)];
      const name = embedder.modelName(model);
      const embeddings = await embedder.embed(texts, name, signal);
      return { embeddings, dimensions: embeddings[0]?.length ?? 0, model_used: name };
    },
  );
}

/** Converts texts to vectors. Texts with similar meanings get similar vectors. */
export type Embedder = Pick<ModelEmbedder, keyof ModelEmbedder>;

/** Maximum number of texts in one request. Services limit this number. */
const BATCH = 64;

/** Converts texts to vectors with the owner's models, by the endpoint `/embeddings` (OpenAI API reference, create embeddings). */
export class ModelEmbedder {
  readonly #models: ModelRegistry;

  constructor(models: ModelRegistry) {
    this.#models = models;
  }

  /** Returns `name` or, if it is absent, the default model's name. Throws VALIDATION_ERROR if no such model computes embeddings. */
  modelName(name?: string): string {
    return this.#models.pick('embeddings', name).name;
  }

  /** Returns one vector for each text, in the same order. All vectors have the same length. Rejects like `requestModel`. */
  async embed(texts: readonly string[], name: string, signal: AbortSignal): Promise<readonly (readonly number[])[]> {
    const model = this.#models.pick('embeddings', name);
    const vectors: (readonly number[])[] = [];
    for (let at = 0; at < texts.length; at += BATCH) vectors.push(...(await embedBatch(model, texts.slice(at, at + BATCH), signal)));
    const width = vectors[0]?.length;
    if (vectors.some((vector) => vector.length !== width)) throw unusableAnswer(model, 'with vectors of different lengths');
    return vectors;
  }
}

async function embedBatch(model: NamedModel, input: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]> {
  const { data } = answerOf(model, await requestModel(model, { path: '/embeddings', body: { model: model.model, input }, signal }));
  const rows = Array.isArray(data) ? data.filter(isJsonObject) : [];
  const vectors = input.map((_, index) => vectorOf(rows.find((row) => row.index === index)?.embedding ?? rows[index]?.embedding));
  return vectors.map((vector) => {
    if (vector) return vector;
    throw unusableAnswer(model, `with vectors for ${rows.length} of ${input.length} texts`);
  });
}

function vectorOf(embedding: Json | undefined): readonly number[] | undefined {
  if (!Array.isArray(embedding) || embedding.length === 0) return undefined;
  return embedding.every((value): value is number => typeof value === 'number') ? embedding : undefined;
}
