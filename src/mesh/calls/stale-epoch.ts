import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';

/** What a hub answers to a request for a former start of it. */
export function staleEpochError(hub: HubId, epoch: number): AtmoError {
  return new AtmoError('NODE_UNAVAILABLE', `${hub} has started anew since its last announcement was heard; send the request again`, {
    epoch,
  });
}

/** The epoch that such an answer tells; undefined for every other error. */
export function staleEpoch(error: unknown): number | undefined {
  if (!(error instanceof AtmoError) || error.code !== 'NODE_UNAVAILABLE') return undefined;
  const { epoch } = error.details;
  return typeof epoch === 'number' && Number.isSafeInteger(epoch) && epoch >= 0 ? epoch : undefined;
}
