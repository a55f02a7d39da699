import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';

/** The answer of a neighbour, undefined when it refuses, goes away or takes too long: another one will know. */
export async function requestWithin<Answer>(
  clock: Clock,
  timeoutMs: number,
  ask: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer | undefined> {
  const abort = new AbortController();
  const cancel = clock.after(timeoutMs, () => abort.abort(new AtmoError('CANCELLED', 'The neighbour took too long to answer')));
  try {
    return await ask(abort.signal);
  } catch (error) {
    if (error instanceof AtmoError) return undefined;
    throw error;
  } finally {
    cancel();
  }
}
