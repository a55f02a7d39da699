import { createHmac } from 'node:crypto';
import { callEndpoint } from '../../http/endpoint-call.ts';
import { type Notification, notificationJson } from '../notification.ts';

interface WebhookPlace {
  readonly url: URL;
  readonly token: string | undefined;
  readonly signingSecret: string | undefined;
}

const STANDARD_SECRET = /^whsec_/;

/**
 * Posts JSON to any address; any status of 2xx says that it was taken. The id and the signature are headers of Standard Webhooks
 * (standardwebhooks.com): an id that comes twice is the same message.
 */
export function webhookWay({ url, token, signingSecret }: WebhookPlace) {
  return async (notification: Notification, signal: AbortSignal): Promise<string> => {
    const { id, atMs } = notification;
    const body = notificationJson(notification);
    const timestamp = String(Math.floor(atMs / 1000));
    await callEndpoint({
      service: `The webhook at ${url.host}`,
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        ...(signingSecret !== undefined && { 'webhook-signature': `v1,${signature(signingSecret, `${id}.${timestamp}.${body}`)}` }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body,
      isActing: true,
      signal,
    });
    return id;
  };
}

function signature(secret: string, content: string): string {
  const key = STANDARD_SECRET.test(secret) ? Buffer.from(secret.replace(STANDARD_SECRET, ''), 'base64') : secret;
  return createHmac('sha256', key).update(content).digest('base64');
}
