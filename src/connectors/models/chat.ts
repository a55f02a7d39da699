import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type ChatAnswer, chatAnswer } from './chat-answer.ts';
import { ChatStream } from './chat-stream.ts';
import type { NamedModel } from './model-book.ts';
import { answerOf, askModel, unusable } from './model-call.ts';

const PATH = '/chat/completions';

/** What is said to a model, and how long and how freely it may answer. */
export interface ChatRequest {
  readonly messages: readonly JsonObject[];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly signal: AbortSignal;
}

/** A request with the words that a person or program says, and those that the model is told before. */
export function messagesOf(prompt: Json, system?: string): readonly JsonObject[] {
  const user = { role: 'user', content: prompt };
  return system === undefined ? [user] : [{ role: 'system', content: system }, user];
}

/** Has a model write; errors as those of `askModel`. */
export async function chat(model: NamedModel, { signal, ...request }: ChatRequest): Promise<ChatAnswer> {
  const answer = await askModel(model, { path: PATH, body: bodyOf(model, request), signal });
  return chatAnswer(model, answerOf(model, answer));
}

/** The same while it is being written: `onText` hears each piece. A service that cannot stream answers all at once. */
export async function streamedChat(
  model: NamedModel,
  { signal, ...request }: ChatRequest,
  onText: (text: string) => void,
): Promise<ChatAnswer> {
  const stream = new ChatStream(model);
  const body = { ...bodyOf(model, request), stream: true, stream_options: { include_usage: true } };
  const onPart = (part: Uint8Array) => {
    const text = stream.take(part);
    if (text !== '') onText(text);
  };
  const answer = await askModel(model, { path: PATH, body, signal, onPart }).catch((error: unknown) => {
    throw stream.hasText ? brokenOff(model, error) : error;
  });
  if (!/^text\/event-stream/i.test(answer.headers.get('content-type') ?? '')) return chatAnswer(model, answerOf(model, answer));
  return stream.answer();
}

/** Tried again, it would tell its beginning twice. */
function brokenOff(model: NamedModel, error: unknown): unknown {
  return error instanceof AtmoError && error.code === 'SERVICE_UNAVAILABLE' ? unusable(model, 'half a stream and broke off') : error;
}

function bodyOf({ model }: NamedModel, { messages, maxTokens, temperature }: Omit<ChatRequest, 'signal'>): JsonObject {
  return { model, messages, max_tokens: maxTokens, temperature };
}
