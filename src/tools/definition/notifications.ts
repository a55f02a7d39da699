import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { SEVERITIES, type Severity } from '../../core/logger.ts';
import { visibleText } from '../../core/untrusted-text.ts';
import { copyJson } from '../schema/plain-json.ts';

/** A log message of a running call. */
export interface ToolMessage {
  readonly level: Severity;
  readonly data: Json;
}

/** Limits on the JSON of one message or one partial result. */
const MESSAGE_LIMITS = { maxSize: 16_384, maxDepth: 32 };

/** Returns a log message. Throws VALIDATION_ERROR if the level is unknown or `data` is not JSON, and PAYLOAD_TOO_LARGE above 16 KB. */
export function boundedMessage(level: Severity, data: Json): ToolMessage {
  if (SEVERITIES.includes(level)) return { level, data: copyJson(data, MESSAGE_LIMITS) };
  throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(String(level).slice(0, 32))} is none of the levels ${SEVERITIES.join(', ')}`);
}

/** A progress report of a running call. */
export interface CallChunk {
  /** The finished part of the work, from 0 to 1. */
  readonly fraction: number;
  readonly note?: string;
  /** A part of the tool's result. The final result contains this part again. */
  readonly partial?: Json;
}

/** Longest progress note in characters. */
const MAX_NOTE_LENGTH = 512;

/** Returns a progress report. Throws VALIDATION_ERROR if the partial result is not JSON, and PAYLOAD_TOO_LARGE if it is too long. */
export function boundedChunk(fraction: number, note: string | undefined, partial: Json | undefined): CallChunk {
  return {
    fraction: Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0)),
    ...(note !== undefined && { note: note.slice(0, MAX_NOTE_LENGTH) }),
    ...(partial !== undefined && { partial: copyJson(partial, MESSAGE_LIMITS) }),
  };
}

/** Parses a progress report from another hub. Returns undefined if it is malformed. */
export function parseChunk({ fraction, note, partial }: JsonObject): CallChunk | undefined {
  if (typeof fraction !== 'number' || (note !== undefined && typeof note !== 'string')) return undefined;
  return boundedChunk(fraction, note === undefined ? undefined : visibleText(note, MAX_NOTE_LENGTH), partial);
}
