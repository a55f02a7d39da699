import './matter-platform.ts';
import { type Diagnostic, LogFormat, Logger as MatterLogger, LogLevel as MatterLogLevel } from '@matter/main';
import { type Logger, redact } from '../core/logger.ts';

/** Least severe lines of matter.js that reach the hub's log. */
export type MatterLogThreshold = 'warn' | 'error';

/**
 * Sends what matter.js logs to the hub's logger as `matter` events with fields `facility` and `text`, redacted. Less
 * severe lines are dropped whatever the hub's own level is: from INFO on matter.js prints the identity protection key
 * and the whole Thread dataset.
 */
export function routeMatterLog(logger: Logger, threshold: MatterLogThreshold = 'warn'): void {
  MatterLogger.level = threshold === 'warn' ? MatterLogLevel.WARN : MatterLogLevel.ERROR;
  const destination = MatterLogger.destinations.default;
  if (destination === undefined) return;
  destination.add = (message) => {
    if (message.level < MatterLogLevel.WARN) return;
    const fields = { facility: message.facility, text: renderText(message) };
    if (message.level >= MatterLogLevel.ERROR) logger.error('matter', fields);
    else logger.warn('matter', fields);
  };
}

/** A message's values as one line of plain text without secrets, at most 500 characters. */
function renderText(message: Diagnostic.Message): string {
  const text = LogFormat.format(message.values, LogFormat.PLAIN);
  const line = String(redact(text)).replace(/\s+/g, ' ');
  return line.length > 500 ? `${line.slice(0, 499)}…` : line;
}
