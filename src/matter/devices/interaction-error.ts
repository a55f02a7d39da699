import { Status, StatusResponseError } from '@matter/main/types';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';

/** What is known about an interaction that failed. */
export interface InteractionFailure {
  /** Such as `OnOff.Toggle on kitchen-light/1`. */
  readonly what: string;
  /** Whether a request may be on its way to the device. */
  readonly isSent: boolean;
  /** Reads change nothing: losing one is only a device that did not answer. */
  readonly isRead: boolean;
  readonly isCancelled: boolean;
  /** How long the device was waited for. */
  readonly waitedMs: number;
}

/** The error that a caller sees for whatever matter.js threw. */
export function interactionError(thrown: unknown, failure: InteractionFailure): AtmoError {
  if (thrown instanceof AtmoError) return thrown;
  if (failure.isCancelled) return cancelled(failure);
  if (thrown instanceof StatusResponseError) {
    return statusError(
      { status: thrown.code, ...(thrown.clusterCode !== undefined && { clusterStatus: thrown.clusterCode }) },
      failure.what,
    );
  }
  if (failure.isSent && !failure.isRead) {
    return new AtmoError(
      'OUTCOME_UNKNOWN',
      `${failure.what} was sent but not acknowledged within ${seconds(failure)}; read the state before trying again`,
      {},
      { cause: thrown },
    );
  }
  return new AtmoError(
    'DEVICE_UNREACHABLE',
    `${failure.what}: the device did not answer within ${seconds(failure)}; check its power and network`,
    {},
    { cause: thrown },
  );
}

function seconds({ waitedMs }: InteractionFailure): string {
  return `${(waitedMs / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
}

/** The device's own refusal (Core §8.10). */
export function statusError(answer: { readonly status: number; readonly clusterStatus?: number }, what: string): AtmoError {
  const name = Status[answer.status] ?? `0x${answer.status.toString(16)}`;
  const details: JsonObject = { ...answer, name };
  const clusterPart = answer.clusterStatus === undefined ? '' : ` (cluster status ${answer.clusterStatus})`;
  return new AtmoError('CLUSTER_STATUS', `${what}: the device answered ${name}${clusterPart}${hint(answer.status, what)}`, details);
}

function cancelled(failure: InteractionFailure): AtmoError {
  const sent = failure.isSent && !failure.isRead ? '; it was already sent and may have taken effect' : '; nothing was sent';
  return new AtmoError('CANCELLED', `${failure.what} was cancelled${sent}`, { isSent: failure.isSent });
}

/** What a lock does that wants its PIN for remote operation, and did not get the right one (Application Clusters §5.2.10). */
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
