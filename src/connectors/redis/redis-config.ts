import { optionalSection, SECRET_SOURCE, type Settings } from '../../core/config/config-section.ts';

/** JSON Schema of `connectors.redis`. */
export const REDIS_SECTION = optionalSection(
  {
    url: {
      type: 'string',
      format: 'uri',
      pattern: '^rediss?://',
      maxLength: 500,
      description: 'redis://host:port/database, rediss:// with TLS; without password',
    },
    user: { type: 'string', minLength: 1, maxLength: 200 },
    password: SECRET_SOURCE,
    prefix: { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9:._-]*$', default: '', description: 'Before every key' },
    usage: { type: 'boolean', default: true, description: 'Whether finished calls are pushed to the usage histories' },
  },
  ['url'],
);

/** `connectors.redis`: the Redis server to which tools and calls are mirrored. */
export type RedisConfig = Settings<typeof REDIS_SECTION>;
