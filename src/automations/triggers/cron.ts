import { Cron } from 'croner';
import { invalidInput } from '../../core/errors.ts';
import { oncePerText } from '../../core/lifecycle.ts';
import { momentOf, offsetAt } from '../../core/local-time.ts';

/** Five fields. Without this, the library would also accept a sixth field for seconds, dates and nicknames. */
const FIVE_FIELDS = /^[0-9A-Za-z*,/#?-]+(?: [0-9A-Za-z*,/#?-]+){4}$/;

/** Throws VALIDATION_ERROR unless the text is a cron expression with five fields that some moment fits. */
export function requireCron(cron: string): void {
  if (nextCronTime({ cron, timeZone: 'UTC' }, 0) !== undefined) return;
  throw invalidInput(`No moment ever fits the cron expression ${JSON.stringify(cron)}`);
}

/** More than any change of summer time, in milliseconds. */
const LONGEST_SHIFT_MS = 7_200_000;

interface ZonedCron {
  readonly cron: string;
  /** IANA time zone. */
  readonly timeZone: string;
}

/**
 * Returns the first moment after `afterMs` (milliseconds since 1970) that fits a cron expression; undefined if none does. Throws
 * VALIDATION_ERROR if the expression is malformed. With hours that are written out, a time that the clock skips in spring is as much later, and
 * one that occurs twice in autumn counts once, as in `nextLocalTime`. With `*` hours, each hour that passes counts: none of the skipped one, and
 * both of the double one.
 */
export function nextCronTime({ cron, timeZone }: ZonedCron, afterMs: number): number | undefined {
  const isEveryHour = cron.split(' ')[1]?.startsWith('*') ?? false;
  if (isEveryHour) return parsed(cron, timeZone).nextRun(new Date(afterMs))?.getTime();
  return nextOfFixedHours({ cron, timeZone }, afterMs);
}

function nextOfFixedHours({ cron, timeZone }: ZonedCron, afterMs: number): number | undefined {
  const inUtc = parsed(cron, 'UTC');
  const offsetMs = offsetAt(afterMs - LONGEST_SHIFT_MS, timeZone);
  const wall = inUtc.nextRun(new Date(afterMs + offsetMs));
  if (!wall) return undefined;
  const isUnchanged = offsetAt(wall.getTime() - offsetMs + LONGEST_SHIFT_MS, timeZone) === offsetMs;
  return isUnchanged ? wall.getTime() - offsetMs : nextNearChange(inUtc, timeZone, afterMs);
}

/** Near a change of the clock, local times that follow each other may be moments in another order: all of these hours are searched. */
function nextNearChange(inUtc: Cron, timeZone: string, afterMs: number): number | undefined {
  let firstMs: number | undefined;
  let wall = inUtc.nextRun(new Date(afterMs + offsetAt(afterMs, timeZone) - LONGEST_SHIFT_MS));
  while (wall) {
    const atMs = momentOf(wall.getTime(), timeZone);
    if (firstMs !== undefined && atMs > firstMs + LONGEST_SHIFT_MS) return firstMs;
    if (atMs > afterMs) firstMs = Math.min(firstMs ?? atMs, atMs);
    wall = inUtc.nextRun(wall);
  }
  return firstMs;
}

function parsed(cron: string, timeZone: string): Cron {
  return known(`${timeZone} ${cron}`);
}

/** An automation asks for its next moment after each one. To parse an expression takes longer than to find the moment. */
const known = oncePerText((text) => parse(text.slice(text.indexOf(' ') + 1), text.slice(0, text.indexOf(' '))), {
  maxKept: 256,
  maxLength: 256,
});

function parse(cron: string, timeZone: string): Cron {
  try {
    if (FIVE_FIELDS.test(cron)) return new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true });
  } catch {
    // The library's message is about its own options; what follows says what to write.
  }
  throw invalidInput(
    `${JSON.stringify(cron.slice(0, 60))} is no cron expression: write minute, hour, day of the month, month and day of the week, such as "*/15 7-9 * * mon-fri"`,
  );
}
