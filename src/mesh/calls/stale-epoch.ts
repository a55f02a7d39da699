import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { CallRoutes } from './call-ports.ts';

/** What a hub answers to a request for a former start of it. */
export function staleEpochError(hub: HubId, epoch: number): AtmoError {
  return new AtmoError('NODE_UNAVAILABLE', `${hub} has started anew since its last announcement was heard; send the request again`, {
    epoch,
  });
}

/** What the newest announced start of the hub answers; where it has started anew since then, what the start answers of which it tells. */
export async function atNewestEpoch<Answer>(
  routes: Pick<CallRoutes, 'epochOf'>,
  target: HubId,
  ask: (epoch: number) => Promise<Answer>,
): Promise<Answer> {
  const epoch = routes.epochOf(target) ?? 0;
  try {
    return await ask(epoch);
  } catch (error) {
    // Its announcement is not here yet, and nothing of the request was looked at.
    const told = staleEpoch(error);
    if (told === undefined || told === epoch) throw error;
    return ask(told);
  }
}

/** The epoch that such an answer tells; undefined for every other error. */
export function staleEpoch(error: unknown): number | undefined {
  if (!(error instanceof AtmoError) || error.code !== 'NODE_UNAVAILABLE') return undefined;
  const { epoch } = error.details;
  return typeof epoch === 'number' && Number.isSafeInteger(epoch) && epoch >= 0 ? epoch : undefined;
}
