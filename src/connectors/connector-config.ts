import { section } from '../core/config-section.ts';
import { NATS_SECTION, type NatsConfig } from './nats/nats-config.ts';
import { REDIS_SECTION, type RedisConfig } from './redis/redis-config.ts';

/** JSON Schema of `connectors` in the configuration file. */
export const CONNECTORS_SECTION = section({
  nats: NATS_SECTION,
  redis: REDIS_SECTION,
});

/** The services that the owner configured; each connector has its own part. */
export interface ConnectorsConfig {
  readonly nats?: NatsConfig;
  readonly redis?: RedisConfig;
}
