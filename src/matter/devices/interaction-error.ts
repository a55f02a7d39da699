import { Status, StatusResponseError } from '@matter/main/types';
import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';

/** An interaction that failed. */
export interface InteractionFailure {
  /** Such as `OnOff.Toggle on kitchen-light/1`. */
  readonly what: string;
  /** True if a request may have been sent to the device. */
  readonly isSent: boolean;
  /** Reads change nothing: a lost one means only that the device did not answer. */
  readonly isRead: boolean;
  readonly isCancelled: boolean;
  /** Time since the request. */
  readonly waitedMs: number;
}

/** The error for callers of an error that matter.js threw. */
export function interactionError(thrown: unknown, failure: InteractionFailure): AtmoError {
  if (thrown instanceof AtmoError) return thrown;
  if (failure.isCancelled) return cancelled(failure);
  if (thrown instanceof StatusResponseError) {
    return statusError({ status: thrown.code, clusterStatus: thrown.clusterCode }, failure.what);
  }
  const seconds = `${(failure.waitedMs / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  if (failure.isSent && !failure.isRead) {
    const message = `${failure.what} was sent but not acknowledged within ${seconds}; read the state before trying again`;
    return new AtmoError('OUTCOME_UNKNOWN', message, {}, { cause: thrown });
  }
  const message = `${failure.what}: the device did not answer within ${seconds}; check its power and network`;
  return new AtmoError('DEVICE_UNREACHABLE', message, {}, { cause: thrown });
}

interface StatusAnswer {
  readonly status: number;
  readonly clusterStatus?: number | undefined;
}

/** The error of a status that the device returned (Core §8.10). */
export function statusError({ status, clusterStatus }: StatusAnswer, what: string): AtmoError {
  const name = Status[status] ?? `0x${status.toString(16)}`;
  const clusterPart = clusterStatus === undefined ? '' : ` (cluster status ${clusterStatus})`;
  const message = `${what}: the device answered ${name}${clusterPart}${hint(status, what)}`;
  return new AtmoError('CLUSTER_STATUS', message, present({ status, clusterStatus, name }));
}

function cancelled(failure: InteractionFailure): AtmoError {
  const sent = failure.isSent && !failure.isRead ? '; it was already sent and may have taken effect' : '; nothing was sent';
  return new AtmoError('CANCELLED', `${failure.what} was cancelled${sent}`, { isSent: failure.isSent });
}

/** Commands for which a lock may require its PIN (Application Clusters §5.2.10). */
const WANTS_PIN = /^DoorLock\.(Lock|Unlock|Unbolt)/;

function hint(status: number, what: string): string {
  switch (status) {
    case Status.Failure:
      return WANTS_PIN.test(what) ? '; a lock that wants its PIN answers so without the right one: give it as pin' : '';
    case Status.ConstraintError:
      return ': a value is outside what the device allows';
    case Status.UnsupportedAccess:
      return ': this hub has no right to do that on the device';
    case Status.InvalidInState:
      return ': not possible in the state the device is in now';
    default:
      return '';
  }
}
