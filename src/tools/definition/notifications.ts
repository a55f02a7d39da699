import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { visibleText } from '../../core/untrusted-text.ts';
import { copyJson } from '../schema/plain-json.ts';

/** Severities of RFC 5424 §6.2.1, the mildest first. */
const MESSAGE_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type MessageLevel = (typeof MESSAGE_LEVELS)[number];

/** What a running call tells whoever listens, beside how far it is. */
export interface ToolMessage {
  readonly level: MessageLevel;
  readonly data: Json;
}

const MESSAGE_LIMITS = { maxSize: 16_384, maxDepth: 32 };

/** A message within its bounds. VALIDATION_ERROR for an unknown level and for what is no JSON, PAYLOAD_TOO_LARGE beyond 16 KB. */
export function boundedMessage(level: MessageLevel, data: Json): ToolMessage {
  if (MESSAGE_LEVELS.includes(level)) return { level, data: copyJson(data, MESSAGE_LIMITS) };
  throw new AtmoError(
    'VALIDATION_ERROR',
    `${JSON.stringify(String(level).slice(0, 32))} is none of the levels ${MESSAGE_LEVELS.join(', ')}`,
  );
}

/** What a running call tells of itself before its answer. */
export interface CallChunk {
  /** How far it is, 0 to 1. */
  readonly fraction: number;
  readonly note?: string;
  /** A part of what it has found; the answer repeats all of it. */
  readonly partial?: Json;
}

/** Longest JSON text of what has been found so far, and of a note, in characters. */
const CHUNK_LIMITS = { maxSize: 16_384, maxDepth: 32 };
const MAX_NOTE_LENGTH = 512;

/** A chunk within its bounds. VALIDATION_ERROR for a partial result that is too long or not JSON. */
export function boundedChunk(fraction: number, note: string | undefined, partial: Json | undefined): CallChunk {
  return {
    fraction: Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0)),
    ...(note !== undefined && { note: note.slice(0, MAX_NOTE_LENGTH) }),
    ...(partial !== undefined && { partial: copyJson(partial, CHUNK_LIMITS) }),
  };
}

/** A chunk as another hub told it; undefined for what is none. */
export function parseChunk(told: JsonObject): CallChunk | undefined {
  const { fraction, note, partial } = told;
  if (typeof fraction !== 'number' || (note !== undefined && typeof note !== 'string')) return undefined;
  return boundedChunk(fraction, note === undefined ? undefined : visibleText(note, MAX_NOTE_LENGTH), partial);
}
