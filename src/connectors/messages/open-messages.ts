import { AtmoError } from '../../core/errors.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { openMqtt } from '../mqtt/open-mqtt.ts';
import { notifyTool } from './notify-tool.ts';
import type { MessageServices } from './open-way.ts';
import { postSlackTool } from './post-slack-tool.ts';
import { openRecipients } from './recipient.ts';
import { sendEmailTool } from './send-email-tool.ts';
import { sendSmsTool } from './send-sms-tool.ts';
import { SlackPoster } from './slack-poster.ts';
import { SmsSender } from './sms-sender.ts';
import { SmtpMailer } from './smtp-mailer.ts';

type MessagesConfig = Pick<ConnectorsConfig, 'notify' | 'email' | 'slack' | 'sms' | 'mqtt'>;

/** Capability with what it is, and the setting that brings it. */
const CAPABILITIES = [
  { type: 'notification', setting: 'notify', description: 'Tells persons of the house something' },
  { type: 'email', setting: 'email', description: 'Sends mail' },
  { type: 'slack_integration', setting: 'slack', description: 'Posts to Slack' },
  { type: 'sms', setting: 'sms', description: 'Sends text messages to phones' },
] as const;

/** Messages to people: `notify`, `send_email`, `post_slack`, `send_sms`, and the MQTT broker that also carries the home. */
export function openMessages(ground: ConnectorGround, config: MessagesConfig): Connector {
  const mqtt = config.mqtt && openMqtt(ground, config.mqtt);
  const services: MessageServices = { ...servicesOf(ground, config), ...(mqtt && { mqtt: mqtt.link }) };
  return {
    tools: toolsOf(config, services),
    capabilities: CAPABILITIES.filter(({ setting }) => config[setting]).map(({ type, description }) => ({
      type,
      description: () => description,
    })),
    ...(mqtt && { service: mqtt.service }),
  };
}

function servicesOf(ground: ConnectorGround, { email, slack, sms }: MessagesConfig): MessageServices {
  const { env } = ground;
  return {
    env,
    ...(email && { mailer: new SmtpMailer(ground, email) }),
    ...(slack && { slack: new SlackPoster(env, slack) }),
    ...(sms && { sms: new SmsSender(env, sms) }),
  };
}

function toolsOf({ notify }: MessagesConfig, services: MessageServices): readonly RegisteredTool[] {
  const { mailer, slack, sms } = services;
  return [
    notify ? notifyTool(openRecipients(notify, services)) : missing(notifyTool([]), 'notify'),
    mailer ? sendEmailTool(mailer) : missing(sendEmailTool({ send: unreachable }), 'email'),
    slack ? postSlackTool(slack) : missing(postSlackTool({ post: unreachable }), 'slack'),
    sms ? sendSmsTool(sms) : missing(sendSmsTool({ send: unreachable }), 'sms'),
  ];
}

function missing(tool: RegisteredTool, setting: string): RegisteredTool {
  return withoutSetting(tool, `set connectors.${setting} in the configuration`);
}

/** For definitions alone: `withoutSetting` puts its own refusal, with what to set, in the place of the handler. */
async function unreachable(): Promise<never> {
  throw new AtmoError('NOT_CONFIGURED', 'The owner has not configured this service');
}
