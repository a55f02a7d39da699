import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Media } from './media-source.ts';
import type { NamedModel } from './model-book.ts';
import { answerOf, askModel, unusable } from './model-call.ts';

/** A stretch of speech, from `start` to `end` in seconds. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What was said. */
export interface Transcription {
  readonly text: string;
  readonly language?: string;
  readonly segments: readonly Segment[];
  /** Geometric mean of the probabilities of the words, 0 to 1; absent where the service does not tell them. */
  readonly confidence?: number;
}

interface Speech {
  readonly audio: Media;
  readonly language: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends a recording to `/audio/transcriptions` (OpenAI API reference, create transcription). Models that know no `verbose_json` are
 * asked for the text alone; then there are neither segments nor a confidence. Errors as those of `askModel`.
 */
export async function transcribe(model: NamedModel, speech: Speech): Promise<Transcription> {
  try {
    return await asked(model, speech, 'verbose_json');
  } catch (error) {
    if (!(error instanceof AtmoError) || error.code !== 'SERVICE_REFUSED' || error.details.status !== 400) throw error;
    return asked(model, speech, 'json');
  }
}

async function asked(model: NamedModel, { audio, language, signal }: Speech, form: 'verbose_json' | 'json'): Promise<Transcription> {
  const body = new FormData();
  body.append('file', new Blob([audio.bytes], { type: audio.type }), `audio.${audio.ending}`);
  body.append('model', model.model);
  body.append('response_format', form);
  if (language !== undefined) body.append('language', language);
  const answer = answerOf(model, await askModel(model, { path: '/audio/transcriptions', body, signal }));
  return transcriptionOf(model, answer);
}

function transcriptionOf(model: NamedModel, answer: JsonObject): Transcription {
  if (typeof answer.text !== 'string') throw unusable(model, 'without a text');
  const told = Array.isArray(answer.segments) ? answer.segments.filter(isJsonObject) : [];
  const confidence = confidenceOf(told);
  return {
    text: answer.text.trim(),
    ...(typeof answer.language === 'string' && { language: answer.language.slice(0, 40) }),
    segments: told.map(({ start, end, text }) => ({ start: seconds(start), end: seconds(end), text: String(text ?? '').trim() })),
    ...(confidence !== undefined && { confidence }),
  };
}

/** Each segment tells the mean logarithm of its words' probabilities; longer ones have more words. */
function confidenceOf(segments: readonly JsonObject[]): number | undefined {
  const weighed = segments.flatMap(({ start, end, avg_logprob: mean }) =>
    typeof mean === 'number' ? [{ mean, weight: Math.max(seconds(end) - seconds(start), 0.1) }] : [],
  );
  if (weighed.length === 0) return undefined;
  const weight = weighed.reduce((sum, segment) => sum + segment.weight, 0);
  const logarithm = weighed.reduce((sum, segment) => sum + segment.mean * segment.weight, 0) / weight;
  return Math.round(Math.min(1, Math.exp(logarithm)) * 1000) / 1000;
}

function seconds(value: Json | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
