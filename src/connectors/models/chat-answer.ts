import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { NamedModel } from './model-book.ts';
import { unusable } from './model-call.ts';

/** What a model wrote. */
export interface ChatAnswer {
  readonly text: string;
  /** `stop`, `length`, or another word of the service's. */
  readonly finishReason?: string;
  readonly tokens?: TokenCount;
}

/** Absent where the service does not count. */
export interface TokenCount {
  readonly prompt: number;
  readonly completion: number;
}

/** The answer to `/chat/completions` (OpenAI API reference, chat completion object). SERVICE_REFUSED when it is none. */
export function chatAnswer(model: NamedModel, answer: JsonObject): ChatAnswer {
  const choice = Array.isArray(answer.choices) ? answer.choices[0] : undefined;
  const message = isJsonObject(choice) ? choice.message : undefined;
  if (!isJsonObject(choice) || !isJsonObject(message)) throw unusable(model, 'without a message');
  const tokens = tokenCount(answer.usage);
  return {
    text: typeof message.content === 'string' ? message.content : '',
    ...(typeof choice.finish_reason === 'string' && { finishReason: choice.finish_reason }),
    ...(tokens && { tokens }),
  };
}

/** The member `usage` of an answer. */
export function tokenCount(usage: Json | undefined): TokenCount | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (!Number.isInteger(prompt)) return undefined;
  return { prompt: Number(prompt), completion: Number.isInteger(completion) ? Number(completion) : 0 };
}
