import { AtmoError } from '../../../core/errors.ts';
import { isJsonObject } from '../../../core/json.ts';
import { callEndpoint, jsonOf } from '../../http/endpoint-call.ts';
import type { Notification } from '../notification.ts';
import type { Urgency } from '../urgency.ts';

/** Priorities of ntfy: 3 is the default, 5 rings through (docs.ntfy.sh/publish, message priority). */
const PRIORITIES: Readonly<Record<Urgency, number>> = { low: 2, medium: 3, high: 4, critical: 5 };
const SERVICE = 'The ntfy server';

interface NtfyPlace {
  /** Server and topic, as in `https://ntfy.sh/anna-7f3a`. */
  readonly url: URL;
  readonly token: string | undefined;
}

/** Publishes to a topic of ntfy as JSON, whose texts need no encoding as headers do (docs.ntfy.sh/publish). CONFIG_INVALID without topic. */
export function ntfyWay({ url, token }: NtfyPlace) {
  const path = url.pathname.replace(/\/$/, '');
  const topic = decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
  if (topic === '')
    throw new AtmoError('CONFIG_INVALID', `The ntfy address ${url.origin} names no topic; write one such as ${url.origin}/anna-7f3a`);
  const root = new URL(`${path.slice(0, path.lastIndexOf('/'))}/`, url);
  return async ({ message, title, urgency }: Notification, signal: AbortSignal): Promise<string> => {
    const answer = await callEndpoint({
      service: SERVICE,
      url: root,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ topic, message, priority: PRIORITIES[urgency], ...(title !== undefined && { title }) }),
      isActing: true,
      signal,
    });
    const said = jsonOf({ service: SERVICE }, answer);
    if (isJsonObject(said) && said.event === 'message' && typeof said.id === 'string' && said.id !== '') return said.id;
    throw new AtmoError('SERVICE_REFUSED', `${SERVICE} did not say that it took the message; is ${root.origin} an ntfy server?`);
  };
}
