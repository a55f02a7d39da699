import { AtmoError, ERROR_CODES, type ErrorCode, toAtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { pause } from '../../../core/time/pause.ts';
import { isActing, type ToolDefinition } from '../../definition/tool-definition.ts';
import type { CallDeadline } from '../bounds/call-deadline.ts';
import { retryDelayMs } from '../bounds/invocation-policy.ts';

/** How long a handler may take after the abort to say more precisely what happened. */
export const GRACE_MS = 250;

/** Errors after which nothing of the call can still take effect. */
const NOTHING_DELIVERED: ReadonlySet<ErrorCode> = new Set([
  'DEVICE_UNREACHABLE',
  'NODE_UNAVAILABLE',
  'HUB_UNREACHABLE',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
  'RESOURCE_EXCEEDED',
]);

interface Attempts<T> {
  readonly definition: ToolDefinition;
  /** Extra tries. */
  readonly retries: number;
  readonly deadline: CallDeadline;
  readonly clock: Clock;
  readonly run: () => Promise<T>;
}

/**
 * Runs within the deadline and repeats by the policy: only where the tool allows it, the error says "later" and is not permanent, and nothing
 * was delivered or a repeat is harmless. Throws what `run` threw last; after an abort what ended the call, or what became of it.
 */
export async function runAttempts<T>(attempts: Attempts<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await runOnce(attempts);
    } catch (error) {
      const isOver = repeats >= attempts.retries || !isRepeatable(error, attempts.definition);
      const delayMs = retryDelayMs(repeats + 1);
      if (isOver || delayMs >= attempts.deadline.remainingMs) throw error;
      const { clock, deadline } = attempts;
      const untilMs = clock.monotonic() + delayMs;
      await pause(clock, delayMs, deadline.signal);
      await deadline.confirm(untilMs);
    }
  }
}

function isRepeatable(error: unknown, definition: ToolDefinition): boolean {
  const { code, details } = toAtmoError(error);
  if (details.permanent === true) return false;
  return ERROR_CODES[code].retry === 'later' && (NOTHING_DELIVERED.has(code) || definition.execution.isIdempotent);
}

function runOnce<T>({ definition, deadline, clock, run }: Attempts<T>): Promise<T> {
  const { signal } = deadline;
  if (signal.aborted) return Promise.reject(deadline.error());
  return new Promise<T>((resolve, reject) => {
    let stopGrace = () => {};
    const onAbort = () => {
      stopGrace = clock.after(GRACE_MS, () => reject(endedEarly(definition, deadline)));
    };
    const settle = () => {
      signal.removeEventListener('abort', onAbort);
      stopGrace();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    run().then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(signal.aborted ? afterAbort(error, definition, deadline) : error);
      },
    );
  });
}

/** A handler's own report after the abort wins where it is more precise than ours. */
function afterAbort(error: unknown, definition: ToolDefinition, deadline: CallDeadline): AtmoError {
  if (!(error instanceof AtmoError)) return endedEarly(definition, deadline);
  return error.code === 'CANCELLED' || error.code === 'TIMEOUT' ? deadline.error() : error;
}

/** Nobody can say what became of an abandoned call that acts: honest is only that it is unknown. */
function endedEarly(definition: ToolDefinition, deadline: CallDeadline): AtmoError {
  if (!isActing(definition)) return deadline.error();
  return new AtmoError(
    'OUTCOME_UNKNOWN',
    `${definition.namespace}:${definition.name} ${endReason(deadline)} while it was running; read the state before calling it again`,
  );
}

function endReason({ cause, timeoutMs }: CallDeadline): string {
  if (cause === 'caller') return 'was cancelled';
  if (cause === 'stopping') return 'was ended, the hub is stopping,';
  return cause === 'revoked' ? 'was ended, its caller may no longer make it,' : `ran into its deadline of ${timeoutMs} ms`;
}
