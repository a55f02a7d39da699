import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { chat, messagesOf, streamedChat } from './chat.ts';
import type { ChatAnswer } from './chat-answer.ts';
import type { ModelBook, NamedModel } from './model-book.ts';
import { modelParameter, WRITING_LIMIT_MS } from './model-tool.ts';

/** Longest piece of text that one part tells, in characters. */
const MAX_PIECE = 4_000;

const RETURNS = {
  type: 'object',
  required: ['text', 'model_used'],
  properties: {
    text: { type: 'string' },
    model_used: { type: 'string' },
    tokens_used: {
      type: 'object',
      required: ['prompt', 'completion'],
      properties: { prompt: { type: 'integer' }, completion: { type: 'integer' } },
    },
    finish_reason: { type: 'string', description: '`length` where max_tokens cut it off' },
  },
};

/** `llm_complete` (source 000 §8.7): text from a language model, on request told while it is written. */
export function llmCompleteTool(book: ModelBook): RegisteredTool {
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
      timeoutMs: WRITING_LIMIT_MS,
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
      returns: RETURNS,
    },
    async ({ prompt, system, model: name, max_tokens: maxTokens, temperature, stream }, context) => {
      const model = book.pick('llm', name);
      const request = { messages: messagesOf(prompt, system), maxTokens, temperature, signal: context.signal };
      const written = stream ? streamedChat(model, request, teller(context, maxTokens)) : chat(model, request);
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

/** A piece is about one token, and nobody knows how many will come. */
function teller(context: ToolContext, maxTokens: number): (text: string) => void {
  let pieces = 0;
  return (text) => {
    for (let at = 0; at < text.length; at += MAX_PIECE) {
      pieces += 1;
      context.progress(Math.min(0.99, pieces / maxTokens), undefined, { text: text.slice(at, at + MAX_PIECE) });
    }
  };
}
