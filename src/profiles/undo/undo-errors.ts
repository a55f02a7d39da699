import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';

/** Returns the error that something cannot be put back. `why` has no full stop. */
export function irreversible(why: string): AtmoError {
  return new AtmoError('NOT_SUPPORTED', `${why}; nothing was undone`, { reason: 'irreversible' });
}

/** Returns the error that what an undo would put back is no longer as the undone calls left it. `why` has no full stop. */
export function changedSince(why: string, details: JsonObject = {}): AtmoError {
  return new AtmoError('CONFLICT', `${why}; nothing was undone`, { ...details, reason: 'changed_since' });
}
