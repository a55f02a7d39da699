import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { resultSchema } from '../connector.ts';
import { jsonOf } from '../http-client/endpoint-call.ts';
import { type ChatAnswer, chat, messagesOf, streamedChat } from './chat-completion.ts';
import { type ModelRegistry, type NamedModel, requestModel } from './model-client.ts';
import { LONG_TIMEOUT_MS, modelParameter } from './model-inputs.ts';

/** Maximum length of the text in a progress event, in characters. */
const MAX_PIECE = 4_000;

const COMPLETION_RETURNS = resultSchema(['text', 'model_used'], {
  text: { type: 'string' },
  model_used: { type: 'string' },
  tokens_used: resultSchema(['prompt', 'completion'], { prompt: { type: 'integer' }, completion: { type: 'integer' } }),
  finish_reason: { type: 'string', description: '`length` where max_tokens cut it off' },
});

/** Returns the tool `llm_complete`, which lets a language model write a text. With `stream`, it reports each piece of text as progress. */
export function llmCompleteTool(models: ModelRegistry): RegisteredTool {
  return defineTool(
    {
      name: 'llm_complete',
      title: 'Complete with a language model',
      description:
        'Has a language model write a text. Use it to sum up, rephrase, translate or judge text that you give in the prompt, such as ' +
        'readings of the house. It knows nothing of this home but what the prompt says. The answer is text of a model, not a fact.',
      category: 'computing',
      capabilities: ['llm'],
      permissions: ['llm:complete'],
      hasSideEffects: false,
      isAsyncAllowed: true,
      timeoutMs: LONG_TIMEOUT_MS,
      isStreamSupported: true,
      retries: 1,
      tags: ['llm', 'text', 'model'],
      examples: [
        {
          description: 'Puts readings into words',
          params: { prompt: 'Say in one sentence what is unusual: hall 21 °C, attic 48 °C', max_tokens: 60 },
        },
      ],
      parameters: {
        prompt: p.string({ description: 'What the model is asked', minLength: 1, maxLength: 400_000 }),
        system: p.string({ description: 'What the model is told before: its role and rules', maxLength: 100_000 }).optional(),
        model: modelParameter,
        max_tokens: p.integer({ description: 'Longest answer, in tokens of the model', minimum: 1, maximum: 32_768, default: 1_024 }),
        temperature: p.number({ description: '0 is sober and repeatable, 2 is wild', minimum: 0, maximum: 2, default: 0.7 }),
        stream: p.boolean({ description: 'Tells the text piece by piece while it is written, as {text}', default: false }),
      },
      returns: COMPLETION_RETURNS,
    },
    async ({ prompt, system, model: name, max_tokens: maxTokens, temperature, stream }, context) => {
      const model = models.pick('llm', name);
      const request = { messages: messagesOf(prompt, system), maxTokens, temperature, signal: context.signal };
      const written = stream ? streamedChat(model, request, progressReporter(context, maxTokens)) : chat(model, request);
      return completion(model, await written);
    },
  );
}

function completion({ name }: NamedModel, { text, finishReason, tokens }: ChatAnswer) {
  return {
    text,
    model_used: name,
    ...(tokens && { tokens_used: { prompt: tokens.prompt, completion: tokens.completion } }),
    ...(finishReason !== undefined && { finish_reason: finishReason }),
  };
}

/** Returns a function that reports a piece of text as progress. The total is unknown, so each piece counts as one of `maxTokens`. */
function progressReporter(context: ToolContext, maxTokens: number): (text: string) => void {
  let pieces = 0;
  return (text) => {
    for (let at = 0; at < text.length; at += MAX_PIECE) {
      pieces += 1;
      context.progress(Math.min(0.99, pieces / maxTokens), undefined, { text: text.slice(at, at + MAX_PIECE) });
    }
  };
}

const CODEGEN_PROMPT =
  'You write the program that the user specifies. Answer with one code block in Markdown that holds the whole program and nothing else: ' +
  'no explanation before or after it.';
const CODE_BLOCK = /```([A-Za-z0-9+#_-]*)[^\n]*\n([\s\S]*?)\n?```/;

/** Returns the tool `tool_codegen`, which lets a model write a program from a description. The program is not run. */
export function codegenTool(models: ModelRegistry): RegisteredTool {
  return defineTool(
    {
      name: 'tool_codegen',
      title: 'Generate code',
      description:
        'Has a language model write a program from a description. Use it when a script is wanted; nothing is run, and somebody has to ' +
        'read the code before it is.',
      category: 'computing',
      capabilities: ['llm'],
      permissions: ['llm:complete'],
      hasSideEffects: false,
      isAsyncAllowed: true,
      timeoutMs: LONG_TIMEOUT_MS,
      retries: 1,
      tags: ['llm', 'code', 'model'],
      examples: [{ description: 'A small script', params: { spec: 'A Python function that turns °F into °C, with a test' } }],
      parameters: {
        spec: p.string({ description: 'What the program has to do, and in which language', minLength: 1, maxLength: 100_000 }),
        model: modelParameter,
      },
      returns: resultSchema(['code', 'model_used'], {
        code: { type: 'string' },
        language: { type: 'string' },
        model_used: { type: 'string' },
      }),
    },
    async ({ spec, model: name }, { signal }) => {
      const model = models.pick('llm', name);
      const { text } = await chat(model, { messages: messagesOf(spec, CODEGEN_PROMPT), maxTokens: 8_192, temperature: 0.2, signal });
      return { ...codeOf(text), model_used: model.name };
    },
  );
}

/** Returns the first code block of a text. Without a code block, returns the whole text. */
export function codeOf(text: string): { readonly code: string; readonly language?: string } {
  const [, language = '', code] = CODE_BLOCK.exec(text) ?? [];
  if (code === undefined) return { code: text.trim() };
  return { code, ...(language !== '' && { language: language.toLowerCase() }) };
}

/** Returns the tool `run_model`, which sends the caller's input to a configured model and returns the JSON of the response unchanged. */
export function runModelTool(models: ModelRegistry): RegisteredTool {
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
      timeoutMs: LONG_TIMEOUT_MS,
      retries: 1,
      tags: ['model', 'inference'],
      examples: [{ description: 'A model of the house', params: { model: 'load-forecast', input: [3.1, 2.8, 4.4], params: { hours: 6 } } }],
      parameters: {
        model: p.string({ description: 'Name of a model that the owner configured', minLength: 1, maxLength: 64 }),
        input: p.json({ description: 'What the model takes: a prompt or messages, a text or texts, or what its task run expects' }),
        params: p.record({ description: 'Further members of the request, such as temperature', default: {} }),
      },
      returns: resultSchema(['output', 'latency_ms', 'model_used'], {
        output: { description: 'The JSON that the service answered' },
        latency_ms: { type: 'integer', minimum: 0 },
        model_used: { type: 'string' },
      }),
    },
    async ({ model: name, input, params }, { signal, clock }) => {
      const model = models.named(name);
      const startMs = clock.monotonic();
      const answer = await requestModel(model, { ...requestOf(model, input, params), signal });
      return { output: jsonOf(model, answer), latency_ms: Math.round(clock.monotonic() - startMs), model_used: model.name };
    },
  );
}

/** Returns the path and body of a request, as the model's tasks require. `params` cannot select another model or replace the input. */
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
