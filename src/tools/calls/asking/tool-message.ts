import { AtmoError } from '../../../core/errors.ts';
import type { Json } from '../../../core/json.ts';
import { copyJson } from '../../schema/plain-json.ts';

/** Severities of RFC 5424 §6.2.1, the mildest first. */
const MESSAGE_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type MessageLevel = (typeof MESSAGE_LEVELS)[number];

/** What a running call tells whoever listens, beside how far it is. */
export interface ToolMessage {
  readonly level: MessageLevel;
  readonly data: Json;
}

const LIMITS = { maxSize: 16_384, maxDepth: 32 };

/** A message within its bounds. VALIDATION_ERROR for an unknown level and for what is no JSON, PAYLOAD_TOO_LARGE beyond 16 KB. */
export function toolMessage(level: MessageLevel, data: Json): ToolMessage {
  if (MESSAGE_LEVELS.includes(level)) return { level, data: copyJson(data, LIMITS) };
  throw new AtmoError(
    'VALIDATION_ERROR',
    `${JSON.stringify(String(level).slice(0, 32))} is none of the levels ${MESSAGE_LEVELS.join(', ')}`,
  );
}
