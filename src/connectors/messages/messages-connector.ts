import { unconfigured } from '../../tools/definition/tool-definition.ts';
import { type Connector, type ConnectorContext, toolOver } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import { openMqtt } from '../mqtt/home-assistant-bridge.ts';
import type { MessageServices } from './notification-channels.ts';
import { notifyTool, openRecipients, recipientReach } from './notify-tool.ts';
import { sendEmailTool } from './send-email-tool.ts';
import { postSlackTool, SlackPoster } from './slack.ts';
import { SmsSender, sendSmsTool } from './sms.ts';
import { SmtpMailer } from './smtp-mailer.ts';

type MessagesConfig = Pick<ConnectorsConfig, 'notify' | 'email' | 'slack' | 'sms' | 'mqtt'>;

/** Capabilities, each with the setting that enables it. */
const CAPABILITIES = [
  { type: 'notification', setting: 'notify', description: 'Tells persons of the house something' },
  { type: 'email', setting: 'email', description: 'Sends mail' },
  { type: 'slack_integration', setting: 'slack', description: 'Posts to Slack' },
  { type: 'sms', setting: 'sms', description: 'Sends text messages to phones' },
] as const;

/** Returns `notify`, `send_email`, `post_slack` and `send_sms`, and if configured, the MQTT service with the Home Assistant bridge. */
export function openMessages(context: ConnectorContext, config: MessagesConfig): Connector {
  const { env } = context;
  const { notify } = config;
  const mqtt = config.mqtt && openMqtt(context, config.mqtt);
  const mailer = config.email && new SmtpMailer(context, config.email);
  const slack = config.slack && new SlackPoster(env, config.slack);
  const sms = config.sms && new SmsSender(env, config.sms);
  const services: MessageServices = { env, mailer, slack, sms, mqtt: mqtt?.link };
  const recipients = notify && openRecipients(notify, services);
  return {
    ...(recipients && { reach: recipientReach(recipients) }),
    tools: [
      recipients ? notifyTool(recipients) : unconfigured(notifyTool([]), 'set connectors.notify in the configuration'),
      toolOver(mailer, 'connectors.email', sendEmailTool),
      toolOver(slack, 'connectors.slack', postSlackTool),
      toolOver(sms, 'connectors.sms', sendSmsTool),
    ],
    capabilities: CAPABILITIES.filter(({ setting }) => config[setting]).map(({ type, description }) => ({
      type,
      description: () => description,
    })),
    ...(mqtt && { service: mqtt.service }),
  };
}
