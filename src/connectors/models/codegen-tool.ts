import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { chat, messagesOf } from './chat.ts';
import type { ModelBook } from './model-book.ts';
import { modelParameter, WRITING_LIMIT_MS } from './model-tool.ts';

const SYSTEM =
  'You write the program that the user specifies. Answer with one code block in Markdown that holds the whole program and nothing else: ' +
  'no explanation before or after it.';
const BLOCK = /```([A-Za-z0-9+#_-]*)[^\n]*\n([\s\S]*?)\n?```/;

/** `tool_codegen` (source 003, seed tools): a program from its description. It is only written, never run. */
export function codegenTool(book: ModelBook): RegisteredTool {
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
      timeoutMs: WRITING_LIMIT_MS,
      retries: 1,
      tags: ['llm', 'code', 'model'],
      examples: [{ description: 'A small script', params: { spec: 'A Python function that turns °F into °C, with a test' } }],
      parameters: {
        spec: p.string({ description: 'What the program has to do, and in which language', minLength: 1, maxLength: 100_000 }),
        model: modelParameter,
      },
      returns: {
        type: 'object',
        required: ['code', 'model_used'],
        properties: { code: { type: 'string' }, language: { type: 'string' }, model_used: { type: 'string' } },
      },
    },
    async ({ spec, model: name }, { signal }) => {
      const model = book.pick('llm', name);
      const { text } = await chat(model, { messages: messagesOf(spec, SYSTEM), maxTokens: 8_192, temperature: 0.2, signal });
      return { ...codeOf(text), model_used: model.name };
    },
  );
}

/** The first code block of a text, else all of it. */
export function codeOf(text: string): { readonly code: string; readonly language?: string } {
  const [, language = '', code] = BLOCK.exec(text) ?? [];
  if (code === undefined) return { code: text.trim() };
  return { code, ...(language !== '' && { language: language.toLowerCase() }) };
}
