import { AtmoError } from '../../../core/errors.ts';
import { callEndpoint } from '../../http/endpoint-call.ts';
import type { Notification } from '../notification.ts';
import type { Urgency } from '../urgency.ts';

const TYPES: Readonly<Record<Urgency, string>> = { low: 'info', medium: 'info', high: 'warning', critical: 'failure' };
const SERVICE = 'Apprise';
const NO_CONTENT = 204;

interface ApprisePlace {
  readonly url: URL;
  readonly tag: string | undefined;
}

/** Hands a message to the services of a stored configuration of the Apprise API (github.com/caronc/apprise-api). */
export function appriseWay({ url, tag }: ApprisePlace) {
  return async ({ id, title, message, urgency }: Notification, signal: AbortSignal): Promise<string> => {
    const { status } = await callEndpoint({
      service: SERVICE,
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({
        body: message,
        type: TYPES[urgency],
        ...(title !== undefined && { title }),
        ...(tag !== undefined && { tag }),
      }),
      isActing: true,
      signal,
    });
    // 204 is "there is nobody to tell": the configuration is empty, or nothing has the tag.
    if (status === NO_CONTENT)
      throw new AtmoError('SERVICE_REFUSED', `${SERVICE} knows no service to tell; look at its configuration and the tag`, { status });
    return id;
  };
}
