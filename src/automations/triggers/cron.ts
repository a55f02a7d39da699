import { Cron } from 'croner';
import { invalidInput } from '../../core/errors.ts';

/** Five fields. Without this, the library would also accept a sixth field for seconds, dates and nicknames. */
const FIVE_FIELDS = /^[0-9A-Za-z*,/#?-]+(?: [0-9A-Za-z*,/#?-]+){4}$/;

/** Throws VALIDATION_ERROR unless the text is a cron expression with five fields that some moment fits. */
export function requireCron(cron: string): void {
  if (nextCronTime({ cron, timeZone: 'UTC' }, 0) !== undefined) return;
  throw invalidInput(`No moment ever fits the cron expression ${JSON.stringify(cron)}`);
}

/**
 * Returns the first moment after `afterMs` (milliseconds since 1970) that fits a cron expression; undefined if none does. Throws
 * VALIDATION_ERROR if the expression is malformed. A time that the clock skips in spring counts at the first moment after it. A fixed time
 * that occurs twice in autumn counts once.
 */
export function nextCronTime(
  { cron, timeZone }: { readonly cron: string; readonly timeZone: string },
  afterMs: number,
): number | undefined {
  return parsed(cron, timeZone).nextRun(new Date(afterMs))?.getTime();
}

function parsed(cron: string, timeZone: string): Cron {
  try {
    if (FIVE_FIELDS.test(cron)) return new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true });
  } catch {
    // The library's message is about its own options; what follows says what to write.
  }
  throw invalidInput(
    `${JSON.stringify(cron.slice(0, 60))} is no cron expression: write minute, hour, day of the month, month and day of the week, such as "*/15 7-9 * * mon-fri"`,
  );
}
