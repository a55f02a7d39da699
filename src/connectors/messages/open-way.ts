import { AtmoError } from '../../core/errors.ts';
import { visibleLine } from '../../core/foreign-text.ts';
import { readSecret } from '../../core/settings/secret-source.ts';
import type { MqttLink } from '../mqtt/mqtt-link.ts';
import { configuredUrl } from './configured-url.ts';
import { type Mailer, plainMail } from './mail.ts';
import { type NotificationWay, oneText, type WayKind } from './notification.ts';
import type { WayConfig } from './notify-config.ts';
import type { SlackPoster } from './slack-poster.ts';
import type { SmsSender } from './sms-sender.ts';
import { appriseWay } from './ways/apprise-way.ts';
import { mqttWay } from './ways/mqtt-way.ts';
import { ntfyWay } from './ways/ntfy-way.ts';
import { webhookWay } from './ways/webhook-way.ts';

/** The services that ways may use, as far as they are configured. */
export interface MessageServices {
  readonly env: NodeJS.ProcessEnv;
  readonly mailer?: Mailer;
  readonly slack?: Pick<SlackPoster, 'post'>;
  readonly sms?: Pick<SmsSender, 'send'>;
  readonly mqtt?: Pick<MqttLink, 'deliver'>;
}

type Send = NotificationWay['send'];

const SUBJECT_LENGTH = 78;
const SMS_LENGTH = 459;

/** Makes a way from its settings. CONFIG_INVALID for a secret that cannot be read or a service that is not configured. */
export function openWay(name: string, config: WayConfig, services: MessageServices): NotificationWay {
  for (const [kind, open] of Object.entries(OPENERS) as [WayKind, (typeof OPENERS)[WayKind]][]) {
    const send = open(config, services);
    if (send) return { name, kind, send };
  }
  throw new AtmoError('CONFIG_INVALID', `The way ${name} says no kind; write one of ${Object.keys(OPENERS).join(', ')}`);
}

const OPENERS: Readonly<Record<WayKind, (way: WayConfig, services: MessageServices) => Send | undefined>> = {
  ntfy: ({ ntfy }, { env }) => ntfy && ntfyWay({ url: configuredUrl(ntfy.url, 'The ntfy address'), token: secretOf(ntfy.token, env) }),
  webhook: ({ webhook }, { env }) =>
    webhook &&
    webhookWay({
      url: configuredUrl(webhook.url, 'The address of a webhook'),
      token: secretOf(webhook.token, env),
      signingSecret: secretOf(webhook.signingSecret, env),
    }),
  apprise: ({ apprise }) => apprise && appriseWay({ url: configuredUrl(apprise.url, 'The address of Apprise'), tag: apprise.tag }),
  email: ({ email }, { mailer }) => email && emailWay(needed(mailer, 'email'), email.to),
  sms: ({ sms }, services) => sms && smsWay(needed(services.sms, 'sms'), sms.phone),
  slack: ({ slack }, services) => slack && slackWay(needed(services.slack, 'slack'), slack.channel),
  mqtt: ({ mqtt }, services) => mqtt && mqttWay({ link: needed(services.mqtt, 'mqtt'), topic: mqtt.topic }),
};

function emailWay(mailer: Mailer, to: string): Send {
  return async (notification, signal) => {
    const { title, message } = notification;
    const subject = visibleLine(title ?? message, SUBJECT_LENGTH);
    return (await mailer.send(plainMail(to, subject, message), signal)).messageId;
  };
}

/** Three parts at most: a notice is no letter, and each part costs. */
function smsWay(sms: Pick<SmsSender, 'send'>, phone: string): Send {
  return (notification, signal) => sms.send({ phone, message: oneText(notification).slice(0, SMS_LENGTH) }, signal);
}

function slackWay(slack: Pick<SlackPoster, 'post'>, channel: string): Send {
  return (notification, signal) => slack.post({ channel, text: oneText(notification) }, signal);
}

function secretOf(source: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  return source === undefined ? undefined : readSecret(source, env);
}

function needed<T>(service: T | undefined, name: string): T {
  if (service !== undefined) return service;
  throw new AtmoError('CONFIG_INVALID', `A way of connectors.notify uses ${name}, which is not configured; set connectors.${name}`);
}
