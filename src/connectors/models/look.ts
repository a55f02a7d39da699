import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { chat, messagesOf } from './chat.ts';
import { IMAGE_TASKS, type ImageFinding, type ImageTask, imageFinding, imageQuestion } from './image-question.ts';
import type { NamedModel } from './model-book.ts';

/** What a model is asked about a picture. */
export interface Look {
  readonly task: ImageTask;
  readonly prompt: string | undefined;
  readonly signal: AbortSignal;
}

/** A list of some hundred objects, or a page of text. */
const MAX_TOKENS = 4_096;

/** Parameters of the tools that have a model look at a picture. */
export const lookParameters = {
  task: p.enum(IMAGE_TASKS, { description: 'What to find; custom does what prompt says', default: 'describe' }),
  prompt: p.string({ description: 'What to look for, in words; required for custom', minLength: 1, maxLength: 20_000 }).optional(),
};

/** What these tools answer. */
export const LOOK_RETURNS = {
  result: { description: 'A text, or a list of {label, …} with boxes and outlines in shares of the picture' },
  confidence: { type: 'number', minimum: 0, maximum: 1, description: 'As the model judges itself; absent where it does not' },
  model_used: { type: 'string' },
  processing_ms: { type: 'integer', minimum: 0 },
} as const;

/** Has a model look at a picture. VALIDATION_ERROR for `custom` without a prompt, else as `askModel`. */
export async function look(
  model: NamedModel,
  picture: { readonly bytes: Uint8Array; readonly type: string },
  { task, prompt, signal }: Look,
): Promise<ImageFinding> {
  if (task === 'custom' && prompt === undefined) throw new AtmoError('VALIDATION_ERROR', 'The task custom needs a prompt; say what to do');
  const messages = messagesOf([{ type: 'text', text: imageQuestion(task, prompt) }, pictureOf(picture)]);
  const { text } = await chat(model, { messages, maxTokens: MAX_TOKENS, temperature: 0, signal });
  return imageFinding(text);
}

/** A part `image_url` of a message (OpenAI API reference, chat completions), which servers at home take as a data: URI only. */
function pictureOf({ bytes, type }: { readonly bytes: Uint8Array; readonly type: string }): JsonObject {
  return { type: 'image_url', image_url: { url: `data:${type};base64,${Buffer.from(bytes).toString('base64')}` } };
}
