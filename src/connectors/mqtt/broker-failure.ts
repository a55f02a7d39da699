import { AtmoError } from '../../core/errors.ts';
import { certificateFailure } from '../http/certificate-failure.ts';

/** Nobody listens to the topic (MQTT 5.0 §3.4.2.1). */
export const NO_MATCHING_SUBSCRIBERS = 0x10;

/** What went wrong with the connection, as `connect` and its stream tell it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const { code }: { code?: unknown } = error as object;
  return typeof code === 'string' && code !== '' ? code : error.message.slice(0, 200);
}

/** SERVICE_UNAVAILABLE: there was no connection to send anything over. */
export function notConnected(reason: string): AtmoError {
  const certificate = certificateFailure('The MQTT broker', reason);
  if (certificate) return certificate;
  return new AtmoError('SERVICE_UNAVAILABLE', `The MQTT broker cannot be reached (${reason}); nothing was sent`, { reason });
}

/** OUTCOME_UNKNOWN: the message went out, and no answer came. */
export function notAnswered(topic: string): AtmoError {
  return new AtmoError('OUTCOME_UNKNOWN', `The MQTT broker did not say whether it took the message to ${topic}`);
}

/** SERVICE_REFUSED: the broker took it for nobody. */
export function nobodyListens(topic: string): AtmoError {
  return new AtmoError('SERVICE_REFUSED', `Nobody listens to ${topic} at the MQTT broker`, { topic });
}

/** SERVICE_REFUSED: the broker said no, with a code of MQTT 5.0 §2.4. */
export function refused(topic: string, error: Error): AtmoError {
  return new AtmoError('SERVICE_REFUSED', `The MQTT broker refused the message to ${topic}: ${error.message.slice(0, 200)}`, { topic });
}
