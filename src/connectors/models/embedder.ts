import { isJsonObject, type Json } from '../../core/json.ts';
import type { ModelBook, NamedModel } from './model-book.ts';
import { answerOf, askModel, unusable } from './model-call.ts';

/** Port: texts as vectors of one model, in which near meanings are near. */
export interface Embedder {
  /** The model's name; undefined where none is configured. VALIDATION_ERROR for a name that is none. */
  modelName(name?: string): string;
  /** One vector for each text, in their order, all of one length. Errors as those of `askModel`. */
  embed(texts: readonly string[], model: string, signal: AbortSignal): Promise<readonly (readonly number[])[]>;
}

/** Services bound how many texts a request may have. */
const BATCH = 64;

/** Embeddings over `/embeddings` (OpenAI API reference, create embeddings). */
export class ModelEmbedder implements Embedder {
  readonly #book: ModelBook;

  constructor(book: ModelBook) {
    this.#book = book;
  }

  modelName(name?: string): string {
    return this.#book.pick('embeddings', name).name;
  }

  async embed(texts: readonly string[], name: string, signal: AbortSignal): Promise<readonly (readonly number[])[]> {
    const model = this.#book.pick('embeddings', name);
    const vectors: (readonly number[])[] = [];
    for (let at = 0; at < texts.length; at += BATCH) vectors.push(...(await embedBatch(model, texts.slice(at, at + BATCH), signal)));
    const width = vectors[0]?.length;
    if (vectors.some((vector) => vector.length !== width)) throw unusable(model, 'with vectors of different lengths');
    return vectors;
  }
}

async function embedBatch(model: NamedModel, input: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]> {
  const { data } = answerOf(model, await askModel(model, { path: '/embeddings', body: { model: model.model, input }, signal }));
  const rows = Array.isArray(data) ? data.filter(isJsonObject) : [];
  const vectors = input.map((_, index) => vectorOf(rows.find((row) => row.index === index)?.embedding ?? rows[index]?.embedding));
  return vectors.map((vector) => {
    if (vector) return vector;
    throw unusable(model, `with vectors for ${rows.length} of ${input.length} texts`);
  });
}

function vectorOf(embedding: Json | undefined): readonly number[] | undefined {
  if (!Array.isArray(embedding) || embedding.length === 0) return undefined;
  return embedding.every((value): value is number => typeof value === 'number') ? embedding : undefined;
}
