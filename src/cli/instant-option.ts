import { isoTime } from '../core/time/iso-time.ts';
import type { Invocation } from './command.ts';
import { durationSeconds } from './duration.ts';

/** The time of an option in ISO 8601: written so, or as a duration before now. */
export function instantOf(call: Invocation, option: 'since' | 'until'): string | undefined {
  const text = call.text(option);
  if (text === undefined || /^\d{4}-\d\d/.test(text)) return text;
  return isoTime(Date.now() - durationSeconds(text, `--${option}`) * 1000);
}
