import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { ConnectorContext } from '../connector.ts';
import { TokenAgent } from '../connector-agent.ts';
import { BrokerConnection, type MqttConnection } from './broker-connection.ts';
import { HomeAssistantBridge } from './home-assistant-bridge.ts';
import { BridgeTopics } from './home-assistant-messages.ts';
import type { BridgeConfig, MqttConfig } from './mqtt-config.ts';

/** The connection to the broker, and what runs over it. */
interface OpenedMqtt {
  readonly link: MqttConnection;
  /** Ends the connection; with a bridge it also makes it. */
  readonly service: Service;
}

const AGENT = 'mqtt-bridge';

/** CONFIG_INVALID for a password that cannot be read, and for commands that may do nothing. */
export function openMqtt(ground: ConnectorContext, config: MqttConfig): OpenedMqtt {
  const { url, user, password, caFile, clientId, bridge } = config;
  if (url.startsWith('mqtt:') && caFile !== undefined) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.mqtt.ca_file is for TLS; write the url with mqtts://');
  }
  const { hub, logger, env } = ground;
  const link = new BrokerConnection(logger.child({ connector: 'mqtt' }), {
    url,
    clientId: clientId ?? new BridgeTopics(hub.name, { discoveryPrefix: '' }).node,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { secret: readSecret(password, env) }),
    ...(caFile !== undefined && { caFile }),
  });
  const running = bridge && openBridge(ground, link, bridge);
  return {
    link,
    service: {
      start: async () => running?.start(),
      async [Symbol.asyncDispose]() {
        await running?.[Symbol.asyncDispose]();
        await link[Symbol.asyncDispose]();
      },
    },
  };
}

function openBridge(ground: ConnectorContext, link: MqttConnection, config: BridgeConfig): HomeAssistantBridge {
  const { clock, logger, events, readings, devices, hub, registry } = ground;
  const calls = agentOf(ground, config);
  const topics = new BridgeTopics(hub.name, config);
  const child = logger.child({ connector: 'mqtt' });
  const hasTool = (name: string) => registry.has(name);
  return new HomeAssistantBridge({ clock, logger: child, events, link, readings, devices, hub, topics, hasTool, ...(calls && { calls }) });
}

function agentOf({ agents }: ConnectorContext, { commands, permissions }: BridgeConfig): TokenAgent | undefined {
  if (!commands) return undefined;
  if (!permissions) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.mqtt.bridge.commands needs permissions, such as ["device:control:@type/light"]');
  }
  return new TokenAgent(agents, { name: AGENT, permissions });
}
