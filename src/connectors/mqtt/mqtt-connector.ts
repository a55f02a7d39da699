import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { type ConnectorContext, optionalSecret } from '../connector.ts';
import { TokenAgent } from '../connector-agent.ts';
import { BrokerConnection, type MqttConnection } from './broker-connection.ts';
import { HomeAssistantBridge } from './home-assistant-bridge.ts';
import { BridgeTopics } from './home-assistant-messages.ts';
import type { BridgeConfig, MqttConfig } from './mqtt-config.ts';

/** The connection to the broker, and the service that ends it; with a bridge the service also makes it. */
interface OpenedMqtt {
  readonly link: MqttConnection;
  readonly service: Service;
}

/** CONFIG_INVALID for a password that cannot be read, and for commands without permissions. */
export function openMqtt(context: ConnectorContext, config: MqttConfig): OpenedMqtt {
  const { url, user, password, caFile, clientId, bridge } = config;
  if (url.startsWith('mqtt:') && caFile !== undefined) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.mqtt.ca_file is for TLS; write the url with mqtts://');
  }
  const { hub, env } = context;
  const logger = context.logger.child({ connector: 'mqtt' });
  const id = clientId ?? new BridgeTopics(hub.name, { discoveryPrefix: '' }).node;
  const address = present({ url, clientId: id, user, secret: optionalSecret(password, env), caFile });
  const link = new BrokerConnection(logger, address);
  const running = bridge && openBridge({ ...context, logger }, link, bridge);
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

function openBridge(context: ConnectorContext, link: MqttConnection, config: BridgeConfig): HomeAssistantBridge {
  const { clock, logger, events, readings, devices, hub, registry, agents } = context;
  const { commands, permissions } = config;
  if (commands && !permissions) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.mqtt.bridge.commands needs permissions, such as ["device:control:@type/light"]');
  }
  const calls = commands && permissions ? new TokenAgent(agents, { name: 'mqtt-bridge', permissions }) : undefined;
  const topics = new BridgeTopics(hub.name, config);
  const hasTool = (name: string) => registry.has(name);
  return new HomeAssistantBridge({ clock, logger, events, link, readings, devices, hub, topics, hasTool, ...(calls && { calls }) });
}
