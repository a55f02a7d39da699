import { AtmoError, ERROR_CODES, toAtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { Notification, NotificationWay } from './notification.ts';
import type { Urgency } from './urgency.ts';

/** What a provider said that it took. */
interface Delivery {
  readonly deliveryId: string;
  /** The owner's name for the way. */
  readonly channel: string;
}

interface Limits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

interface Failure {
  readonly channel: string;
  readonly error: AtmoError;
}

/** One way never uses up the time of all others. */
const LONGEST_TRY_MS = 10_000;
/** Told twice is better than not at all. */
const RATHER_TWICE: ReadonlySet<Urgency> = new Set(['high', 'critical']);

/**
 * Tries the ways one after the other until a provider took the message. A way of which the outcome is not known ends it, unless the
 * message is urgent. Errors: SERVICE_UNAVAILABLE (nobody took it; later somebody may), SERVICE_REFUSED (nobody ever will),
 * OUTCOME_UNKNOWN, or what the signal aborts with; `details.ways` has what each way said.
 */
export async function deliver(notification: Notification, ways: readonly NotificationWay[], limits: Limits): Promise<Delivery> {
  const failures: Failure[] = [];
  for (const [index, way] of ways.entries()) {
    try {
      const deliveryId = await tryWay(way, notification, { ...limits, waysLeft: ways.length - index });
      return { deliveryId, channel: way.name };
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (error.code === 'INTERNAL_ERROR') throw thrown;
      failures.push({ channel: way.name, error });
      if (limits.signal.aborted) break;
      if (error.code === 'OUTCOME_UNKNOWN' && !RATHER_TWICE.has(notification.urgency)) break;
    }
  }
  throw undelivered(notification, failures, limits.signal);
}

async function tryWay(way: NotificationWay, notification: Notification, limits: Limits & { readonly waysLeft: number }): Promise<string> {
  const { clock, signal, deadlineMs, waysLeft } = limits;
  signal.throwIfAborted();
  const shareMs = Math.min(LONGEST_TRY_MS, (deadlineMs - clock.now()) / waysLeft);
  const own = new AbortController();
  const stop = clock.after(shareMs, () => own.abort(new AtmoError('SERVICE_UNAVAILABLE', `No answer within ${Math.round(shareMs)} ms`)));
  try {
    return await way.send(notification, AbortSignal.any([signal, own.signal]));
  } finally {
    stop();
  }
}

function undelivered({ recipient }: Notification, failures: readonly Failure[], signal: AbortSignal): unknown {
  const [only] = failures;
  const codes = failures.map(({ error }) => error.code);
  const details = { ways: failures.map(({ channel, error }) => ({ channel, code: error.code, message: error.message })) };
  const said = failures.map(({ channel, error }) => `${channel}: ${error.message}`).join('; ');
  if (codes.includes('OUTCOME_UNKNOWN')) {
    return new AtmoError('OUTCOME_UNKNOWN', `Whether ${recipient} was told is not known. ${said}`, details);
  }
  if (signal.aborted || !only) return signal.reason;
  const mayWorkLater = codes.some((code) => ERROR_CODES[code].retry === 'later');
  return new AtmoError(mayWorkLater ? 'SERVICE_UNAVAILABLE' : 'SERVICE_REFUSED', `${recipient} was not told. ${said}`, details);
}
