import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { jsonOf } from '../http/endpoint-call.ts';
import { messagesOf } from './chat.ts';
import type { ModelBook, NamedModel } from './model-book.ts';
import { askModel } from './model-call.ts';
import { WRITING_LIMIT_MS } from './model-tool.ts';

/** `run_model` (source 000 §5): any configured model in its own form, its answer as it is. */
export function runModelTool(book: ModelBook): RegisteredTool {
  return defineTool(
    {
      name: 'run_model',
      title: 'Run a model',
      description:
        'Runs a configured model with an input of its own form and answers its output as it is. Use it for models that no other tool ' +
        'knows; for text, pictures, speech and vectors there are llm_complete, analyze_image, transcribe_audio and generate_embedding.',
      category: 'computing',
      capabilities: ['ml_runtime'],
      permissions: ['model:run'],
      hasSideEffects: false,
      isAsyncAllowed: true,
      timeoutMs: WRITING_LIMIT_MS,
      retries: 1,
      tags: ['model', 'inference'],
      examples: [{ description: 'A model of the house', params: { model: 'load-forecast', input: [3.1, 2.8, 4.4], params: { hours: 6 } } }],
      parameters: {
        model: p.string({ description: 'Name of a model that the owner configured', minLength: 1, maxLength: 64 }),
        input: p.json({ description: 'What the model takes: a prompt or messages, a text or texts, or what its task run expects' }),
        params: p.record({ description: 'Further members of the request, such as temperature', default: {} }),
      },
      returns: {
        type: 'object',
        required: ['output', 'latency_ms', 'model_used'],
        properties: {
          output: { description: 'The JSON that the service answered' },
          latency_ms: { type: 'integer', minimum: 0 },
          model_used: { type: 'string' },
        },
      },
    },
    async ({ model: name, input, params }, { signal, clock }) => {
      const model = book.named(name);
      const startMs = clock.monotonic();
      const answer = await askModel(model, { ...requestOf(model, input, params), signal });
      return { output: jsonOf(model, answer), latency_ms: Math.round(clock.monotonic() - startMs), model_used: model.name };
    },
  );
}

/** What a caller adds can choose no other model. */
function requestOf(model: NamedModel, input: Json, params: JsonObject): { readonly path: string; readonly body: JsonObject } {
  const { tasks, model: id } = model;
  if (tasks.includes('run')) return { path: model.path, body: { ...params, input, model: id } };
  if (tasks.includes('embeddings')) return { path: '/embeddings', body: { ...params, input, model: id } };
  if (tasks.every((task) => task === 'speech')) {
    throw new AtmoError('VALIDATION_ERROR', `The model ${model.name} takes recordings; use transcribe_audio`);
  }
  const messages = Array.isArray(input) ? input : messagesOf(input);
  return { path: '/chat/completions', body: { max_tokens: 1_024, ...params, messages, model: id, stream: false } };
}
