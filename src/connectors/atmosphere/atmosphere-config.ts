import { optionalSection, SECRET_SOURCE, type Settings } from '../../core/config/config-section.ts';

const CALLS = optionalSection({
  outgoing: { type: 'boolean', default: false, description: 'Whether agents with the permission may call tools of others there' },
  incoming: { type: 'boolean', default: false, description: 'Whether who may write to the relay may call the announced tools' },
  permissions: {
    type: 'array',
    minItems: 1,
    maxItems: 64,
    items: { type: 'string', maxLength: 322 },
    description: 'What incoming calls may do, such as sensor:read:*',
  },
});

/** JSON Schema of `connectors.atmosphere`. */
export const ATMOSPHERE_SECTION = optionalSection(
  {
    relay: {
      type: 'string',
      format: 'uri',
      pattern: '^wss?://[^/@?#\\s]+(/[^@?#\\s]*)?$',
      maxLength: 300,
      description: 'Relay without /relay/<mesh>, such as wss://relay.example.org',
    },
    mesh_id: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'The mesh, as its founder tells it' },
    mesh_key: { ...SECRET_SOURCE, description: "The founder's mesh key: 32 bytes in hex or base64" },
    token: { ...SECRET_SOURCE, description: 'Join token of a member: JSON, or that in base64url' },
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: '^[^\\u0000-\\u001f\\u007f]*$',
      description: 'Name of the hub when absent',
    },
    announce: {
      type: 'array',
      maxItems: 50,
      items: { type: 'string', maxLength: 128, pattern: '^[A-Za-z0-9_*-]+:[A-Za-z0-9_.*-]+$' },
      default: [],
      description: 'Tools that others there hear of, such as core:read_temperature or gpio:*; none when empty',
    },
    calls: CALLS,
  },
  ['relay', 'mesh_id'],
);

/** `connectors.atmosphere`: the hub's membership in a mesh of the Atmosphere project, over a relay. */
export type AtmosphereConfig = Settings<typeof ATMOSPHERE_SECTION>;
