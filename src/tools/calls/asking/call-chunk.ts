import { visibleText } from '../../../core/foreign-text.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import { copyJson } from '../../schema/plain-json.ts';

/** What a running call tells of itself before its answer (source 000 §8, `stream_supported`). */
export interface CallChunk {
  /** How far it is, 0 to 1. */
  readonly fraction: number;
  readonly note?: string;
  /** A part of what it has found; the answer repeats all of it. */
  readonly partial?: Json;
}

/** Longest JSON text of what has been found so far, and of a note, in characters. */
const LIMITS = { maxSize: 16_384, maxDepth: 32 };
const MAX_NOTE_LENGTH = 512;

/** A chunk within its bounds. VALIDATION_ERROR for a partial result that is too long or not JSON. */
export function callChunk(fraction: number, note: string | undefined, partial: Json | undefined): CallChunk {
  return {
    fraction: Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0)),
    ...(note !== undefined && { note: note.slice(0, MAX_NOTE_LENGTH) }),
    ...(partial !== undefined && { partial: copyJson(partial, LIMITS) }),
  };
}

/** A chunk as another hub told it; undefined for what is none. */
export function chunkOf(told: JsonObject): CallChunk | undefined {
  const { fraction, note, partial } = told;
  if (typeof fraction !== 'number' || (note !== undefined && typeof note !== 'string')) return undefined;
  return callChunk(fraction, note === undefined ? undefined : visibleText(note, MAX_NOTE_LENGTH), partial);
}
