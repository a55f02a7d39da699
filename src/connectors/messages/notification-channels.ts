import { createHmac } from 'node:crypto';
import { isoTime } from '../../core/clock.ts';
import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { callEndpoint, jsonOf } from '../http-client/endpoint-call.ts';
import type { MqttConnection } from '../mqtt/broker-connection.ts';
import { type ChannelConfig, configuredUrl, type Urgency } from './messages-config.ts';
import type { SlackPoster } from './slack.ts';
import type { SmsSender } from './sms.ts';
import { type Mailer, plainMail } from './smtp-mailer.ts';

/** Something to tell somebody. */
export interface Notification {
  /** The same for every attempt of one call, so that a receiver can drop what comes twice. */
  readonly id: string;
  /** Name of the recipient in the configuration. */
  readonly recipient: string;
  readonly title?: string;
  readonly message: string;
  readonly urgency: Urgency;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** The kinds of ways, as the configuration calls them. */
type ChannelKind = 'ntfy' | 'webhook' | 'apprise' | 'email' | 'sms' | 'slack' | 'mqtt';

/** One way to reach one recipient. */
export interface NotificationChannel {
  /** The owner's name for it. */
  readonly name: string;
  readonly kind: ChannelKind;
  /**
   * Resolves with the provider's id of the message when a provider said that it took it, and never otherwise. Errors:
   * SERVICE_UNAVAILABLE and RATE_LIMITED (nothing was delivered), SERVICE_REFUSED, OUTCOME_UNKNOWN, or what the signal aborts with.
   */
  send(notification: Notification, signal: AbortSignal): Promise<string>;
}

/** All of it as JSON, for ways that have no form of their own. */
function notificationJson({ id, recipient, title, message, urgency, atMs }: Notification): string {
  return JSON.stringify({ id, recipient, ...(title !== undefined && { title }), message, urgency, timestamp: isoTime(atMs) });
}

/** Title and text as one, for ways that have no title. */
function oneText({ title, message }: Notification): string {
  return title === undefined ? message : `${title}\n${message}`;
}

/** The services that ways may use, as far as they are configured. */
export interface MessageServices {
  readonly env: NodeJS.ProcessEnv;
  readonly mailer?: Mailer;
  readonly slack?: Pick<SlackPoster, 'post'>;
  readonly sms?: Pick<SmsSender, 'send'>;
  readonly mqtt?: Pick<MqttConnection, 'deliver'>;
}

type Send = NotificationChannel['send'];

const SUBJECT_LENGTH = 78;
const SMS_LENGTH = 459;

/** Makes a way from its settings. CONFIG_INVALID for a secret that cannot be read or a service that is not configured. */
export function openChannel(name: string, config: ChannelConfig, services: MessageServices): NotificationChannel {
  for (const [kind, open] of Object.entries(SENDERS) as [ChannelKind, (typeof SENDERS)[ChannelKind]][]) {
    const send = open(config, services);
    if (send) return { name, kind, send };
  }
  throw new AtmoError('CONFIG_INVALID', `The way ${name} says no kind; write one of ${Object.keys(SENDERS).join(', ')}`);
}

const SENDERS: Readonly<Record<ChannelKind, (way: ChannelConfig, services: MessageServices) => Send | undefined>> = {
  ntfy: ({ ntfy }, { env }) => ntfy && ntfySender({ url: configuredUrl(ntfy.url, 'The ntfy address'), token: secretOf(ntfy.token, env) }),
  webhook: ({ webhook }, { env }) =>
    webhook &&
    webhookSender({
      url: configuredUrl(webhook.url, 'The address of a webhook'),
      token: secretOf(webhook.token, env),
      signingSecret: secretOf(webhook.signingSecret, env),
    }),
  apprise: ({ apprise }) => apprise && appriseSender({ url: configuredUrl(apprise.url, 'The address of Apprise'), tag: apprise.tag }),
  email: ({ email }, { mailer }) => email && emailSender(requireService(mailer, 'email'), email.to),
  sms: ({ sms }, services) => sms && smsSender(requireService(services.sms, 'sms'), sms.phone),
  slack: ({ slack }, services) => slack && slackSender(requireService(services.slack, 'slack'), slack.channel),
  mqtt: ({ mqtt }, services) => mqtt && mqttSender({ link: requireService(services.mqtt, 'mqtt'), topic: mqtt.topic }),
};

function emailSender(mailer: Mailer, to: string): Send {
  return async (notification, signal) => {
    const { title, message } = notification;
    const subject = visibleLine(title ?? message, SUBJECT_LENGTH);
    return (await mailer.send(plainMail(to, subject, message), signal)).messageId;
  };
}

/** Three parts at most: a notice is no letter, and each part costs. */
function smsSender(sms: Pick<SmsSender, 'send'>, phone: string): Send {
  return (notification, signal) => sms.send({ phone, message: oneText(notification).slice(0, SMS_LENGTH) }, signal);
}

function slackSender(slack: Pick<SlackPoster, 'post'>, channel: string): Send {
  return (notification, signal) => slack.post({ channel, text: oneText(notification) }, signal);
}

function secretOf(source: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  return source === undefined ? undefined : readSecret(source, env);
}

function requireService<T>(service: T | undefined, name: string): T {
  if (service !== undefined) return service;
  throw new AtmoError('CONFIG_INVALID', `A way of connectors.notify uses ${name}, which is not configured; set connectors.${name}`);
}

/** Priorities of ntfy: 3 is the default, 5 rings through (docs.ntfy.sh/publish, message priority). */
const PRIORITIES: Readonly<Record<Urgency, number>> = { low: 2, medium: 3, high: 4, critical: 5 };
const NTFY = 'The ntfy server';

interface NtfyTopic {
  /** Server and topic, as in `https://ntfy.sh/anna-7f3a`. */
  readonly url: URL;
  readonly token: string | undefined;
}

/** Publishes to a topic of ntfy as JSON, whose texts need no encoding as headers do (docs.ntfy.sh/publish). CONFIG_INVALID without topic. */
function ntfySender({ url, token }: NtfyTopic) {
  const path = url.pathname.replace(/\/$/, '');
  const topic = decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
  if (topic === '')
    throw new AtmoError('CONFIG_INVALID', `The ntfy address ${url.origin} names no topic; write one such as ${url.origin}/anna-7f3a`);
  const root = new URL(`${path.slice(0, path.lastIndexOf('/'))}/`, url);
  return async ({ message, title, urgency }: Notification, signal: AbortSignal): Promise<string> => {
    const answer = await callEndpoint({
      service: NTFY,
      url: root,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ topic, message, priority: PRIORITIES[urgency], ...(title !== undefined && { title }) }),
      isActing: true,
      signal,
    });
    const said = jsonOf({ service: NTFY }, answer);
    if (isJsonObject(said) && said.event === 'message' && typeof said.id === 'string' && said.id !== '') return said.id;
    throw new AtmoError('SERVICE_REFUSED', `${NTFY} did not say that it took the message; is ${root.origin} an ntfy server?`);
  };
}

interface WebhookTarget {
  readonly url: URL;
  readonly token: string | undefined;
  readonly signingSecret: string | undefined;
}

const STANDARD_SECRET = /^whsec_/;

/**
 * Posts JSON to any address; any status of 2xx says that it was taken. The id and the signature are headers of Standard Webhooks
 * (standardwebhooks.com): an id that comes twice is the same message.
 */
function webhookSender({ url, token, signingSecret }: WebhookTarget) {
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

const TYPES: Readonly<Record<Urgency, string>> = { low: 'info', medium: 'info', high: 'warning', critical: 'failure' };
const APPRISE = 'Apprise';
const NO_CONTENT = 204;

interface AppriseTarget {
  readonly url: URL;
  readonly tag: string | undefined;
}

/** Hands a message to the services of a stored configuration of the Apprise API (github.com/caronc/apprise-api). */
function appriseSender({ url, tag }: AppriseTarget) {
  return async ({ id, title, message, urgency }: Notification, signal: AbortSignal): Promise<string> => {
    const { status } = await callEndpoint({
      service: APPRISE,
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
      throw new AtmoError('SERVICE_REFUSED', `${APPRISE} knows no service to tell; look at its configuration and the tag`, { status });
    return id;
  };
}

interface MqttTarget {
  readonly link: Pick<MqttConnection, 'deliver'>;
  readonly topic: string;
}

/** Publishes JSON to a topic. It was delivered when the broker says so, and where it can tell, only to somebody who listens. */
function mqttSender({ link, topic }: MqttTarget) {
  return async (notification: Notification, signal: AbortSignal): Promise<string> => {
    await link.deliver(topic, notificationJson(notification), signal);
    return notification.id;
  };
}
