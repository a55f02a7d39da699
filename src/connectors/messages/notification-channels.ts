import { createHmac } from 'node:crypto';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, present } from '../../core/json.ts';
import type { Urgency } from '../../core/notices.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { optionalSecret } from '../connector.ts';
import { jsonOf, postJson } from '../http-client/endpoint-call.ts';
import type { MqttConnection } from '../mqtt/broker-connection.ts';
import { type ChannelConfig, configuredUrl } from './messages-config.ts';
import type { SlackPoster } from './slack.ts';
import type { SmsSender } from './sms.ts';
import { plainMail, type SmtpMailer } from './smtp-mailer.ts';

/** A message for one recipient. */
export interface Notification {
  /** Id that is the same for all attempts of one call, so that a receiver can drop duplicates. */
  readonly id: string;
  /** Name of the recipient in the configuration. */
  readonly recipient: string;
  readonly title?: string;
  readonly message: string;
  readonly urgency: Urgency;
  /** Address that shows what the message is about. */
  readonly link?: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

type ChannelKind = keyof ChannelConfig;

/** A channel over which a recipient gets messages. */
export interface NotificationChannel {
  readonly name: string;
  readonly kind: ChannelKind;
  /**
   * Resolves with the provider's message id when the provider has confirmed the message. Rejects with SERVICE_UNAVAILABLE or RATE_LIMITED
   * (not delivered), SERVICE_REFUSED (refused by the provider), OUTCOME_UNKNOWN (maybe delivered), or the signal's reason.
   */
  send(notification: Notification, signal: AbortSignal): Promise<string>;
}

/** Returns the whole notification as JSON, for channels that require no format of their own. */
function notificationJson({ id, recipient, title, message, urgency, link, atMs }: Notification): string {
  return JSON.stringify({ id, recipient, title, message, urgency, link, timestamp: isoTime(atMs) });
}

/** Returns title, message and link as one text, for channels without titles. */
function oneText({ title, message, link }: Notification): string {
  return [title, message, link].filter((line) => line !== undefined).join('\n');
}

/** Returns a notification as text for an SMS. The link stays whole; title and message are cut if they are too long. */
function smsText({ link, ...said }: Notification): string {
  const room = link === undefined ? SMS_LENGTH : Math.max(0, SMS_LENGTH - link.length - 1);
  const text = oneText(said).slice(0, room);
  return link === undefined ? text : `${text}\n${link}`;
}

/** Returns message and link as one text. */
function withLink({ message, link }: Notification): string {
  return link === undefined ? message : `${message}\n\n${link}`;
}

/** The configured services that channels may use. */
export interface MessageServices {
  readonly env: NodeJS.ProcessEnv;
  readonly mailer: Pick<SmtpMailer, 'send'> | undefined;
  readonly slack: Pick<SlackPoster, 'post'> | undefined;
  readonly sms: Pick<SmsSender, 'send'> | undefined;
  readonly mqtt: Pick<MqttConnection, 'deliver'> | undefined;
}

type Send = NotificationChannel['send'];
type Settings<Kind extends ChannelKind> = NonNullable<ChannelConfig[Kind]>;

const SUBJECT_LENGTH = 78;
/** Longest notification by SMS, in characters. It fits into three SMS parts; the provider charges for each part. */
const SMS_LENGTH = 459;

/** Returns a channel from its settings. Throws CONFIG_INVALID if a secret cannot be read, or the channel's service is not configured. */
export function openChannel(name: string, config: ChannelConfig, services: MessageServices): NotificationChannel {
  for (const kind of Object.keys(SENDERS) as ChannelKind[]) {
    const send = openSender(kind, config[kind], services);
    if (send) return { name, kind, send };
  }
  throw new AtmoError('CONFIG_INVALID', `The way ${name} says no kind; write one of ${Object.keys(SENDERS).join(', ')}`);
}

type Senders = { readonly [Kind in ChannelKind]: (settings: Settings<Kind>, services: MessageServices) => Send };

function openSender<Kind extends ChannelKind>(kind: Kind, settings: ChannelConfig[Kind], services: MessageServices): Send | undefined {
  const open: Senders[Kind] = SENDERS[kind];
  return settings && open(settings, services);
}

const SENDERS: Senders = {
  ntfy: ntfySender,
  webhook: webhookSender,
  apprise: appriseSender,
  email: ({ to }, services) => {
    const mailer = requireService(services, 'mailer', 'email');
    return async (notification, signal) => {
      const { id, title, message } = notification;
      const subject = visibleLine(title ?? message, SUBJECT_LENGTH);
      return (await mailer.send({ ...plainMail(to, subject, withLink(notification)), id }, signal)).messageId;
    };
  },
  sms: ({ phone }, services) => {
    const sms = requireService(services, 'sms');
    return (notification, signal) => sms.send({ phone, id: notification.id, message: smsText(notification) }, signal);
  },
  slack: ({ channel }, services) => {
    const slack = requireService(services, 'slack');
    return (notification, signal) => slack.post({ channel, text: oneText(notification) }, signal);
  },
  // If the topic has no subscriber, an MQTT 5.0 broker reports this, and `deliver` rejects.
  mqtt: ({ topic }, services) => {
    const mqtt = requireService(services, 'mqtt');
    return async (notification, signal) => {
      await mqtt.deliver(topic, notificationJson(notification), signal);
      return notification.id;
    };
  },
};

function requireService<Name extends Exclude<keyof MessageServices, 'env'>>(services: MessageServices, name: Name, setting: string = name) {
  const service = services[name];
  if (service !== undefined) return service;
  throw new AtmoError('CONFIG_INVALID', `A way of connectors.notify uses ${setting}, which is not configured; set connectors.${setting}`);
}

/** Priorities of ntfy: 3 is the default, 5 vibrates long and pops up (docs.ntfy.sh/publish, message priority). */
const PRIORITIES: Readonly<Record<Urgency, number>> = { low: 2, medium: 3, high: 4, critical: 5 };
const NTFY = 'The ntfy server';

/** Returns an address with another path. Resolving the path instead would take one that begins with `//` for the name of another host. */
function withPath(address: URL, path: string): URL {
  const url = new URL(address);
  url.pathname = path;
  url.search = '';
  url.hash = '';
  return url;
}

/** Returns a topic as it is without the escapes of a URL; an empty text if an escape in it is broken, such as `%zz`. */
function decodedTopic(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Returns a sender for an ntfy topic. Sends JSON, since headers allow few characters. Throws CONFIG_INVALID if the URL has no topic. */
function ntfySender(ntfy: Settings<'ntfy'>, { env }: MessageServices): Send {
  const address = configuredUrl(ntfy.url, 'The ntfy address');
  const token = optionalSecret(ntfy.token, env);
  const path = address.pathname.replace(/\/$/, '');
  const topic = decodedTopic(path.slice(path.lastIndexOf('/') + 1));
  if (topic === '') {
    const message = `The ntfy address ${address.origin} names no topic; write one such as ${address.origin}/anna-7f3a`;
    throw new AtmoError('CONFIG_INVALID', message);
  }
  const url = withPath(address, `${path.slice(0, path.lastIndexOf('/'))}/`);
  return async ({ id, message, title, urgency, link }, signal) => {
    // A server that knows `sequence_id` replaces the message with the same id instead of showing it again.
    const json = { topic, message, priority: PRIORITIES[urgency], title, click: link, sequence_id: id };
    const said = jsonOf({ service: NTFY }, await postJson({ service: NTFY, url, token, json: JSON.stringify(json), signal }));
    if (isJsonObject(said) && said.event === 'message' && typeof said.id === 'string' && said.id !== '') return said.id;
    throw new AtmoError('SERVICE_REFUSED', `${NTFY} did not say that it took the message; is ${url.origin} an ntfy server?`);
  };
}

const STANDARD_SECRET = /^whsec_/;

/**
 * Returns a sender that posts JSON to a URL. A status 2xx confirms the message. The headers are those of Standard Webhooks
 * (standardwebhooks.com): a signature, and an id by which a receiver can drop duplicates.
 */
function webhookSender(webhook: Settings<'webhook'>, { env }: MessageServices): Send {
  const url = configuredUrl(webhook.url, 'The address of a webhook');
  const token = optionalSecret(webhook.token, env);
  const secret = optionalSecret(webhook.signingSecret, env);
  return async (notification, signal) => {
    const { id, atMs } = notification;
    const json = notificationJson(notification);
    const timestamp = String(Math.floor(atMs / 1000));
    const signature = secret === undefined ? undefined : `v1,${signed(secret, `${id}.${timestamp}.${json}`)}`;
    const headers = present({ 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature });
    await postJson({ service: `The webhook at ${url.host}`, url, headers, token, json, signal });
    return id;
  };
}

function signed(secret: string, content: string): string {
  const key = STANDARD_SECRET.test(secret) ? Buffer.from(secret.replace(STANDARD_SECRET, ''), 'base64') : secret;
  return createHmac('sha256', key).update(content).digest('base64');
}

const TYPES: Readonly<Record<Urgency, string>> = { low: 'info', medium: 'info', high: 'warning', critical: 'failure' };
const APPRISE = 'Apprise';
const NO_CONTENT = 204;

/** Returns a sender for an Apprise API server (github.com/caronc/apprise-api), which forwards messages to its configured services. */
function appriseSender({ url: address, tag }: Settings<'apprise'>): Send {
  const url = configuredUrl(address, 'The address of Apprise');
  return async (notification, signal) => {
    const { id, title, urgency } = notification;
    const json = JSON.stringify({ body: withLink(notification), type: TYPES[urgency], title, tag });
    const { status } = await postJson({ service: APPRISE, url, headers: { accept: 'application/json' }, json, signal });
    // Apprise returns 204 if there is no receiver: its configuration is empty, or no service has the tag.
    if (status !== NO_CONTENT) return id;
    throw new AtmoError('SERVICE_REFUSED', `${APPRISE} knows no service to tell; look at its configuration and the tag`, { status });
  };
}
