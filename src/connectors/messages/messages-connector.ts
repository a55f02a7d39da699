import { AtmoError } from '../../core/errors.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { unconfigured } from '../../tools/definition/unconfigured-tool.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import { openMqtt } from '../mqtt/mqtt-connector.ts';
import type { MessageServices } from './notification-channels.ts';
import { notifyTool, openRecipients } from './notify-tool.ts';
import { sendEmailTool } from './send-email-tool.ts';
import { postSlackTool, SlackPoster } from './slack.ts';
import { SmsSender, sendSmsTool } from './sms.ts';
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
export function openMessages(ground: ConnectorContext, config: MessagesConfig): Connector {
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

function servicesOf(ground: ConnectorContext, { email, slack, sms }: MessagesConfig): MessageServices {
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
    notify ? notifyTool(openRecipients(notify, services)) : withoutService(notifyTool([]), 'notify'),
    mailer ? sendEmailTool(mailer) : withoutService(sendEmailTool({ send: unreachable }), 'email'),
    slack ? postSlackTool(slack) : withoutService(postSlackTool({ post: unreachable }), 'slack'),
    sms ? sendSmsTool(sms) : withoutService(sendSmsTool({ send: unreachable }), 'sms'),
  ];
}

function withoutService(tool: RegisteredTool, setting: string): RegisteredTool {
  return unconfigured(tool, `set connectors.${setting} in the configuration`);
}

/** For definitions alone: `unconfigured` puts its own refusal, with what to set, in the place of the handler. */
async function unreachable(): Promise<never> {
  throw new AtmoError('NOT_CONFIGURED', 'The owner has not configured this service');
}
