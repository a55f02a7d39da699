import { optionalSection, SECRET_SOURCE, type Settings } from '../../core/config/config-section.ts';

const TOPIC = { type: 'string', maxLength: 128, pattern: '^[^#+/\\u0000]+(/[^#+/\\u0000]+)*$' } as const;

const BRIDGE = optionalSection({
  discovery_prefix: { ...TOPIC, default: 'homeassistant', description: 'Where Home Assistant looks for devices' },
  base_topic: { ...TOPIC, description: 'Where states stand; atmosphere/<name of the hub> when absent' },
  commands: { type: 'boolean', default: false, description: 'Whether who may write to the broker may control devices' },
  permissions: {
    type: 'array',
    minItems: 1,
    maxItems: 64,
    items: { type: 'string', maxLength: 322 },
    description: 'What commands may do, such as device:control:@type/light',
  },
});

/** JSON Schema of `connectors.mqtt`. */
export const MQTT_SECTION = optionalSection(
  {
    url: {
      type: 'string',
      format: 'uri',
      pattern: '^mqtts?://[^/@]+$',
      maxLength: 512,
      description: 'Broker, such as mqtt://broker:1883; mqtts for TLS',
    },
    user: { type: 'string', minLength: 1, maxLength: 256 },
    password: SECRET_SOURCE,
    ca_file: { type: 'string', pattern: '^/', description: 'Certificate of an authority of your own, in PEM' },
    client_id: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description: 'Has to be unique at the broker; made from the name of the hub when absent',
    },
    bridge: BRIDGE,
  },
  ['url'],
);

/** `connectors.mqtt.bridge`: settings for publishing the home on the broker in Home Assistant's format. */
export type BridgeConfig = Settings<typeof BRIDGE>;

/** `connectors.mqtt`: the broker of the home. */
export type MqttConfig = Settings<typeof MQTT_SECTION>;
